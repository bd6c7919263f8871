import { describe, expect, test } from 'vitest';
import { jsonText } from '../../../lib/cli/json-text.ts';
import { Output } from '../../../lib/cli/output.ts';

function streams(isTTY: boolean, columns = 40) {
  const written: { out: string; err: string; all: string } = { out: '', err: '', all: '' };
  const stream = (name: 'out' | 'err') => ({
    isTTY,
    columns,
    write(text: string, done?: () => void): boolean {
      written[name] += text;
      written.all += text;
      done?.();
      return true;
    },
  });
  return { written, out: stream('out'), err: stream('err') };
}

/** What a terminal shows after the text: erased lines are gone. */
function shown(text: string): readonly string[] {
  const erased = '\u001b[2K';
  return text.split('\n').map((line) => line.split(erased).at(-1) ?? '');
}

describe('on a terminal', () => {
  test('what is written goes above the one status line, which stays at the bottom', async () => {
    const { written, out, err } = streams(true);
    const output = new Output({ json: false, verbose: false, out, err });
    output.status('1 in');
    output.status('2 in');
    output.note('a warning');
    output.printed('row');
    await output.end();
    expect(shown(written.all)).toEqual(['a warning', 'row', '']);
  });

  test('a status line never wraps, since a wrapped line cannot be erased', () => {
    const { written, out, err } = streams(true, 10);
    new Output({ json: false, verbose: false, out, err }).status('0123456789abc');
    expect(written.err).toBe('01234567…');
  });
});

describe('in a pipe', () => {
  test('standard output holds data only, and there is no status line', async () => {
    const { written, out, err } = streams(false);
    const output = new Output({ json: false, verbose: false, out, err });
    output.status('1 in');
    output.note('a warning');
    output.printed('row 1');
    output.printed('row 2');
    output.object({ not: 'shown' });
    await output.end();
    expect([written.out, written.err]).toEqual(['row 1\nrow 2\n', 'a warning\n']);
  });

  test('a note keeps its lines, and what it quotes does nothing to a terminal', () => {
    const { written, out, err } = streams(false);
    new Output({ json: false, verbose: false, out, err }).note('bad \u001b[31mred\u0007\n  next: mend it');
    expect(written.err).toBe('bad \\x1b[31mred\\x07\n  next: mend it\n');
  });

  test('under --json every line is one object, in order, and standard error stays empty', async () => {
    const { written, out, err } = streams(true);
    const output = new Output({ json: true, verbose: false, out, err });
    output.note('not shown');
    output.status('not shown');
    output.text('not shown');
    output.printed('row\u2028 1');
    output.object({ job: 'x', n: 2n });
    await output.end();
    expect(written.out.split('\n')).toEqual(['{"kind":"print","line":"row\\u2028 1"}', '{"job":"x","n":2}', '']);
    expect(written.err).toBe('');
  });

  test('what a job prints without end leaves in pieces of a bounded size', () => {
    const { written, out, err } = streams(false);
    const output = new Output({ json: false, verbose: false, out, err });
    for (let i = 0; i < 10_000; i++) output.printed('0123456789');
    expect(10_000 * 11 - written.out.length).toBeLessThan(40_000);
  });
});

describe('JSON of what a job counted', () => {
  test.each([
    [12n, '12'],
    [2n ** 64n, '"18446744073709551616"'],
    [new Map([['a', 1]]), '{"a":1}'],
    [new Map([[1, 'a']]), '[[1,"a"]]'],
    [new Set([1, 2]), '[1,2]'],
    [Uint8Array.of(1, 2, 3), '"AQID"'],
    [Number.NaN, '"NaN"'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [{ deep: [{ n: 1n }] }, '{"deep":[{"n":1}]}'],
  ])('%o is %s', (value, text) => {
    expect(jsonText(value)).toBe(text);
  });
});
