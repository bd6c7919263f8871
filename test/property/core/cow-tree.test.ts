import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CowTree, type ReadonlyCowTree } from '../../../lib/core/cow-tree.ts';

// The model is a Map that is sorted whenever it is looked at. A few hundred keys make trees of three levels, so that nodes split, empty
// and merge; snapshots are compared at the end, when the tree has long gone on.

type Step =
  | { readonly kind: 'set' | 'delete'; readonly key: string }
  | { readonly kind: 'deleteFirst' | 'snapshot' | 'clear' }
  | { readonly kind: 'run'; readonly from: number; readonly length: number; readonly step: number; readonly isDelete: boolean };

const keyOf = (n: number): string => String.fromCharCode(n >>> 8, n & 0xff);
const key: fc.Arbitrary<string> = fc.integer({ min: 0, max: 2_000 }).map(keyOf);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('set', 'delete'), key }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('deleteFirst', 'snapshot') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear') }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('run'),
      from: fc.integer({ min: 0, max: 2_000 }),
      length: fc.integer({ min: 1, max: 1_500 }),
      step: fc.constantFrom(1, -1, 37),
      isDelete: fc.boolean(),
    }),
  },
) as fc.Arbitrary<Step>;

const sorted = (model: ReadonlyMap<string, number>): [string, number][] => [...model].sort(([a], [b]) => (a < b ? -1 : 1));

class Trial {
  readonly tree = new CowTree<number>();
  readonly model = new Map<string, number>();
  readonly #snapshots: { readonly tree: ReadonlyCowTree<number>; readonly entries: [string, number][] }[] = [];
  #value = 0;

  apply(s: Step): void {
    if (s.kind === 'run') for (let i = 0; i < s.length; i++) this.#change(s.isDelete, keyOf((s.from + i * s.step + 40_000) % 2_001));
    else if (s.kind === 'set' || s.kind === 'delete') this.#change(s.kind === 'delete', s.key);
    else if (s.kind === 'snapshot') this.#snapshots.push({ tree: this.tree.snapshot(), entries: sorted(this.model) });
    else if (s.kind === 'deleteFirst') {
      const first = sorted(this.model)[0];
      expect(this.tree.deleteFirst()).toEqual(first);
      if (first !== undefined) this.model.delete(first[0]);
    } else {
      this.tree.clear();
      this.model.clear();
    }
  }

  #change(isDelete: boolean, k: string): void {
    if (isDelete) expect(this.tree.delete(k)).toBe(this.model.delete(k));
    else {
      expect(this.tree.set(k, ++this.#value)).toBe(!this.model.has(k));
      this.model.set(k, this.#value);
    }
  }

  check(from: string): void {
    const entries = sorted(this.model);
    expect([...this.tree]).toEqual(entries);
    expect(this.tree.size).toBe(entries.length);
    expect(this.tree.first()).toEqual(entries[0]);
    expect([...this.tree.entries(from)]).toEqual(entries.filter(([k]) => k >= from));
    expect([this.tree.get(from), this.tree.has(from)]).toEqual([this.model.get(from), this.model.has(from)]);
    for (const s of this.#snapshots) {
      expect([...s.tree]).toEqual(s.entries);
      expect(s.tree.size).toBe(s.entries.length);
      expect([...s.tree.entries(from)]).toEqual(s.entries.filter(([k]) => k >= from));
    }
  }
}

test('the tree is a sorted map, and each snapshot stays what it was', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), key, (steps, from) => {
      const trial = new Trial();
      for (const s of steps) trial.apply(s);
      trial.check(from);
    }),
    { numRuns: 150 },
  );
});

test('the tree keeps its shape: leaves equally deep, no empty node, none too full, separators between their children', () => {
  interface Shape {
    readonly isLeaf: boolean;
    readonly keys: readonly string[];
    readonly children?: readonly Shape[];
  }
  const depthOf = (node: Shape, low: string, high: string | undefined): number => {
    expect(node.keys.every((k, i) => k >= low && (high === undefined || k <= high) && (i === 0 || node.keys[i - 1]! <= k))).toBe(true);
    if (node.isLeaf) {
      expect(node.keys.length).toBeGreaterThan(0);
      expect(node.keys.length).toBeLessThanOrEqual(32);
      return 1;
    }
    const children = node.children!;
    expect(children.length).toBe(node.keys.length + 1);
    expect(children.length).toBeLessThanOrEqual(32);
    const depths = children.map((child, i) => depthOf(child, node.keys[i - 1] ?? low, node.keys[i] ?? high));
    expect(new Set(depths).size).toBe(1);
    return 1 + depths[0]!;
  };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const trial = new Trial();
      for (const s of steps) trial.apply(s);
      const { root } = trial.tree as unknown as { readonly root: Shape | undefined };
      if (root !== undefined) expect(depthOf(root, '', undefined)).toBeLessThanOrEqual(4);
    }),
    { numRuns: 100 },
  );
});
