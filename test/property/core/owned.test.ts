import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expose, MutableOwned, own } from '../../../lib/core/owned.ts';
import { decodeValue, encodeValue } from '../../../lib/core/value-codec.ts';
import { plainValues, values } from './arbitraries.ts';

/** Changes everything that can be changed, in depth. */
function spoil(v: unknown): void {
  if (typeof v !== 'object' || v === null) return;
  if (v instanceof Map) {
    for (const [k, x] of v) {
      spoil(k);
      spoil(x);
    }
    v.clear();
  } else if (v instanceof Set) {
    for (const x of v) spoil(x);
    v.clear();
  } else if (v instanceof Date) v.setTime(1);
  else if (v instanceof Uint8Array) v.fill(7);
  else if (!Object.isFrozen(v)) {
    for (const x of Object.values(v)) spoil(x);
    for (const name of Object.keys(v)) Object.defineProperty(v, name, { value: 'spoilt' });
  } else for (const x of Object.values(v)) spoil(x);
}

function isFrozenInDepth(v: unknown): boolean {
  return typeof v !== 'object' || v === null || (Object.isFrozen(v) && Object.values(v).every(isFrozenInDepth));
}

test('neither a change of the original nor of anything that was read reaches the stored value', () => {
  fc.assert(
    fc.property(values, (v) => {
      const copy = decodeValue(encodeValue(v));
      const stored = own(v);
      spoil(v);
      expect(isDeepStrictEqual(expose(stored), copy)).toBe(true);
      spoil(expose(stored));
      expect(isDeepStrictEqual(expose(stored), copy)).toBe(true);
      const again = own(expose(stored));
      spoil(expose(stored));
      expect(isDeepStrictEqual(expose(again), copy)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('a plain value is frozen in depth, read without a copy, and kept as it is when handed back', () => {
  fc.assert(
    fc.property(plainValues, (v) => {
      const stored = own(v);
      expect(stored instanceof MutableOwned).toBe(false);
      expect(isFrozenInDepth(stored)).toBe(true);
      expect(Object.is(expose(stored), stored)).toBe(true);
      expect(Object.is(own(stored), stored)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
