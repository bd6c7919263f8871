import { describe, expect, test } from 'vitest';
import { expose, MutableOwned, own } from '../../../lib/core/owned.ts';
import { decodeStored, decodeValue, encodeValue } from '../../../lib/core/value-codec.ts';

describe('state owns its values', () => {
  test('primitives are stored as they are', () => {
    for (const v of ['a', 0, -0, Number.NaN, 1n, true, null, undefined]) {
      expect(Object.is(own(v), v)).toBe(true);
      expect(Object.is(expose(own(v)), v)).toBe(true);
    }
  });

  test('a plain value is copied and frozen in depth; later changes of the original reach nothing', () => {
    const v = { list: [1, { n: 1 }], name: 'a' };
    const stored = own(v) as typeof v;
    v.list.push(2);
    (v.list[1] as { n: number }).n = 2;
    expect(stored).toEqual({ list: [1, { n: 1 }], name: 'a' });
    expect([stored, stored.list, stored.list[1]].every(Object.isFrozen)).toBe(true);
    expect(expose(stored)).toBe(stored);
    expect(() => stored.list.push(3)).toThrow(TypeError);
    expect(() => {
      stored.name = 'b';
    }).toThrow(TypeError);
  });

  test('a stored value that is handed back, whole or as a part, is not copied again', () => {
    const stored = own({ a: { b: [1] }, c: [{ d: 1 }] }) as { a: object; c: object };
    expect(own(stored)).toBe(stored);
    const next = own({ ...stored, e: 1 }) as typeof stored;
    expect([next.a, next.c]).toEqual([stored.a, stored.c]);
    expect(next.a).toBe(stored.a);
    expect(next.c).toBe(stored.c);
  });

  test('what a user froze is copied all the same, for its depths may still change', () => {
    const inner = { n: 1 };
    const v = Object.freeze({ inner });
    const stored = own(v) as typeof v;
    inner.n = 2;
    expect(stored).toEqual({ inner: { n: 1 } });
  });

  test('a value with a Map, Set, Date or bytes inside is read as a fresh copy, frozen where it can be', () => {
    const v = { map: new Map([['a', { n: 1 }]]), set: new Set([1]), when: new Date(5), bytes: Uint8Array.of(1), plain: { list: [1] } };
    const stored = own(v);
    expect(stored).toBeInstanceOf(MutableOwned);
    v.map.set('b', { n: 2 });
    v.bytes[0] = 9;
    const before = { map: new Map([['a', { n: 1 }]]), set: new Set([1]), when: new Date(5), bytes: Uint8Array.of(1), plain: { list: [1] } };
    const read = expose(stored) as typeof v;
    expect(read).toStrictEqual(before);
    read.map.clear();
    read.set.add(2);
    read.when.setTime(0);
    read.bytes[0] = 7;
    const again = expose(stored) as typeof v;
    expect(again).toStrictEqual(before);
    expect(again.plain).toBe(read.plain);
    expect(Object.isFrozen(again) && Object.isFrozen(again.plain.list) && Object.isFrozen(again.map.get('a'))).toBe(true);
  });

  test('a copy that was read, changed inside and handed back is copied with its changes', () => {
    const read = expose(own({ m: new Map([['a', 1]]) })) as { m: Map<string, number> };
    read.m.set('b', 2);
    const stored = own(read);
    read.m.clear();
    expect(expose(stored)).toStrictEqual({
      m: new Map([
        ['a', 1],
        ['b', 2],
      ]),
    });
  });

  test('what cannot be stored is refused under the name it was given, before anything is kept', () => {
    class Point {
      x = 1;
    }
    const cyclic: { a?: unknown } = {};
    cyclic.a = { b: [cyclic] };
    // biome-ignore format: one row for each case
    const cases: readonly (readonly [v: unknown, path: string])[] = [
      [() => 1, 'basket'],
      [{ items: [1, { f: () => 1 }] }, 'basket.items[1].f'],
      [new Map([['k', new Point()]]), 'basket.get("k")'],
      [cyclic, 'basket.a.b[0]'],
      [Buffer.from('a'), 'basket'],
      [{ get a(): number { throw new Error('must not run'); } }, 'basket.a'],
      ['abc'.match(/b/), 'basket'],
    ];
    for (const [v, path] of cases) {
      expect(() => own(v, 'basket')).toThrow(
        expect.objectContaining({ code: 'VALUE_NOT_ENCODABLE', details: { path }, message: expect.stringContaining(`value at ${path} `) }),
      );
    }
  });

  test('C31, C34: `__proto__` is a name, and an object without prototype becomes a plain one', () => {
    const stored = own(JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}')) as object;
    expect(Object.entries(stored)).toEqual([
      ['__proto__', { x: 1 }],
      ['constructor', 2],
    ]);
    expect(Object.getPrototypeOf(stored)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(own(Object.create(null)))).toBe(Object.prototype);
  });

  test('the stored form is written like the value, and read back as a stored form', () => {
    for (const v of [
      1,
      'a',
      { a: [1, { b: 2 }] },
      new Map([[{ k: 1 }, new Date(3)]]),
      { bytes: Uint8Array.of(1), list: [{ n: 1 }] },
      undefined,
    ]) {
      const stored = own(v);
      expect(encodeValue(stored)).toEqual(encodeValue(v));
      const restored = decodeStored(encodeValue(v));
      expect(expose(restored)).toStrictEqual(v);
      expect(restored instanceof MutableOwned).toBe(stored instanceof MutableOwned);
      expect(own(restored instanceof MutableOwned ? expose(restored) : restored)).toStrictEqual(stored);
    }
    const restored = decodeStored(encodeValue({ a: { b: [1] } })) as { a: { b: number[] } };
    expect(own(restored)).toBe(restored);
    expect(Object.isFrozen(restored.a.b)).toBe(true);
    expect(Object.isFrozen(decodeValue(encodeValue({ a: 1 })))).toBe(false);
  });
});
