// The key index against a plain model: any sequence of look-ups and removals, with keys that crowd one place of the table.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodedOf, normalizeKey, type StateKey } from '../../../lib/core/key-codec.ts';
import { hashText, KeyIndex } from '../../../lib/state/heap/key-index.ts';

/** Strings that share the low 20 bits of their hash, so that they crowd one place at every size of the table used here. */
const crowd: readonly string[] = (() => {
  const wanted = hashText('x0') & 0xfffff;
  const found: string[] = [];
  for (let i = 0; found.length < 80 && i < 200_000_000; i++) {
    const text = `x${i.toString(36)}`;
    if ((hashText(text) & 0xfffff) === wanted) found.push(text);
  }
  return found;
})();

const key: fc.Arbitrary<StateKey> = fc
  .oneof(
    { weight: 4, arbitrary: fc.constantFrom(...crowd) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 300 }).map((n) => `k${n}`) },
    fc.integer({ min: -50, max: 50 }),
    fc.constantFrom(0.5, -1e300, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 40),
    fc.bigInt({ min: -5n, max: 5n }),
    fc.boolean(),
    fc.tuple(fc.constantFrom('a', 'b'), fc.integer({ min: 0, max: 3 })),
    fc.record({ a: fc.integer({ min: 0, max: 3 }) }),
  )
  .map((value) => normalizeKey(value));

const operation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('resolve' as const), keys: fc.array(key, { minLength: 1, maxLength: 60 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), keys: fc.array(key, { minLength: 1, maxLength: 30 }) }) },
);

/** An index as the heap uses it: freed slots are used again. */
class Slots {
  readonly index = new KeyIndex();
  readonly free: number[] = [];
  made = 0;

  resolve(keys: readonly StateKey[]): number[] {
    const slots = new Int32Array(keys.length);
    this.index.resolve(keys, keys.length, slots, (absent) => {
      const slot = this.free.pop() ?? this.made++;
      this.index.add(absent, slot);
      return slot;
    });
    return [...slots];
  }

  remove(wanted: StateKey): void {
    const slot = this.index.find(wanted);
    if (slot === undefined) return;
    this.index.remove(slot);
    this.free.push(slot);
  }
}

describe('the key index', () => {
  test('the crafted keys are as many as the test needs', () => {
    expect(crowd.length).toBe(80);
  });

  test('C19 finds the same slot for the same key, and never one for another, whatever was removed in between', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 40 }), (operations) => {
        const slots = new Slots();
        const model = new Map<string, number>();
        for (const { kind, keys } of operations) {
          if (kind === 'remove') {
            for (const wanted of keys) {
              slots.remove(wanted);
              model.delete(encodedOf(wanted));
            }
            continue;
          }
          const found = slots.resolve(keys);
          for (const [i, wanted] of keys.entries()) {
            const encoded = encodedOf(wanted);
            if (!model.has(encoded)) model.set(encoded, found[i] as number);
            expect(found[i]).toBe(model.get(encoded));
          }
          expect(new Set(model.values()).size).toBe(model.size);
        }
        for (const [encoded, slot] of model) expect(encodedOf(slots.index.keys[slot] as StateKey)).toBe(encoded);
      }),
      { numRuns: 300 },
    );
  });

  test('keeps every key when the table grows many times, and finds none that was removed', () => {
    const slots = new Slots();
    const keys = Array.from({ length: 20_000 }, (_, i) => (i % 2 === 0 ? `key ${i}` : i));
    const first = slots.resolve(keys);
    expect(new Set(first).size).toBe(keys.length);
    for (const gone of keys.slice(0, 10_000)) slots.remove(gone);
    expect(slots.resolve(keys.slice(10_000))).toEqual(first.slice(10_000));
    expect(keys.slice(0, 10_000).filter((gone) => slots.index.find(gone) !== undefined)).toEqual([]);
  });
});
