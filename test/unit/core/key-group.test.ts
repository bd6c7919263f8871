import { describe, expect, test } from 'vitest';
import { encodeKey, normalizeKey } from '../../../lib/core/key-codec.ts';
import { keyGroupOf, keyGroupOfKey, keyGroupRange, subtaskOfKeyGroup } from '../../../lib/core/key-group.ts';

describe('key groups', () => {
  test('are cut into ranges that follow each other, differ by one at most, and agree with the owner of each group', () => {
    for (const [max, parallelism] of [
      [128, 1],
      [128, 3],
      [128, 128],
      [7, 5],
      [1, 1],
      [32_768, 1_000],
      [32_768, 32_767],
    ] as const) {
      let next = 0;
      const sizes = new Set<number>();
      for (let subtask = 0; subtask < parallelism; subtask++) {
        const { first, last } = keyGroupRange(subtask, max, parallelism);
        expect(first).toBe(next);
        sizes.add(last - first + 1);
        for (const group of [first, last]) expect(subtaskOfKeyGroup(group, max, parallelism)).toBe(subtask);
        next = last + 1;
      }
      expect(next).toBe(max);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }
  });

  test('of Flink: parallelism 3 of 128 owns 0 to 42, 43 to 85, 86 to 127', () => {
    expect([0, 1, 2].map((subtask) => keyGroupRange(subtask, 128, 3))).toEqual([
      { first: 0, last: 42 },
      { first: 43, last: 85 },
      { first: 86, last: 127 },
    ]);
  });

  test('refuse a parallelism outside its bounds, naming both', () => {
    const code = (f: () => unknown): unknown => {
      try {
        return f();
      } catch (e) {
        return [(e as { code: string }).code, (e as Error).message];
      }
    };
    expect(code(() => keyGroupRange(0, 4, 5))).toEqual([
      'PARALLELISM_INVALID',
      'parallelism 5 is not a whole number from 1 to the maximum parallelism 4',
    ]);
    expect(code(() => keyGroupRange(0, 40_000, 5))).toEqual([
      'PARALLELISM_INVALID',
      'maximum parallelism 40000 is not a whole number from 1 to 32768',
    ]);
    for (const [subtask, max, parallelism] of [
      [0, 4, 0],
      [0, 4, 1.5],
      [0, 0, 1],
      [3, 4, 3],
      [-1, 4, 3],
      [0.5, 4, 3],
    ] as const) {
      expect(code(() => keyGroupRange(subtask, max, parallelism))).toMatchObject(['PARALLELISM_INVALID', expect.any(String)]);
    }
  });

  test('are the same whether the encoding is made or not', () => {
    for (const key of [
      '',
      'a',
      'abc',
      'abcd',
      'ab\0',
      'é',
      '\ud800',
      'x'.repeat(100),
      0,
      -0,
      Number.NaN,
      7n,
      true,
      ['a', 1],
      { b: 1, a: 2 },
    ]) {
      expect(keyGroupOfKey(normalizeKey(key), 128)).toBe(keyGroupOf(encodeKey(key), 128));
    }
  });

  test('are used evenly by keys that differ in little', () => {
    const counts = new Array<number>(128).fill(0);
    for (let i = 0; i < 128_000; i++) counts[keyGroupOfKey(`user-${i}`, 128)]!++;
    expect(Math.min(...counts)).toBeGreaterThan(800);
    expect(Math.max(...counts)).toBeLessThan(1_200);
  });
});
