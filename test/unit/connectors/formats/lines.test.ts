import { describe, expect, test } from 'vitest';
import { lines } from '../../../../lib/connectors/formats/lines.ts';
import { recordsOf } from '../support/reading.ts';

describe('lines', () => {
  test('every line is a record without its line end, empty ones too', async () => {
    expect(await recordsOf(lines(), 'a\r\n\nb \n\r\nlast')).toEqual(['a', '', 'b ', '', 'last']);
    expect(await recordsOf(lines(), '\n')).toEqual(['']);
    expect(await recordsOf(lines(), '')).toEqual([]);
  });

  test('a byte order mark is dropped, other characters are kept', async () => {
    expect(await recordsOf(lines(), '\uFEFFé\n漢\n')).toEqual(['é', '漢']);
  });

  test('bytes that are not UTF-8 are malformed', async () => {
    await expect(recordsOf(lines(), Buffer.from([0x61, 0x0a, 0xc3, 0x0a]))).rejects.toMatchObject({
      code: 'MALFORMED_RECORD',
      details: { line: 2 },
    });
  });

  test('what is written is read back as the same records', async () => {
    const rows = ['', 'a', 'b\rc', ' é ', '🚀'];
    const encoder = lines().createEncoder();
    expect(await recordsOf(lines(), rows.map((row) => encoder.encode(row)).join(''))).toEqual(rows);
  });

  test.each([['two\nlines'], ['ends with\r'], ['\ud800']])('%j is refused, because it would be read back as something else', (row) => {
    expect(() => lines().createEncoder().encode(row)).toThrow(expect.objectContaining({ code: 'VALUE_NOT_ENCODABLE' }));
  });

  test('a row that is no string is refused', () => {
    expect(() =>
      lines()
        .createEncoder()
        .encode(1 as unknown as string),
    ).toThrow(/a number, not a string/);
  });
});
