import { describe, expect, test } from 'vitest';
import { murmur3Binary } from '../../../lib/core/hash.ts';
import { CompositeKey, decodeKey, encodedOf, encodeKey, keyOfEncoded, keyValue, normalizeKey } from '../../../lib/core/key-codec.ts';

const refusal = (key: unknown): string => {
  try {
    return `accepted as ${encodeKey(key)}`;
  } catch (e) {
    expect(e).toMatchObject({ code: 'KEY_NOT_SUPPORTED', next: 'fix-the-job' });
    return `${(e as { details: { path: string } }).details.path}: ${(e as Error).message}`;
  }
};

describe('the identity of a key', () => {
  test('C19: two keys with the same hash and the same key group are two keys', () => {
    const [a, b] = ['key-86168', 'key-172973'].map(encodeKey) as [string, string];
    expect(murmur3Binary(a)).toBe(murmur3Binary(b));
    expect(a).not.toBe(b);
    expect([decodeKey(a), decodeKey(b)]).toEqual(['key-86168', 'key-172973']);
  });

  test('C20: a key is encoded once; a later change of the object changes nothing', () => {
    const selected = { user: 'a', tags: [1, 2], raw: Uint8Array.of(1) };
    const key = normalizeKey(selected) as CompositeKey;
    selected.user = 'b';
    selected.tags.push(3);
    selected.raw[0] = 9;
    const expected = { raw: Uint8Array.of(1), tags: [1, 2], user: 'a' };
    expect(key.encoded).toBe(encodeKey(expected));
    expect(key.value).toEqual(expected);
    (key.value as typeof selected).raw[0] = 7;
    expect(key.value).toEqual(expected);
  });

  test('is the value: -0 is 0, every NaN is one key, property order counts for nothing', () => {
    expect(encodeKey(-0)).toBe(encodeKey(0));
    expect(Object.is(decodeKey(encodeKey(-0)), 0)).toBe(true);
    expect(encodeKey(new Float64Array(new BigUint64Array([0xfff8000000000001n]).buffer)[0])).toBe(encodeKey(Number.NaN));
    expect(encodeKey({ a: 1, b: { d: 1, c: 2 } })).toBe(encodeKey({ b: { c: 2, d: 1 }, a: 1 }));
  });

  test('is also the type: values that JavaScript calls loosely equal are different keys', () => {
    const keys = [1, 1n, '1', true, [1], ['1'], { 0: 1 }, [[1]], Uint8Array.of(1), '', [], {}, [''], 0, 0n, false, 'NaN', Number.NaN];
    expect(new Set(keys.map(encodeKey)).size).toBe(keys.length);
  });

  test('C31: names of Object.prototype and the empty string are names and keys like others', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', ''];
    const before = Object.getOwnPropertyNames(Object.prototype).length;
    expect(new Set(names.map(encodeKey)).size).toBe(names.length);
    expect(names.map((name) => decodeKey(encodeKey(name)))).toEqual(names);
    const key = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 2, "toString": 3, "hasOwnProperty": 4, "": 5}') as object;
    const back = decodeKey(encodeKey(key)) as object;
    expect(Object.keys(back).sort()).toEqual(names.sort());
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect((back as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.getOwnPropertyNames(Object.prototype).length).toBe(before);
  });

  test('keeps NUL, bytes 1, astral characters and lone surrogates exactly', () => {
    const texts = [
      '\0',
      '\0\0',
      '\x01',
      'a\0',
      'a',
      'a\x01b',
      '😀',
      '\ud83d',
      '\ude00',
      '\ude00\ud83d',
      'x\ud800y',
      '\uffff',
      '\ufeffa',
      'é',
      '\ud800\udc00',
    ];
    expect(texts.map((text) => decodeKey(encodeKey(text)))).toEqual(texts);
    expect(new Set(texts.map(encodeKey)).size).toBe(texts.length);
  });

  test('an object without prototype is the same key as a plain one', () => {
    expect(encodeKey(Object.assign(Object.create(null), { a: 1 }))).toBe(encodeKey({ a: 1 }));
  });
});

describe('the order of keys', () => {
  test('is false, true, numbers, bigints, strings, bytes, tuples, objects, each by value', () => {
    // biome-ignore format: one row for each kind
    const ordered: unknown[] = [
      false, true,
      Number.NEGATIVE_INFINITY, -1e300, -1, -5e-324, 0, 5e-324, 0.5, 1, 2, 10, Number.MAX_VALUE, Number.POSITIVE_INFINITY, Number.NaN,
      -(2n ** 2_000n), -(2n ** 1_008n), -(2n ** 64n), -256n, -255n, -1n, 0n, 1n, 255n, 256n, 2n ** 64n, 2n ** 1_008n, 2n ** 2_000n,
      '', '\0', '\0a', '\x01', 'a', 'a\0', 'a\0\0', 'a\x01', 'aa', 'b', 'é', '\ud7ff', '\ud800', '\udfff', '\ue000', '\uffff', '\u{10000}', '😀',
      Uint8Array.of(), Uint8Array.of(0), Uint8Array.of(0, 0), Uint8Array.of(1), Uint8Array.of(1, 0), Uint8Array.of(2), Uint8Array.of(255),
      [], [false], [1], [1, 1], [1, 'a'], [2], ['a'], ['a', 1], ['a\0'], ['aa'], [[]], [[1], 0],
      {}, { a: 1 }, { a: 1, b: 1 }, { a: 2 }, { b: 0 },
    ];
    const encoded = ordered.map(encodeKey);
    expect([...encoded].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))).toEqual(encoded);
    expect(new Set(encoded).size).toBe(ordered.length);
  });

  test('no encoding is a prefix of another, so keys can be put one behind the other', () => {
    const encoded = ['', 'a', 'a\0', 'ab', 1, 1n, 255n, 256n, [], ['a'], ['a', 1], {}, { a: 1 }, Uint8Array.of(), Uint8Array.of(0)].map(
      encodeKey,
    );
    for (const a of encoded) for (const b of encoded) if (a !== b) expect(b.startsWith(a)).toBe(false);
  });
});

