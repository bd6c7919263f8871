import { describe, expect, test } from 'vitest';
import { csv } from '../../../../lib/connectors/formats/csv.ts';
import { cut, readAll, readerOf, recordsOf } from '../support/reading.ts';

interface Flight {
  origin: string;
  delay: number;
  id: bigint;
  late: boolean;
}

describe('reading csv', () => {
  test('the header names the columns, and a field is a string unless its column says otherwise', async () => {
    const format = csv<Flight>({ columns: { delay: 'number', id: 'bigint', late: 'boolean' } });
    expect(await recordsOf(format, 'origin,delay,id,late\nDTW,-1.5,9007199254740993,true\n007,1e3,-1,FALSE\n')).toEqual([
      { origin: 'DTW', delay: -1.5, id: 9007199254740993n, late: true },
      { origin: '007', delay: 1000, id: -1n, late: false },
    ]);
  });

  test('without a header the names of the columns, in order, are the columns', async () => {
    const format = csv<{ a: string; n: number }>({ header: false, columns: { a: 'string', n: 'number' } });
    expect(await recordsOf(format, 'x,1\ny,2')).toEqual([
      { a: 'x', n: 1 },
      { a: 'y', n: 2 },
    ]);
  });

  test.each([
    ['delimiters', 'a,b\n"x,y",z', [{ a: 'x,y', b: 'z' }]],
    ['doubled quotes', 'a,b\n"say ""hi""",""""', [{ a: 'say "hi"', b: '"' }]],
    [
      'line ends',
      'a,b\n"one\r\ntwo\n",3\n4,"\n"',
      [
        { a: 'one\r\ntwo\n', b: '3' },
        { a: '4', b: '\n' },
      ],
    ],
    [
      'nothing',
      'a,b\n"",\n,""',
      [
        { a: '', b: '' },
        { a: '', b: '' },
      ],
    ],
    ['other characters', 'a,b\n"é,漢","🚀"', [{ a: 'é,漢', b: '🚀' }]],
    ['a quoted header', '"a","b, c"\n1,2', [{ a: '1', 'b, c': '2' }]],
  ])('quoted fields may hold %s, however they were cut', async (_name, text, expected) => {
    const bytes = Buffer.from(text);
    for (const sizes of [[1], [2], [7], [bytes.length]]) {
      expect((await readAll(readerOf(csv(), cut(bytes, sizes)), 1)).records).toEqual(expected);
    }
  });

  test('carriage returns, empty lines and a byte order mark are no part of records', async () => {
    expect(await recordsOf(csv(), '\uFEFFa,b\r\n\r\n1,2\r\n\n3,4')).toEqual([
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ]);
    expect(await recordsOf(csv(), '')).toEqual([]);
    expect(await recordsOf(csv(), 'a,b\n')).toEqual([]);
  });

  test('another delimiter can be chosen', async () => {
    expect(await recordsOf(csv({ delimiter: ';' }), 'a;b\n1,5;2')).toEqual([{ a: '1,5', b: '2' }]);
    expect(await recordsOf(csv({ delimiter: '\t' }), 'a\tb\n1\t2')).toEqual([{ a: '1', b: '2' }]);
  });

  test('a column called __proto__ is a column', async () => {
    const [record] = await recordsOf(csv(), '__proto__,b\n1,2');
    expect(Object.entries(record!)).toEqual([
      ['__proto__', '1'],
      ['b', '2'],
    ]);
  });

  test.each([
    ['too few fields', 'a,b\n1\n', /1 field, 2 are expected/, 2],
    ['too many fields', 'a,b\n\n1,2,3\n', /3 fields, 2 are expected/, 3],
    ['a quote inside a plain field', 'a,b\n1,x"y\n', /a quote stands inside/, 2],
    ['text behind a closing quote', 'a,b\n"1"x,2\n', /text follows behind a closing quote/, 2],
    ['a quote that is never closed', 'a,b\n1,2\n"3,4\n5,6\n', /not closed/, 3],
    ['a line behind an embedded line end', 'a,b\n"x\ny",1\n2\n', /1 field/, 4],
  ])('%s is malformed and named by its line', async (_name, text, message, line) => {
    await expect(recordsOf(csv(), text)).rejects.toMatchObject({
      code: 'MALFORMED_RECORD',
      message: expect.stringMatching(message),
      details: { line },
    });
  });

  test.each([
    ['number', 'x', /column 'n' is 'x', not a number/],
    ['number', '', /column 'n' is empty, not a number/],
    ['number', '0x10', /not a number/],
    ['number', 'Infinity', /not a number/],
    ['number', ' 1', /not a number/],
    ['bigint', '1.0', /not a bigint/],
    ['boolean', 'yes', /not a boolean/],
  ] as const)('a field of a %s column that is %j is malformed', async (type, text, message) => {
    const format = csv<{ n: never; m: string }>({ columns: { n: type as never } });
    await expect(recordsOf(format, `n,m\n${text},1`)).rejects.toThrow(message);
  });

  test("onError 'skip' goes on behind the malformed record", async () => {
    expect(await recordsOf(csv({ onError: 'skip' }), 'a,b\n1\n"x"y,1\n2,3\n')).toEqual([{ a: '2', b: '3' }]);
  });

  test('a header that lacks a declared column always fails, and names the one that was meant', async () => {
    const format = csv<{ delay: number }>({ columns: { delay: 'number' }, onError: 'skip' });
    await expect(recordsOf(format, 'origin,dealy\nx,1')).rejects.toMatchObject({
      code: 'MALFORMED_RECORD',
      message: expect.stringMatching(/no column 'delay'.*'dealy'/),
    });
    await expect(recordsOf(csv(), 'a,a\n1,2')).rejects.toThrow(/column 'a' twice/);
  });

  test('a forgotten quote ends with an error at the limit and not with the memory', async () => {
    const read = recordsOf(csv({ recordBytesMax: 100 }), `a,b\n"x,1\n${'2,3\n'.repeat(100)}`);
    await expect(read).rejects.toMatchObject({
      code: 'RECORD_TOO_LARGE',
      message: expect.stringContaining('a quote'),
      details: { line: 2 },
    });
  });

  test.each([
    [{ delimiter: '' }],
    [{ delimiter: ';;' }],
    [{ delimiter: '"' }],
    [{ delimiter: 'é' }],
    [{ header: false }],
    [{ columns: { a: 'float' } }],
  ])('options %j are refused at once', (options) => {
    expect(() => csv(options as never)).toThrow(expect.objectContaining({ code: 'CSV_OPTIONS_INVALID' }));
  });
});

