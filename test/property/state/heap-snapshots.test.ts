// Snapshots of the heap against a model: whatever is done between their slices, each holds the state of the moment at which it began.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AppendingState, ListState, MapState, ValueState } from '../../../lib/api/state.ts';
import { listState, mapState, reducingState, valueState } from '../../../lib/api/state.ts';
import type { KeyGroupSnapshot } from '../../../lib/checkpoint/snapshot.ts';
import { keyValue, normalizeKey } from '../../../lib/core/key-codec.ts';
import { keyGroupRange } from '../../../lib/core/key-group.ts';
import type { RunningSnapshot } from '../../../lib/state/backend.ts';
import { HeapState } from '../../../lib/state/heap/heap-state.ts';

const shape = {
  v: valueState<unknown>(),
  l: listState<unknown>(),
  m: mapState<unknown, unknown>(),
  r: reducingState<number>((a, b) => a + b),
};
const maxParallelism = 8;

interface Handles {
  readonly v: ValueState<unknown>;
  readonly l: ListState<unknown>;
  readonly m: MapState<unknown, unknown>;
  readonly r: AppendingState<number, number>;
}

interface Cells {
  v: unknown;
  l: unknown[];
  m: Map<unknown, unknown>;
  r: number | undefined;
}

/** State by key, and timers as `time/key`, in a form that can be compared. */
interface Model {
  readonly cells: Map<string, Cells>;
  readonly timers: Set<string>;
}

type Write =
  | { readonly kind: 'update' | 'add' | 'reduce'; readonly key: number; readonly value: number }
  | { readonly kind: 'replace'; readonly key: number; readonly values: number[] }
  | { readonly kind: 'put'; readonly key: number; readonly name: number; readonly value: number }
  | { readonly kind: 'remove'; readonly key: number; readonly name: number }
  | { readonly kind: 'clear'; readonly key: number; readonly state: keyof Cells }
  | { readonly kind: 'clear-all' | 'read'; readonly key: number };

type Step =
  | { readonly kind: 'batch'; readonly writes: readonly Write[] }
  | { readonly kind: 'register'; readonly time: number; readonly key: number }
  | { readonly kind: 'delete'; readonly time: number; readonly key: number }
  | { readonly kind: 'fire'; readonly now: number }
  | { readonly kind: 'start' }
  | { readonly kind: 'advance'; readonly which: number; readonly entries: number }
  | { readonly kind: 'cancel'; readonly which: number };

const key = fc.nat(11);
const value = fc.nat(5);
const write: fc.Arbitrary<Write> = fc.oneof(
  fc.record({ kind: fc.constantFrom('update' as const, 'add' as const, 'reduce' as const), key, value }),
  fc.record({ kind: fc.constant('replace' as const), key, values: fc.array(value, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('put' as const), key, name: fc.nat(4), value }),
  fc.record({ kind: fc.constant('remove' as const), key, name: fc.nat(4) }),
  fc.record({ kind: fc.constant('clear' as const), key, state: fc.constantFrom<keyof Cells>('v', 'l', 'm', 'r') }),
  fc.record({ kind: fc.constantFrom('clear-all' as const, 'clear-all' as const, 'read' as const), key }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('batch' as const), writes: fc.array(write, { minLength: 1, maxLength: 6 }) }) },
  {
    weight: 2,
    arbitrary: fc.oneof(
      fc.record({ kind: fc.constant('register' as const), time: fc.nat(6), key }),
      fc.record({ kind: fc.constant('delete' as const), time: fc.nat(6), key }),
    ),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fire' as const), now: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'start' }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('advance' as const), which: fc.nat(3), entries: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), which: fc.nat(3) }) },
);

/** Half of the keys are found by their encoding. */
const keyOf = (n: number): unknown => (n % 2 === 0 ? `k${n}` : [n]);

/** Does a write to both, or holds one against the other. */
function apply(s: Handles, cells: Cells, w: Write): unknown {
  switch (w.kind) {
    case 'update':
      cells.v = { n: w.value };
      return s.v.update(cells.v);
    case 'add':
      cells.l.push(w.value);
      return s.l.add(w.value);
    case 'reduce':
      cells.r = (cells.r ?? 0) + w.value;
      return s.r.add(w.value);
    case 'replace':
      cells.l = [...w.values];
      return s.l.update(w.values);
    case 'put':
      cells.m.set(w.name, w.value);
      return s.m.put(w.name, w.value);
    case 'remove':
      cells.m.delete(w.name);
      return s.m.remove(w.name);
    case 'clear':
      Object.assign(cells, { [w.state]: emptyCells()[w.state] });
      return s[w.state].clear();
    case 'clear-all':
      Object.assign(cells, emptyCells());
      for (const state of Object.values(s)) (state as { clear(): void }).clear();
      return undefined;
    case 'read':
      return expect(read(s)).toEqual(copy(cells));
  }
}

