import { describe, expect, test } from 'vitest';
import { type CommandShape, parseArguments, positiveInteger, unknownFlag } from '../../../lib/cli/arguments.ts';

const run: CommandShape = {
  name: 'run',
  positionals: ['FILE'],
  takesParams: true,
  flags: [
    { name: 'parallelism', value: 'N', help: '' },
    { name: 'set', value: 'key=value', repeats: true, help: '' },
    { name: 'take-over', help: '' },
    { name: 'bind', value: 'name=target', help: '', notYet: true },
  ],
};
const list: CommandShape = { name: 'checkpoints list', positionals: ['NAME'], takesParams: false, flags: [] };

const paramsOf = (...words: string[]): Record<string, string> => Object.fromEntries(parseArguments(['job.ts', ...words], run).params);

describe('flags of the command', () => {
  test('a value may stand behind a blank or behind an equals sign', () => {
    for (const words of [['--parallelism', '3'], ['--parallelism=3']]) {
      expect(parseArguments([...words, 'job.ts'], run).flags.get('parallelism')).toEqual(['3']);
    }
  });

  test('only a flag that may be repeated is taken more than once', () => {
    expect(parseArguments(['job.ts', '--set', 'a=1', '--set=b=2'], run).flags.get('set')).toEqual(['a=1', 'b=2']);
    expect(() => parseArguments(['job.ts', '--parallelism', '1', '--parallelism', '2'], run)).toThrow(
      '--parallelism is given twice, as 1 and as 2',
    );
  });

  test('a flag that needs a value does not swallow the flag behind it', () => {
    expect(() => parseArguments(['job.ts', '--parallelism', '--take-over'], run)).toThrow('--parallelism needs a value');
    expect(() => parseArguments(['job.ts', '--parallelism'], run)).toThrow('--parallelism needs a value');
  });

  test('a switch refuses a value, and leaves the next word alone', () => {
    expect(() => parseArguments(['job.ts', '--take-over=yes'], run)).toThrow('--take-over takes no value');
    expect(parseArguments(['--take-over', 'job.ts'], run).positionals).toEqual(['job.ts']);
  });

  test('a flag of a later version is refused by name, not handed to the job', () => {
    expect(() => parseArguments(['job.ts', '--bind', 'a=b'], run)).toThrow('--bind is not available yet');
  });
});

describe('flags of the job', () => {
  test('a flag that the command does not know is the job’s, in both spellings', () => {
    expect(paramsOf('--input', 'a.ndjson', '--output=out/')).toEqual({ input: 'a.ndjson', output: 'out/' });
  });

  test('without a value it is true', () => {
    expect(paramsOf('--dry', '--deep')).toEqual({ dry: 'true', deep: 'true' });
  });

  test('a negative number is a value, and so is the empty text', () => {
    expect(paramsOf('--offset', '-5', '--label', '', '--prefix=')).toEqual({ offset: '-5', label: '', prefix: '' });
  });

  test('a value keeps its equals signs and line breaks', () => {
    expect(paramsOf('--where=a=b\nc')).toEqual({ where: 'a=b\nc' });
  });

  test('of two with one name the last counts', () => {
    expect(paramsOf('--input', 'a', '--input', 'b')).toEqual({ input: 'b' });
  });

  test('behind a lone -- also a name that the command knows is the job’s', () => {
    const { flags, params } = parseArguments(['job.ts', '--', '--parallelism', '3', '--json'], run);
    expect([flags.size, Object.fromEntries(params)]).toEqual([0, { parallelism: '3', json: 'true' }]);
  });

  test('a command that runs no job refuses an unknown flag with the nearest one', () => {
    expect(() => parseArguments(['late', '--jsno'], list)).toThrow('`sluice checkpoints list` does not know --jsno; did you mean --json?');
  });
});

describe('positionals', () => {
  test('a missing and a surplus one are named', () => {
    expect(() => parseArguments([], run)).toThrow('`sluice run` needs FILE');
    expect(() => parseArguments(['a.ts', 'b.ts'], run)).toThrow("but 'b.ts' was given");
  });

  test('a short flag is refused, since it would be taken for a file', () => {
    expect(() => parseArguments(['-p', '3', 'job.ts'], run)).toThrow("'-p' is no flag of `sluice run`");
  });
});

test('the error for a flag that nobody read names what was probably meant', () => {
  expect(unknownFlag('inptu', run, ['input', 'output']).message).toBe(
    'neither `sluice run` nor the job reads --inptu; did you mean --input?',
  );
  expect(unknownFlag('zebra', run, ['input']).message).toBe('neither `sluice run` nor the job reads --zebra');
});

test('a count is a whole number in its range, in plain digits', () => {
  expect(positiveInteger('--parallelism', '128', 128)).toBe(128);
  for (const text of ['0', '129', '-1', '1.5', '1e2', '0x2', '', ' 3', 'two']) {
    expect(() => positiveInteger('--parallelism', text, 128), text).toThrow('--parallelism is ');
  }
});