describe('the normal form of a key', () => {
  test('of a primitive is itself, of anything else an encoded and frozen copy', () => {
    expect(['a', true, 7n, 1.5, Number.NaN].map(normalizeKey)).toEqual(['a', true, 7n, 1.5, Number.NaN]);
    expect(Object.is(normalizeKey(-0), 0)).toBe(true);
    const key = normalizeKey({ b: [1, { c: 'x' }], a: 2n });
    const value = keyValue(key) as { a: bigint; b: [number, { c: string }] };
    expect(value).toEqual({ a: 2n, b: [1, { c: 'x' }] });
    expect(Object.keys(value)).toEqual(['a', 'b']);
    expect([value, value.b, value.b[1]].every(Object.isFrozen)).toBe(true);
    expect(keyValue(key)).toBe(value);
    expect(encodedOf(key)).toBe(encodeKey({ a: 2n, b: [1, { c: 'x' }] }));
  });

  test('is found again from the encoding', () => {
    for (const key of ['a', 0, false, 5n]) expect(keyOfEncoded(encodeKey(key))).toBe(key);
    const tuple = keyOfEncoded(encodeKey(['a', 1]));
    expect(tuple).toBeInstanceOf(CompositeKey);
    expect(keyValue(tuple)).toEqual(['a', 1]);
  });
});

describe('what cannot be a key', () => {
  class Point {
    x = 1;
  }
  const cyclic: unknown[] = [1];
  cyclic.push({ again: cyclic });

  test('is refused with the path of the part that is wrong', () => {
    // biome-ignore-start lint/suspicious/noSparseArray: a hole is a case.
    // biome-ignore format: one row for each case
    const cases: readonly (readonly [key: unknown, path: string, why: string])[] = [
      [null, '$', 'it is null'],
      [undefined, '$', 'it is undefined'],
      [() => 1, '$', 'it is a function'],
      [Symbol('s'), '$', 'it is a symbol'],
      [{ a: [1, { 'b c': undefined }] }, '$.a[1]["b c"]', 'it is undefined'],
      [[new Date(0)], '$[0]', 'it is a Date; use its getTime()'],
      [{ m: new Map() }, '$.m', 'it is a Map'],
      [new Set(), '$', 'it is a Set'],
      [[new Point()], '$[0]', 'it is a Point'],
      [Buffer.from('a'), '$', 'it is a Buffer, a subclass of Uint8Array'],
      [new Float64Array(1), '$', 'it is a Float64Array'],
      [{ get a(): number { return 1; } }, '$.a', 'it is an accessor'],
      [{ [Symbol('s')]: 1 }, '$[Symbol(s)]', 'named by a symbol'],
      [Object.defineProperty({}, 'h', { value: 1 }), '$.h', 'not enumerable'],
      [[1, , 2], '$[1]', 'it is undefined'],
      [Object(1), '$', 'it is a Number'],
    ];
    // biome-ignore-end lint/suspicious/noSparseArray: a hole is a case.
    for (const [key, path, why] of cases) {
      const said = refusal(key);
      expect(said).toContain(`${path}: key at ${path} `);
      expect(said).toContain(why);
    }
  });

  test('includes what refers back to itself or is nested deeper than 64 levels', () => {
    expect(refusal(cyclic)).toContain('nested deeper than 64 levels');
    let deep: unknown = 1;
    for (let i = 0; i < 64; i++) deep = [deep];
    expect(decodeKey(encodeKey(deep))).toEqual(deep);
    expect(refusal([deep])).toContain('nested deeper than 64 levels');
  });
});

describe('damaged encodings', () => {
  test('are refused: only what was written is read', () => {
    // biome-ignore format: one row for each kind
    const damaged = [
      '', '\x00', '\x07', '\x20a', '\x20a\0b', '\x20\x01\x03\0', '\x20\x01\0', '\x20\xff\0', '\x20\xc0\x80\0', '\x20\xed\xa0\xbd\xed\xb8\x80\0',
      '\x10\0\0\0', '\x10\x7f\xff\xff\xff\xff\xff\xff\xff', '\x10\xff\xf8\0\0\0\0\0\x01', '\x18', '\x18\x82\0\x01', '\x18\x81', '\x18\x7f', '\x18\xff\0\0\0\x01\x05',
      '\x28\x05', '\x30', '\x30\x09', '\x38\x09\x09\0', '\x38\x20b\0\x09\x20a\0\x09\0', '\x38\x20a\0\x09\x20a\0\x09\0', '\x30'.repeat(100) + '\0'.repeat(100),
    ];
    for (const text of damaged)
      expect(() => decodeKey(text), JSON.stringify(text)).toThrow(expect.objectContaining({ code: 'DATA_DAMAGED', next: 'repair-state' }));
  });
});
