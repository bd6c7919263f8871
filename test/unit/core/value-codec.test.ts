import { describe, expect, test } from 'vitest';
import { expose } from '../../../lib/core/owned.ts';
import { decodeStored, decodeValue, encodeValue, ValueReader, ValueWriter } from '../../../lib/core/value-codec.ts';

const back = (v: unknown): unknown => decodeValue(encodeValue(v));

const refusal = (v: unknown): string => {
  try {
    return `accepted as ${JSON.stringify([...encodeValue(v)])}`;
  } catch (e) {
    expect(e).toMatchObject({ code: 'VALUE_NOT_ENCODABLE', next: 'fix-the-job' });
    return `${(e as { details: { path: string } }).details.path}: ${(e as Error).message}`;
  }
};

describe('a value comes back as it was', () => {
  test('C28: bigints of any size and safe integers keep value and type', () => {
    for (const v of [
      9007199254740993n,
      2n ** 63n - 1n,
      -(2n ** 63n),
      2n ** 63n,
      10n ** 38n - 1n,
      -(10n ** 38n),
      2n ** 5_000n,
      0n,
      -1n,
      5,
      5n,
    ]) {
      expect(back(v)).toBe(v);
      expect(expose(decodeStored(encodeValue(v)))).toBe(v);
    }
  });

  test('C29: every double is bit-identical', () => {
    // biome-ignore format: one row
    const doubles = [1.23e40, Number('-9007199254740998.25'), 1e-130, 5e-324, Number.MAX_VALUE, Number.MIN_VALUE, Number.EPSILON, 0.1, 2 ** 31, -(2 ** 31), 2 ** 31 - 1, 2 ** 53, 127, 128, -1, -128];
    for (const v of [...doubles, -0, 0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
      expect(Object.is(back(v), v), String(v)).toBe(true);
  });

  test('C30: bigint, Map, Set, Date, Uint8Array, undefined, NaN and -0, nested in each other', () => {
    const v = {
      big: -(2n ** 70n),
      map: new Map<unknown, unknown>([
        ['k', new Set([1, 'a', new Map([[1n, [-0]]])])],
        [{ o: 1 }, undefined],
        [Number.NaN, Number.NaN],
      ]),
      when: [new Date(0), new Date(-1), new Date(8.64e15), new Date(Number.NaN)],
      bytes: Uint8Array.of(0, 255),
      missing: undefined,
      nothing: null,
      zero: -0,
      deep: [[[[{ a: { b: [true, false] } }]]]],
    };
    const again = back(v) as typeof v;
    expect(again).toStrictEqual(v);
    expect(Object.is(again.zero, -0)).toBe(true);
    expect(Number.isNaN(again.when[3]!.getTime())).toBe(true);
    expect(Object.keys(again)).toEqual(Object.keys(v));
    expect([...again.map.keys()].map((k) => typeof k)).toEqual(['string', 'object', 'number']);
  });

  test('C30: a cycle is refused before a byte is written', () => {
    const v: { list: unknown[]; self?: unknown } = { list: [1, 2] };
    v.list.push(new Map([['back', v]]));
    const writer = new ValueWriter();
    writer.writeValue('before');
    const length = writer.length;
    expect(() => writer.writeValue(v)).toThrow(
      expect.objectContaining({ code: 'VALUE_NOT_ENCODABLE', details: { path: '$.list[2].get("back")' } }),
    );
    expect(writer.length).toBe(length);
    expect(refusal(v)).toContain('it refers back to an object that holds it');
    const wide: unknown[] = Array.from({ length: 10_000 }, (_, i) => i);
    wide.push(wide);
    expect(refusal(wide)).toContain('$[10000]: ');
  });

  test('C31, C32: properties and Map entries of any name, `__proto__` and the empty string too', () => {
    // biome-ignore format: one row
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'a-b', 'a b', 'size', '#x', '😀', '\0', '\ud800', '1', 'x'.repeat(40)];
    const v: Record<string, unknown> = {};
    for (const [i, name] of names.entries())
      Object.defineProperty(v, name, { value: i, enumerable: true, writable: true, configurable: true });
    for (const again of [back(v), expose(decodeStored(encodeValue(v)))] as Record<string, unknown>[]) {
      expect(Object.entries(again)).toEqual(Object.entries(v));
      expect(Object.getPrototypeOf(again)).toBe(Object.prototype);
    }
    const map = new Map(names.map((name, i) => [name, i]));
    expect([...(back(map) as Map<string, number>)]).toEqual([...map]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test('C33: a Map, a Set of objects and bytes keep their type; a class instance and a Buffer are refused, never emptied', () => {
    class Holder {
      readonly inner = new Map([['a', 1]]);
    }
    expect(back(new Map([['a', 1]]))).toStrictEqual(new Map([['a', 1]]));
    expect(back(new Set([{ a: 1 }, { a: 1 }]))).toStrictEqual(new Set([{ a: 1 }, { a: 1 }]));
    expect(back(Uint8Array.of(1, 2))).toStrictEqual(Uint8Array.of(1, 2));
    expect(Object.getPrototypeOf(back(Uint8Array.of(1)))).toBe(Uint8Array.prototype);
    expect(refusal({ held: new Holder() })).toMatch(/^\$\.held: .*it is a Holder/);
    expect(refusal([Buffer.from('a')])).toMatch(/^\$\[0\]: .*it is a Buffer, a subclass of Uint8Array/);
  });

  test('C34: undefined, null, the empty string, the empty set and an object without prototype follow one rule each', () => {
    const bare = Object.assign(Object.create(null) as object, { x: 1 });
    const again = back({ a: 1, b: undefined, c: null, d: '', e: [undefined], f: bare, g: new Set(), h: [], i: {} }) as Record<
      string,
      unknown
    >;
    expect(again).toStrictEqual({ a: 1, b: undefined, c: null, d: '', e: [undefined], f: { x: 1 }, g: new Set(), h: [], i: {} });
    expect(Object.keys(again)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']);
    expect(Object.getPrototypeOf(again.f)).toBe(Object.prototype);
  });

  test('a hole in an array comes back as undefined', () => {
    // biome-ignore lint/suspicious/noSparseArray: the hole is the case.
    expect(back([1, , 3])).toStrictEqual([1, undefined, 3]);
  });

  test('text of every sort: ASCII, NUL, other scripts, astral characters, lone surrogates, U+FFFD, short and long', () => {
    for (const piece of ['a', '\0', 'é', '漢', '😀', '\ud800', '\udc00', '\ufffd', '\ufeff']) {
      for (const n of [1, 30, 31, 32, 33, 1_000])
        expect(back(piece.repeat(n)) === piece.repeat(n), `${JSON.stringify(piece)} × ${n}`).toBe(true);
    }
  });

  test('the same object twice comes back as two equal ones', () => {
    const shared = { n: 1 };
    const [a, b] = back([shared, shared]) as [object, object];
    expect(a).toEqual(b);
    expect(a).not.toBe(b);
  });

  test('1,000 levels are written and read, one more is refused', () => {
    let v: unknown = 'leaf';
    for (let i = 0; i < 1_000; i++) v = i % 2 === 0 ? [v] : { v };
    expect(encodeValue(back(v))).toEqual(encodeValue(v));
    expect(refusal([v])).toContain('nested deeper than 1000 levels');
  });
});

describe('what would come back as something else', () => {
  test('is refused when written, with its path', () => {
    // biome-ignore format: one row for each case
    const cases: readonly (readonly [v: unknown, path: string, why: string])[] = [
      [() => 1, '$', 'it is a function'],
      [Symbol('s'), '$', 'it is a symbol'],
      [{ a: [0, 1, 2, { b: () => 1 }] }, '$.a[3].b', 'it is a function'],
      [new Map([['k', { 'a b': Symbol('s') }]]), '$.get("k")["a b"]', 'it is a symbol'],
      [new Map([[[Symbol('s')], 1]]), '$.keys()[0][0]', 'it is a symbol'],
      [new Set([1, () => 1]), '$.values()[1]', 'it is a function'],
      [{ get a(): number { throw new Error('must not run'); } }, '$.a', 'it is an accessor'],
      [{ set a(_: number) {} }, '$.a', 'it is an accessor'],
      [{ [Symbol('s')]: 1 }, '$[Symbol(s)]', 'named by a symbol'],
      [Object.defineProperty({}, 'h', { value: 1 }), '$.h', 'not enumerable'],
      ['abc'.match(/b/), '$', 'it has a property index beside its content'],
      [Object.assign(Array.from({ length: 5_000 }, () => 1), { extra: 1 }), '$', 'it has a property extra beside its content'],
      [Object.assign([], { length: 1, extra: 1 }), '$', 'it has a property extra beside its content'],
      [Object.assign(new Map(), { extra: 1 }), '$', 'it has a property extra beside its content'],
      [Object.assign(new Date(0), { extra: 1 }), '$', 'it has a property extra beside its content'],
      [new (class Rows extends Array {})(), '$', 'it is a Rows (a subclass of Array)'],
      [[new Error('x')], '$[0]', 'it is a Error'],
      [Promise.resolve(1), '$', 'it is a Promise'],
      [new Float64Array(1), '$', 'it is a Float64Array; bytes are kept as Uint8Array'],
      [new ArrayBuffer(1), '$', 'it is a ArrayBuffer'],
      [/a/, '$', 'it is a RegExp'],
      [Object.create({ inherited: 1 }), '$', 'class instance'],
    ];
    for (const [v, path, why] of cases) {
      const said = refusal(v);
      expect(said).toContain(`${path}: value at ${path} `);
      expect(said).toContain(why);
    }
  });
});

describe('the reader', () => {
  test('refuses a newer format by its number and its own, and zero as damage', () => {
    expect(() => decodeValue(Uint8Array.of(2, 0xa1))).toThrow(
      expect.objectContaining({
        code: 'FORMAT_NEWER',
        details: { what: 'value', found: 2, newest: 1 },
        message: expect.stringContaining('format 2, this version reads formats up to 1'),
      }),
    );
    expect(() => decodeValue(Uint8Array.of(0, 0xa1))).toThrow(expect.objectContaining({ code: 'DATA_DAMAGED' }));
    expect(() => new ValueReader(Uint8Array.of(9), 0, 'savepoint file').readFormat(3)).toThrow(/^savepoint file has format 9/);
  });

  test('refuses every shortened or lengthened encoding', () => {
    const whole = encodeValue({
      a: [1, -1, 1.5, 300, 'text', 'é', '\ud800', 2n, -(2n ** 80n), null, undefined, true],
      m: new Map([[1, new Set([new Date(0)])]]),
      b: Uint8Array.of(1),
    });
    for (let n = 0; n < whole.length; n++)
      expect(() => decodeValue(whole.subarray(0, n)), `${n} bytes`).toThrow(expect.objectContaining({ code: 'DATA_DAMAGED' }));
    expect(() => decodeValue(Uint8Array.of(...whole, 0))).toThrow(
      expect.objectContaining({ code: 'DATA_DAMAGED', message: expect.stringContaining('1 bytes follow it') }),
    );
  });

  test('allocates nothing by a length that the bytes cannot hold, and bounds nesting', () => {
    const hostile: readonly (readonly number[])[] = [
      [0xd0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], // an array of 2^49 elements
      [0xd1, 0xff, 0xff, 0xff, 0xff, 0x0f],
      [0xae, 0xff, 0xff, 0xff, 0xff, 0x0f],
      [0xaf, 0xff, 0xff, 0xff, 0xff, 0x0f],
      [0xaa, 0xff, 0xff, 0xff, 0xff, 0x0f],
      [0xac, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f],
      [0xa4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
      new Array<number>(100_000).fill(0xb1),
      [0xa8, 0x00], // a bigint without digits
      [0xab, 0x01, 0x41], // half a UTF-16 unit
      [0xaa, 0x01, 0xff], // not UTF-8
      [0xc1, 0x05, 0x05], // a property named by a number
      [0xaf, 0x02, 0x01, 0x01], // a Set with a member twice
      [0xae, 0x02, 0x01, 0x01, 0x01, 0x01], // a Map with a key twice
      [0xf0],
    ];
    for (const bytes of hostile)
      expect(() => decodeValue(Uint8Array.of(1, ...bytes)), String(bytes.slice(0, 9))).toThrow(
        expect.objectContaining({ code: 'DATA_DAMAGED' }),
      );
  });

  test('gives bytes of its own, so that a small value does not keep or share a whole file', () => {
    const encoded = encodeValue(Uint8Array.of(1, 2, 3));
    const bytes = decodeValue(encoded) as Uint8Array;
    encoded.fill(0);
    expect([...bytes]).toEqual([1, 2, 3]);
    expect(bytes.buffer.byteLength).toBe(3);
  });
});

describe('writer and reader', () => {
  test('keep a sequence of mixed pieces', () => {
    const w = new ValueWriter(1);
    const varints = [0, 127, 128, 16_383, 16_384, 2 ** 31 - 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER];
    for (const n of varints) w.writeVarint(n);
    w.writeByte(255);
    w.writeString('ключ');
    w.writeBinaryString('\x00\x80\xff');
    w.writeBinaryString('\xff'.repeat(100));
    w.writeBytes(Uint8Array.of(1, 2));
    w.writeFloat64(-0);
    w.writeValue({ a: 1 });
    w.writeRaw(Uint8Array.of(7));
    const r = new ValueReader(w.take());
    expect(varints.map(() => r.readVarint())).toEqual(varints);
    expect([r.readByte(), r.readString(), r.readBinaryString(), r.readBinaryString()]).toEqual([
      255,
      'ключ',
      '\x00\x80\xff',
      '\xff'.repeat(100),
    ]);
    expect([...r.readBytes()]).toEqual([1, 2]);
    expect(Object.is(r.readFloat64(), -0)).toBe(true);
    expect(r.readValue()).toEqual({ a: 1 });
    expect([...r.readRaw(1), r.remaining]).toEqual([7, 0]);
    r.expectEnd();
  });

  test('what was taken is not changed by what is written afterwards, whatever its size', () => {
    const w = new ValueWriter();
    for (const size of [10, 4_095, 4_096, 100_000]) {
      w.writeRaw(new Uint8Array(size).fill(1));
      const taken = w.take();
      expect([taken.length, w.length]).toEqual([size, 0]);
      w.writeRaw(new Uint8Array(size).fill(2));
      expect(taken.every((b) => b === 1)).toBe(true);
      w.reset();
    }
  });

  test('a reader begins at its offset and reports where it is', () => {
    const w = new ValueWriter();
    w.writeValue('skipped');
    const start = w.length;
    w.writeValue(42);
    const r = new ValueReader(w.take(), start);
    expect([r.readValue(), r.offset]).toEqual([42, start + 1]);
  });
});
