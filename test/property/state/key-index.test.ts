// The index from keys to slots against a Map, with keys that crowd one place of its table.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalizeKey, type StateKey } from '../../../lib/core/key-codec.ts';
import { hashText, KeyIndex } from '../../../lib/state/heap/key-index.ts';

/** Strings that begin at one place of a table, also of one that has grown a few times. */
function crowd(count: number): string[] {
  const found: string[] = [];
  for (let i = 0; found.length < count; i++) if ((hashText(`k${i}`) & 0xfff) === 7) found.push(`k${i}`);
  return found;
}

const crowded = crowd(70);
const others: unknown[] = [
  0,
  -0,
  1,
  1n,
  '1',
  true,
  'true',
  false,
  Number.NaN,
  'NaN',
  0.5,
  -1,
  2 ** 40,
  '',
  [1],
  ['1'],
  { a: 1 },
  new Uint8Array([1]),
];
const pool: readonly StateKey[] = [...crowded, ...others].map(normalizeKey);
const identity = (key: StateKey): unknown =>
  typeof key === 'object' ? `object ${key.encoded}` : typeof key === 'string' ? `string ${key}` : key;

/** The index as a backend uses it, with a Map beside it. */
class Pair {
  readonly index = new KeyIndex();
  readonly model = new Map<unknown, number>();
  readonly #free: number[] = [];
  #next = 0;

  readonly #make = (key: StateKey): number => {
    const slot = this.#free.pop() ?? this.#next++;
    this.index.add(key, slot);
    expect(this.model.has(identity(key))).toBe(false);
    this.model.set(identity(key), slot);
    return slot;
  };

  resolve(keys: readonly StateKey[]): void {
    const slots = new Int32Array(keys.length);
    this.index.resolve(keys, keys.length, slots, this.#make);
    for (const [i, key] of keys.entries()) expect(slots[i]).toBe(this.model.get(identity(key)));
  }

  remove(key: StateKey): void {
    const slot = this.model.get(identity(key));
    if (slot === undefined) return;
    this.index.remove(slot);
    this.model.delete(identity(key));
    this.#free.push(slot);
  }

  check(keys: readonly StateKey[]): void {
    for (const key of keys) expect(this.index.find(key)).toBe(this.model.get(identity(key)));
  }
}

describe('an index of keys', () => {
  test('finds what was added and not removed, whatever crowds together', () => {
    const picks = fc.array(fc.nat(pool.length - 1), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(fc.array(fc.record({ isRemoval: fc.boolean(), picks }), { maxLength: 25 }), (steps) => {
        const pair = new Pair();
        for (const { isRemoval, picks: chosen } of steps) {
          const keys = chosen.map((n) => pool[n] as StateKey);
          if (isRemoval) for (const key of keys) pair.remove(key);
          else pair.resolve(keys);
          pair.check(pool);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('grows, in the middle of a batch too, and forgets nothing', () => {
    const pair = new Pair();
    const keys = Array.from({ length: 20_000 }, (_, i) => normalizeKey(i % 3 === 0 ? i : i % 3 === 1 ? `s${i}` : [i]));
    pair.resolve([...crowded, ...keys]);
    pair.check([...pool, ...keys]);
    for (const [i, key] of keys.entries()) if (i % 2 === 0) pair.remove(key);
    pair.check([...pool, ...keys]);
    pair.resolve(keys.toReversed());
    pair.check([...pool, ...keys]);
  });
});
