import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { equalBytes } from '../../../lib/core/bytes.ts';
import { expose } from '../../../lib/core/owned.ts';
import { decodeStored, decodeValue, encodeValue, ValueReader, ValueWriter } from '../../../lib/core/value-codec.ts';
import { values } from './arbitraries.ts';

const runs = { numRuns: 2_000 };

test('what is read is what was written, and writing it again gives the same bytes', () => {
  fc.assert(
    fc.property(values, (v) => {
      const encoded = encodeValue(v);
      const back = decodeValue(encoded);
      expect(isDeepStrictEqual(back, v)).toBe(true);
      expect(equalBytes(encodeValue(back), encoded)).toBe(true);
      const stored = decodeStored(encoded);
      expect(isDeepStrictEqual(expose(stored), v)).toBe(true);
      expect(equalBytes(encodeValue(stored), encoded)).toBe(true);
    }),
    runs,
  );
});

test('values lie one behind the other without any mark between them', () => {
  fc.assert(
    fc.property(fc.array(values, { maxLength: 6 }), (list) => {
      const writer = new ValueWriter();
      for (const v of list) writer.writeValue(v);
      const reader = new ValueReader(writer.take());
      expect(
        isDeepStrictEqual(
          list.map(() => reader.readValue()),
          list,
        ),
      ).toBe(true);
      expect(reader.remaining).toBe(0);
    }),
    { numRuns: 500 },
  );
});

test('any bytes decode to a value that can be written, or are refused as damaged', () => {
  const damaged = fc.tuple(values, fc.nat(), fc.integer({ min: 0, max: 255 }), fc.boolean()).map(([v, at, byte, cut]) => {
    const encoded = encodeValue(v);
    const i = 1 + (at % (encoded.length - 1));
    encoded[i] = byte;
    return cut ? encoded.subarray(0, i + 1) : encoded;
  });
  const random = fc.uint8Array({ maxLength: 30 }).map((b) => Uint8Array.of(1, ...b));
  fc.assert(
    fc.property(fc.oneof(damaged, random), (encoded) => {
      let v: unknown;
      try {
        v = decodeValue(encoded);
      } catch (e) {
        expect(e).toMatchObject({ code: 'DATA_DAMAGED' });
        return;
      }
      expect(isDeepStrictEqual(decodeValue(encodeValue(v)), v)).toBe(true);
    }),
    { numRuns: 4_000 },
  );
});