const emptyCells = (): Cells => ({ v: undefined, l: [], m: new Map(), r: undefined });
const copy = ({ v, l, m, r }: Cells): Cells => ({ v, l: [...l], m: new Map([...m].sort(([a], [b]) => (a as number) - (b as number))), r });
const read = (s: Handles): Cells => ({ v: s.v.value(), l: [...s.l.get()], m: new Map(s.m.entries()), r: s.r.get() });
const isEmpty = ({ v, l, m, r }: Cells): boolean => v === undefined && l.length === 0 && m.size === 0 && r === undefined;
const frozen = ({ cells, timers }: Model): Model => ({
  cells: new Map([...cells].filter(([, c]) => !isEmpty(c)).map(([k, c]) => [k, copy(c)])),
  timers: new Set(timers),
});

function newHeap(): HeapState {
  return new HeapState({ shape, operator: 'op', maxParallelism });
}

/** Everything that was restored, as a model. */
function modelOf(heaps: readonly HeapState[]): Model {
  const cells = new Map<string, Cells>();
  const timers = new Set<string>();
  for (const heap of heaps) {
    for (let n = 0; n <= 11; n++) {
      heap.selectKey(normalizeKey(keyOf(n)));
      const c = read(heap.handles as unknown as Handles);
      if (!isEmpty(c)) cells.set(String(n), c);
    }
    heap.endBatch();
    for (const [name, index] of Object.entries(heap.timers)) {
      for (let t = index.takeDue(Infinity); t !== undefined; t = index.takeDue(Infinity))
        timers.add(`${name} ${t.time} ${JSON.stringify(keyValue(t.key))}`);
    }
  }
  return { cells, timers };
}

function check(groups: readonly KeyGroupSnapshot[], expected: Model, parallelism: number): void {
  const heaps = Array.from({ length: parallelism }, (_, subtask) => {
    const { first, last } = keyGroupRange(subtask, maxParallelism, parallelism);
    const heap = newHeap();
    heap.restore(
      heap.states,
      groups.filter(({ group }) => group >= first && group <= last),
    );
    return heap;
  });
  expect(heaps.reduce((sum, heap) => sum + heap.keyCount(), 0)).toBe(expected.cells.size);
  expect(modelOf(heaps)).toEqual({
    cells: new Map([...expected.cells].sort(([a], [b]) => Number(a) - Number(b))),
    timers: expected.timers,
  });
}

test('each of several snapshots under way holds the state of its own moment, at every parallelism', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), fc.integer({ min: 1, max: 8 }), (steps, parallelism) => {
      const heap = newHeap();
      const model: Model = { cells: new Map(), timers: new Set() };
      const running: { readonly snapshot: RunningSnapshot; readonly moment: Model }[] = [];
      const finish = (i: number): void => {
        const [done] = running.splice(i, 1);
        if (done !== undefined) check(done.snapshot.groups(), done.moment, parallelism);
      };
      const timer = (time: number, n: number): string => `event ${time} ${JSON.stringify(keyOf(n))}`;
      for (const s of steps) {
        if (s.kind === 'batch') {
          const keys = s.writes.map((w) => normalizeKey(keyOf(w.key)));
          const slots = new Int32Array(keys.length);
          heap.resolve(keys, keys.length, slots);
          for (const [i, w] of s.writes.entries()) {
            heap.select(slots[i] as number);
            const cells = model.cells.get(String(w.key)) ?? emptyCells();
            model.cells.set(String(w.key), cells);
            apply(heap.handles as unknown as Handles, cells, w);
          }
          heap.endBatch();
          expect(heap.keyCount()).toBe([...model.cells.values()].filter((c) => !isEmpty(c)).length);
        } else if (s.kind === 'register') {
          heap.timers.event.register(s.time, normalizeKey(keyOf(s.key)));
          model.timers.add(timer(s.time, s.key));
        } else if (s.kind === 'delete') {
          heap.timers.event.remove(s.time, normalizeKey(keyOf(s.key)));
          model.timers.delete(timer(s.time, s.key));
        } else if (s.kind === 'fire') {
          for (let t = heap.timers.event.takeDue(s.now); t !== undefined; t = heap.timers.event.takeDue(s.now)) {
            expect(model.timers.delete(`event ${t.time} ${JSON.stringify(keyValue(t.key))}`)).toBe(true);
          }
          expect([...model.timers].every((t) => Number(t.split(' ')[1]) > s.now)).toBe(true);
        } else if (s.kind === 'start') {
          if (running.length < 4) running.push({ snapshot: heap.startSnapshot(), moment: frozen(model) });
        } else if (s.kind === 'advance') {
          if (running[s.which]?.snapshot.advance(s.entries) === true) finish(s.which);
        } else {
          running[s.which]?.snapshot.cancel();
          running.splice(s.which, 1);
        }
      }
      while (running.length > 0) {
        while (!(running[0] as { snapshot: RunningSnapshot }).snapshot.advance(3));
        finish(0);
      }
      check(drain(heap.startSnapshot()), frozen(model), parallelism);
    }),
    { numRuns: 1_000 },
  );
});

function drain(snapshot: RunningSnapshot): readonly KeyGroupSnapshot[] {
  while (!snapshot.advance(1_000));
  return snapshot.groups();
}
