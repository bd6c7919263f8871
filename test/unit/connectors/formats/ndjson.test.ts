import { describe, expect, test } from 'vitest';
import { OutputTag } from '../../../../lib/api/functions.ts';
import type { MalformedRecord } from '../../../../lib/connectors/formats/format.ts';
import { ndjson } from '../../../../lib/connectors/formats/ndjson.ts';
import { cut, readAll, readerOf, recordsOf } from '../support/reading.ts';

describe('reading ndjson', () => {
  test('every line is a record; the last line end may be missing', async () => {
    expect(await recordsOf(ndjson(), '{"a":1}\n2\n"x"\nnull\n[1]')).toEqual([{ a: 1 }, 2, 'x', null, [1]]);
    expect(await recordsOf(ndjson(), '1\n')).toEqual([1]);
  });

  test('an empty file has no records, and neither has one of empty lines', async () => {
    expect(await recordsOf(ndjson(), '')).toEqual([]);
    expect(await recordsOf(ndjson(), '\n\r\n\n')).toEqual([]);
  });

  test('carriage returns and a byte order mark are no part of records', async () => {
    expect(await recordsOf(ndjson(), '\uFEFF{"a":1}\r\n{"a":2}\r\n')).toEqual([{ a: 1 }, { a: 2 }]);
    expect(await recordsOf(ndjson(), '\uFEFF')).toEqual([]);
  });

  test('characters that are cut by a read come out whole', async () => {
    const bytes = Buffer.from('\uFEFF"Zürich"\n"東京"\n"🚀"\n');
    expect((await readAll(readerOf(ndjson(), cut(bytes, [1])))).records).toEqual(['Zürich', '東京', '🚀']);
  });

  test('an object keeps a field called __proto__ as a field', async () => {
    const [record] = await recordsOf<object>(ndjson(), '{"__proto__":{"a":1}}');
    expect(Object.hasOwn(record!, '__proto__')).toBe(true);
  });

  test('a malformed line names file, line and a short excerpt', async () => {
    const long = `{"a":${'x'.repeat(500)}}`;
    const failure = readAll(readerOf(ndjson(), [Buffer.from(`1\n\n2\n${long}\n3\n`)], { file: 'data/in.ndjson' }));
    await expect(failure).rejects.toMatchObject({ code: 'MALFORMED_RECORD', details: { file: 'data/in.ndjson', line: 4 } });
    const error = await failure.catch((e: Error & { details: { excerpt: string } }) => e);
    expect((error as Error).message).toMatch(/^data\/in\.ndjson line 4: .*\{"a":xxx/);
    expect((error as Error).message.length).toBeLessThan(300);
  });

  test('a malformed line is quoted without anything that a terminal acts on', async () => {
    const failure = await readAll(readerOf(ndjson(), [Buffer.from('\u001b]0;x\u0007\u0000 {\n')])).catch((e: Error) => e);
    const { message, details } = failure as Error & { readonly details: { readonly excerpt: string } };
    expect(details.excerpt).toBe('\\x1b]0;x\\x07\\x00 {');
    expect(message).toMatch(/^[ -~]*\\x1b\]0;x\\x07\\x00 \{$/);
  });

  test('bytes that are not UTF-8 are malformed and never silently replaced', async () => {
    const bytes = Buffer.concat([Buffer.from('"é"\n"'), Buffer.from([0xff]), Buffer.from('"\n')]);
    await expect(recordsOf(ndjson(), bytes)).rejects.toMatchObject({ code: 'MALFORMED_RECORD', details: { line: 2 } });
  });

  test("onError 'skip' leaves malformed lines out and counts them", async () => {
    let skipped = 0;
    const read = await readAll(readerOf(ndjson({ onError: 'skip' }), [Buffer.from('1\nx\n2\ny\nz\n3\n')], { onSkip: () => skipped++ }));
    expect(read.records).toEqual([1, 2, 3]);
    expect(skipped).toBe(3);
    expect(read.positions.at(-1)?.index).toBe(3);
  });

  test('onError with a tag sends malformed lines to the side output, whole', async () => {
    const bad = new OutputTag<MalformedRecord>('bad');
    const read = await readAll(readerOf(ndjson({ onError: bad }), [Buffer.from('1\n{"a"\n2\n')]));
    expect(read.records).toEqual([1, 2]);
    expect(read.side).toEqual([{ tag: 'bad', value: { file: 'in.txt', line: 2, text: '{"a"', reason: expect.any(String) } }]);
  });

  test('a stretch of malformed lines does not look like the end of what is loaded', () => {
    const reader = readerOf(ndjson({ onError: 'skip' }), [Buffer.from(`${'x\n'.repeat(5_000)}7\n`)]);
    return expect(readAll(reader, 4)).resolves.toMatchObject({ records: [7] });
  });

  test('a line above the limit ends with a clear error, however it was cut', async () => {
    const bytes = Buffer.from(`1\n"${'x'.repeat(200)}"\n`);
    for (const sizes of [[1], [64], [1_000]]) {
      const read = readAll(readerOf(ndjson({ recordBytesMax: 100 }), cut(bytes, sizes)));
      await expect(read).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE', details: { line: 2, limit: 100 } });
    }
  });

  test('a line at the limit is read', async () => {
    expect(await recordsOf(ndjson({ recordBytesMax: 100 }), `"${'x'.repeat(98)}"\n1`)).toHaveLength(2);
  });
});

describe('writing ndjson', () => {
  const encode = (row: unknown): string => ndjson().createEncoder().encode(row);

  test('a row is one line of JSON', () => {
    expect(encode({ a: 1, b: ['x', null, true], c: { d: 'line\nbreak' } })).toBe('{"a":1,"b":["x",null,true],"c":{"d":"line\\nbreak"}}\n');
    expect(encode('text')).toBe('"text"\n');
  });

  test('bigints become strings of digits, dates ISO text, undefined properties are left out', () => {
    expect(encode({ n: 12345678901234567890n, at: new Date(0), gone: undefined, in: [1n] })).toBe(
      '{"n":"12345678901234567890","at":"1970-01-01T00:00:00.000Z","in":["1"]}\n',
    );
  });

  test('fields called __proto__ and toJSON are written as fields', () => {
    expect(encode(JSON.parse('{"__proto__":1,"toJSON":"x","n":2}'))).toBe('{"__proto__":1,"toJSON":"x","n":2}\n');
  });

  test.each([
    ['NaN', { mean: Number.NaN }, '$.mean'],
    ['an infinity', [1, Number.POSITIVE_INFINITY], '$[1]'],
    ['a Map', { a: { m: new Map() } }, '$.a.m'],
    ['a Set', new Set(), '$'],
    ['bytes', { b: new Uint8Array(1) }, '$.b'],
    ['a function', { f: () => 1 }, '$.f'],
    ['a symbol', { s: Symbol('s') }, '$.s'],
    ['undefined', undefined, '$'],
    ['undefined in an array', [undefined], '$[0]'],
    ['an invalid Date', { at: new Date(Number.NaN) }, '$.at'],
    ['a class instance', { u: new URL('http://localhost') }, '$.u'],
  ])('%s is refused with its path, because JSON would write something else', (_name, row, path) => {
    expect(() => encode(row)).toThrow(expect.objectContaining({ code: 'VALUE_NOT_ENCODABLE', details: { path } }));
  });

  test('a cycle is refused and does not overflow the stack', () => {
    const row: { self?: unknown } = {};
    row.self = row;
    expect(() => encode(row)).toThrow(expect.objectContaining({ code: 'VALUE_NOT_ENCODABLE' }));
  });
});
