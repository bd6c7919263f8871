import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesToBinaryString } from '../../../lib/core/bytes.ts';
import { decodeKey, encodedOf, encodeKey, keyOfEncoded, keyValue, normalizeKey } from '../../../lib/core/key-codec.ts';
import { keyGroupOf, keyGroupOfKey } from '../../../lib/core/key-group.ts';
import { keys, text } from './arbitraries.ts';

/** The rules of order, said a second time without any encoding. */
function compareKeys(a: unknown, b: unknown): number {
  const byKind = rank(a) - rank(b);
  if (byKind !== 0) return byKind;
  if (typeof a === 'string') return compareLists([...a].map(codePoint), [...(b as string)].map(codePoint), compareNumbers);
  if (typeof a === 'number') return compareNumbers(a, b as number);
  if (typeof a === 'boolean') return Number(a) - Number(b);
  if (typeof a === 'bigint') return a < (b as bigint) ? -1 : a > (b as bigint) ? 1 : 0;
  if (a instanceof Uint8Array) return compareLists([...a], [...(b as Uint8Array)], compareNumbers);
  if (Array.isArray(a)) return compareLists(a, b as unknown[], compareKeys);
  return compareLists(
    sortedProperties(a as object),
    sortedProperties(b as object),
    (x, y) => compareKeys(x[0], y[0]) || compareKeys(x[1], y[1]),
  );
}

function rank(v: unknown): number {
  if (typeof v !== 'object') return ['boolean', 'number', 'bigint', 'string'].indexOf(typeof v);
  return v instanceof Uint8Array ? 4 : Array.isArray(v) ? 5 : 6;
}

const codePoint = (c: string): number => c.codePointAt(0)!;

function compareNumbers(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareLists<T>(a: readonly T[], b: readonly T[], compare: (x: T, y: T) => number): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const c = compare(a[i]!, b[i]!);
    if (c !== 0) return c;
  }
  return a.length - b.length;
}

function sortedProperties(o: object): (readonly [string, unknown])[] {
  return Object.entries(o).sort(([a], [b]) => compareKeys(a, b));
}

const runs = { numRuns: 3_000 };

test('byte order is key order, and equal encodings are equal keys', () => {
  fc.assert(
    fc.property(keys, keys, (a, b) => {
      const [x, y] = [encodeKey(a), encodeKey(b)];
      expect(Math.sign(compareKeys(a, b))).toBe(x < y ? -1 : x > y ? 1 : 0);
    }),
    runs,
  );
  fc.assert(
    fc.property(text, text, (a, b) => {
      const [x, y] = [encodeKey(a), encodeKey(b)];
      expect(Math.sign(compareKeys(a, b))).toBe(x < y ? -1 : x > y ? 1 : 0);
    }),
    runs,
  );
});

test('decoding gives the key back, and encoding that gives the same bytes', () => {
  fc.assert(
    fc.property(keys, (key) => {
      const encoded = encodeKey(key);
      const back = decodeKey(encoded);
      expect(compareKeys(back, key)).toBe(0);
      expect(encodeKey(back)).toBe(encoded);
      for (let i = 0; i < encoded.length; i++) expect(encoded.charCodeAt(i)).toBeLessThan(256);
    }),
    runs,
  );
});

test('the normal form stands for the same key and the same key group as the encoding', () => {
  fc.assert(
    fc.property(keys, (key) => {
      const normal = normalizeKey(key);
      expect(encodedOf(normal)).toBe(encodeKey(key));
      expect(compareKeys(keyValue(normal), key)).toBe(0);
      expect(isDeepStrictEqual(keyValue(keyOfEncoded(encodedOf(normal))), keyValue(normal))).toBe(true);
      expect(keyGroupOfKey(normal, 128)).toBe(keyGroupOf(encodeKey(key), 128));
    }),
    runs,
  );
});

test('no encoding is a prefix of another', () => {
  fc.assert(
    fc.property(keys, keys, (a, b) => {
      const [x, y] = [encodeKey(a), encodeKey(b)];
      expect(x !== y && y.startsWith(x)).toBe(false);
    }),
    runs,
  );
});

test('any bytes decode to a key that encodes to the same bytes, or are refused as damaged', () => {
  const damaged = fc.tuple(keys, fc.nat(), fc.integer({ min: 0, max: 255 }), fc.boolean()).map(([key, at, byte, cut]) => {
    const encoded = encodeKey(key);
    const i = at % encoded.length;
    return encoded.slice(0, i) + String.fromCharCode(byte) + (cut ? '' : encoded.slice(i + 1));
  });
  fc.assert(
    fc.property(
      fc.oneof(
        damaged,
        fc.uint8Array({ maxLength: 20 }).map((b) => bytesToBinaryString(b)),
      ),
      (encoded) => {
        let key: unknown;
        try {
          key = decodeKey(encoded);
        } catch (e) {
          expect(e).toMatchObject({ code: 'DATA_DAMAGED' });
          return;
        }
        expect(encodeKey(key)).toBe(encoded);
      },
    ),
    { numRuns: 4_000 },
  );
});