describe('writing csv', () => {
  test('columns are written in their order, quoted where it must be, and read back as they were', async () => {
    const columns = { a: 'string', n: 'number', big: 'bigint', ok: 'boolean' } as const;
    interface Row {
      a: string;
      n: number;
      big: bigint;
      ok: boolean;
    }
    const rows: Row[] = [
      { a: 'x', n: 1.5, big: 10n, ok: true },
      { a: 'a,"b"\r\nc', n: -0.25, big: -1n, ok: false },
      { a: '', n: 0, big: 0n, ok: true },
    ];
    const encoder = csv<Row>({ columns }).createEncoder();
    expect(encoder.head).toBe('');
    const text = rows.map((row) => encoder.encode(row)).join('');
    expect(text).toBe('x,1.5,10,true\n"a,""b""\r\nc",-0.25,-1,false\n,0,0,true\n');
    expect(await recordsOf(csv<Row>({ columns, header: false }), text)).toEqual(rows);
  });

  test('parts begin with the header only when it is asked for', () => {
    expect(csv({ columns: { a: 'string', 'b,c': 'string' }, header: true }).createEncoder().head).toBe('a,"b,c"\n');
  });

  test('a row whose only field is empty is not written as an empty line, which would be passed over', async () => {
    const format = csv<{ a: string }>({ columns: { a: 'string' }, header: false });
    expect(await recordsOf(format, format.createEncoder().encode({ a: '' }))).toEqual([{ a: '' }]);
  });

  test('null and undefined are empty, dates ISO text', () => {
    const encoder = csv<Record<string, unknown>>({ columns: { a: 'string', b: 'string', c: 'string' } as never }).createEncoder();
    expect(encoder.encode({ a: null, c: new Date(0) })).toBe(',,1970-01-01T00:00:00.000Z\n');
  });

  test('a sink must be told its columns, and values that a field cannot carry are refused with their column', () => {
    expect(() => csv().createEncoder()).toThrow(expect.objectContaining({ code: 'CSV_OPTIONS_INVALID' }));
    const encoder = csv<{ a: unknown }>({ columns: { a: 'string' } as never }).createEncoder();
    for (const a of [Number.NaN, {}, [], new Map(), () => 1, '\udfff']) {
      expect(() => encoder.encode({ a })).toThrow(
        expect.objectContaining({ code: 'VALUE_NOT_ENCODABLE', message: expect.stringContaining("column 'a'") }),
      );
    }
  });
});
