import { describe, expect, test } from 'vitest';
import { OutputTag } from '../../../../lib/api/functions.ts';
import type { MalformedRecord } from '../../../../lib/connectors/formats/format.ts';
import { jsonArray } from '../../../../lib/connectors/formats/json-array.ts';
import { cut, readAll, readerOf, recordsOf } from '../support/reading.ts';

describe('jsonArray', () => {
  test.each([
    '[]',
    ' [ ] \n',
    '[1]',
    '[1,2 , 3]\n',
    '\r\n[\n  {"a": [1, {"b": "]}\\""}], "c": "\\\\"},\n  "x,y]", true,null, -1.5e3 , []\n]\n',
    '["é","漢字","🚀\\u0041"]',
  ])('the elements of %s are those that JSON.parse finds, however it was cut', async (text) => {
    const bytes = Buffer.from(text);
    for (const sizes of [[1], [2], [3, 1], [bytes.length]]) {
      expect((await readAll(readerOf(jsonArray(), cut(bytes, sizes)), 2)).records).toEqual(JSON.parse(text));
    }
  });

  test('a byte order mark is passed over', async () => {
    expect(await recordsOf(jsonArray(), '\uFEFF[1]')).toEqual([1]);
  });

  test.each([
    ['an empty file', '', /the file is empty/, 1],
    ['an object', '{"a":1}', /does not begin with '\['.*ndjson/, 1],
    ['an array that is not closed', '[1,\n2', /ends within an element/, 2],
    ['an element that is not closed', '[1,{"a":\n[', /ends within an element/, 1],
    ['an end behind a comma', '[1,', /ends before its array is closed/, 1],
    ['an end behind an element', '[{}', /ends before its array is closed/, 1],
    ['a missing element', '[1,,2]', /an element is missing/, 1],
    ['a comma before the end', '[1,]', /an element is missing/, 1],
    ['a missing comma', '[{}\n{}]', /',' or '\]' is expected/, 2],
    ['something behind the array', '[1]\n\n[2]', /something follows/, 3],
  ])('%s is malformed, whatever onError says', async (_name, text, message, line) => {
    const read = readAll(readerOf(jsonArray({ onError: 'skip' }), text === '' ? [] : [Buffer.from(text)]));
    await expect(read).rejects.toMatchObject({ code: 'MALFORMED_RECORD', message: expect.stringMatching(message), details: { line } });
  });

  test('a malformed element names its line, and can be skipped or sent aside', async () => {
    const text = '[\n1,\n{"a" 1},\n3]';
    await expect(recordsOf(jsonArray(), text)).rejects.toMatchObject({
      code: 'MALFORMED_RECORD',
      details: { line: 3, excerpt: '{"a" 1}' },
    });
    expect(await recordsOf(jsonArray({ onError: 'skip' }), text)).toEqual([1, 3]);
    const read = await readAll(readerOf(jsonArray({ onError: new OutputTag<MalformedRecord>('bad') }), [Buffer.from(text)]));
    expect(read.side).toMatchObject([{ tag: 'bad', value: { line: 3, text: '{"a" 1}' } }]);
  });

  test('bytes that are not UTF-8 make their element malformed', async () => {
    const bytes = Buffer.concat([Buffer.from('["é","'), Buffer.from([0xe9]), Buffer.from('"]')]);
    await expect(recordsOf(jsonArray(), bytes)).rejects.toMatchObject({ code: 'MALFORMED_RECORD' });
  });

  test('an element above the limit ends with a clear error', async () => {
    const bytes = Buffer.from(`[1,"${'x'.repeat(200)}"]`);
    for (const sizes of [[1], [1_000]]) {
      await expect(readAll(readerOf(jsonArray({ recordBytesMax: 100 }), cut(bytes, sizes)))).rejects.toMatchObject({
        code: 'RECORD_TOO_LARGE',
      });
    }
  });

  test('it cannot be written, and says what can', () => {
    expect(() => jsonArray().createEncoder()).toThrow(
      expect.objectContaining({ code: 'FORMAT_NOT_WRITABLE', message: expect.stringContaining('ndjson()') }),
    );
  });
});
