import { describe, expect, test } from 'vitest';
import { CowTree } from '../../../lib/core/cow-tree.ts';

const filled = (n: number, step = 1): CowTree<number> => {
  const tree = new CowTree<number>();
  for (let i = 0; i < n; i++) tree.set(keyOf((i * step) % n), (i * step) % n);
  return tree;
};
const keyOf = (i: number): string => String(i).padStart(6, '0');

describe('an ordered map', () => {
  test('keeps its entries in the order of their keys, whatever the order of writing', () => {
    for (const tree of [filled(1_000), filled(1_000, 7), filled(1_000, 999)]) {
      expect(tree.size).toBe(1_000);
      expect([...tree.entries()]).toEqual(Array.from({ length: 1_000 }, (_, i) => [keyOf(i), i]));
    }
  });

  test('tells what it holds and what it does not', () => {
    const tree = filled(100);
    expect([tree.get(keyOf(42)), tree.get('x'), tree.has(keyOf(99)), tree.has(keyOf(100)), tree.has('')]).toEqual([
      42,
      undefined,
      true,
      false,
      false,
    ]);
    expect([tree.set(keyOf(42), -1), tree.set('new', 1), tree.delete('new'), tree.delete('new'), tree.size]).toEqual([
      false,
      true,
      true,
      false,
      100,
    ]);
    expect(tree.get(keyOf(42))).toBe(-1);
  });

  test('holds undefined as a value, and the empty string as a key', () => {
    const tree = new CowTree<undefined>();
    tree.set('', undefined);
    expect([tree.has(''), tree.get(''), tree.first(), tree.size]).toEqual([true, undefined, ['', undefined], 1]);
  });

  test('begins an iteration at the first key that is not below the given one', () => {
    const tree = filled(200);
    for (const at of [0, 1, 31, 32, 33, 100, 199]) expect(tree.entries(keyOf(at)).next().value).toEqual([keyOf(at), at]);
    expect(tree.entries(`${keyOf(50)}x`).next().value).toEqual([keyOf(51), 51]);
    expect([...tree.entries('1')]).toEqual([]);
  });

  test('gives and takes its first entry until it is empty', () => {
    const tree = filled(500, 3);
    const taken: unknown[] = [];
    while (tree.size > 0) {
      expect([tree.firstKey(), tree.firstValue()]).toEqual(tree.first());
      taken.push(tree.deleteFirst());
    }
    expect(taken).toEqual(Array.from({ length: 500 }, (_, i) => [keyOf(i), i]));
    expect([tree.first(), tree.deleteFirst(), tree.firstKey(), tree.firstValue(), [...tree]]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      [],
    ]);
  });

  test('shrinks from every side and in every order, and what is left can still be found', () => {
    for (const step of [1, 7, 2_999]) {
      const tree = filled(3_000);
      const left = new Set(Array.from({ length: 3_000 }, (_, i) => i));
      for (let n = 0; n < 2_900; n++) {
        const i = (n * step) % 3_000;
        tree.delete(keyOf(i));
        left.delete(i);
        if (n % 100 === 0)
          for (const k of left) if (tree.get(keyOf(k)) !== k) expect.fail(`key ${k} is lost after ${n + 1} deletions by ${step}`);
      }
      expect([...tree].map(([, v]) => v)).toEqual([...left]);
    }
  });

  test('orders binary strings by their bytes', () => {
    const tree = new CowTree<number>();
    for (let i = 255; i >= 0; i--) tree.set(String.fromCharCode(i), i);
    expect([...tree].map(([, v]) => v)).toEqual(Array.from({ length: 256 }, (_, i) => i));
  });
});

describe('a snapshot', () => {
  test('stays as it was while the tree goes on, and the tree does not see it', () => {
    const tree = filled(1_000);
    const early = tree.snapshot();
    for (let i = 0; i < 1_000; i += 2) tree.delete(keyOf(i));
    const late = tree.snapshot();
    for (let i = 1; i < 1_000; i += 2) tree.set(keyOf(i), -i);
    tree.set('zzz', 0);
    expect([...early]).toEqual(Array.from({ length: 1_000 }, (_, i) => [keyOf(i), i]));
    expect([...late].map(([, v]) => v)).toEqual(Array.from({ length: 500 }, (_, i) => 2 * i + 1));
    expect([early.size, late.size, tree.size]).toEqual([1_000, 500, 501]);
    expect([...tree].filter(([, v]) => v > 0)).toEqual([]);
    tree.clear();
    expect([early.get(keyOf(4)), late.has(keyOf(4)), early.first()]).toEqual([4, false, [keyOf(0), 0]]);
  });

  test('is visited like the entries it holds', () => {
    const seen: [string, number][] = [];
    filled(100, 7)
      .snapshot()
      .forEach((v, k) => void seen.push([k, v]));
    expect(seen).toEqual([...filled(100)]);
  });
});

test('an iteration sees the entries that were present when it began, whatever happens meanwhile', () => {
  const tree = filled(300);
  const seen: number[] = [];
  for (const [key, v] of tree) {
    seen.push(v);
    tree.delete(key);
    tree.set(`new ${key}`, 1_000);
    tree.set(keyOf(299 - v), -1);
  }
  expect(seen).toEqual(Array.from({ length: 300 }, (_, i) => i));

  const other = filled(3);
  const entries = other.entries();
  other.clear();
  expect([...entries]).toHaveLength(3);
});
