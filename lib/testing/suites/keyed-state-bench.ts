// What the tests of keyed state share: a backend with every kind of state, and the verbs that an operator has.

import assert from 'node:assert/strict';
import type { AppendingState, ListState, MapState, StateShape, ValueState } from '../../api/state.ts';
import { aggregatingState, foldingState, listState, mapState, reducingState, valueState } from '../../api/state.ts';
import type { KeyGroupSnapshot } from '../../checkpoint/snapshot.ts';
import { normalizeKey } from '../../core/key-codec.ts';
import type { KeyedStateBackend, KeyedStateFactory, RunningSnapshot } from '../../state/backend.ts';

export interface Sum {
  readonly n: number;
  readonly sum: number;
}

export const shape: StateShape = {
  value: valueState<unknown>(),
  filled: valueState<unknown>({ default: () => ({ from: 'default' }) }),
  list: listState<unknown>(),
  map: mapState<unknown, unknown>(),
  max: reducingState<number>((a, b) => Math.max(a, b)),
  mean: aggregatingState<number, Sum, number>({
    createAccumulator: () => ({ n: 0, sum: 0 }),
    add: (value, { n, sum }) => ({ n: n + 1, sum: sum + value }),
    getResult: ({ n, sum }) => sum / n,
    merge: (a, b) => ({ n: a.n + b.n, sum: a.sum + b.sum }),
  }),
  trace: foldingState<unknown, string>('>', (acc, value) => `${acc}${String(value)}`),
  seen: foldingState<string, Map<string, number>>(new Map<string, number>(), (acc, value) => acc.set(value, (acc.get(value) ?? 0) + 1)),
};

export interface AllHandles {
  readonly value: ValueState<unknown>;
  readonly filled: ValueState<unknown>;
  readonly list: ListState<unknown>;
  readonly map: MapState<unknown, unknown>;
  readonly max: AppendingState<number, number>;
  readonly mean: AppendingState<number, number>;
  readonly trace: AppendingState<unknown, string>;
  readonly seen: AppendingState<string, Map<string, number>>;
}

export const maxParallelism: number = 16;

/** A backend with all kinds of state, and the verbs that an operator has. */
export class Bench {
  readonly backend: KeyedStateBackend;
  readonly s: AllHandles;

  constructor(create: KeyedStateFactory, declared: StateShape = shape) {
    this.backend = create({ shape: declared, operator: 'op', maxParallelism });
    this.s = this.backend.handles as unknown as AllHandles;
  }

  /** One batch of one record for each key. */
  batch(keys: readonly unknown[], each: (s: AllHandles, index: number) => void): void {
    const normal = keys.map(normalizeKey);
    const slots = new Int32Array(normal.length);
    this.backend.resolve(normal, normal.length, slots);
    for (let i = 0; i < normal.length; i++) {
      this.backend.select(slots[i] as number);
      each(this.s, i);
    }
    this.backend.endBatch();
  }

  at<R>(key: unknown, use: (s: AllHandles) => R): R {
    let result: R | undefined;
    this.batch([key], (s) => {
      result = use(s);
    });
    return result as R;
  }

  snapshot(): readonly KeyGroupSnapshot[] {
    return encoded(this.backend.startSnapshot());
  }

  restored(create: KeyedStateFactory, groups: readonly KeyGroupSnapshot[]): Bench {
    const other = new Bench(create);
    other.backend.restore(this.backend.states, groups);
    return other;
  }
}

/** Encodes a snapshot to its end, a few entries at a time. */
export function encoded(running: RunningSnapshot, entries = 3): readonly KeyGroupSnapshot[] {
  for (let rounds = 0; !running.advance(entries); rounds++) assert.ok(rounds < 1e6, 'the snapshot never ends');
  return running.groups();
}

/** Everything that is readable of a key. */
export function readAll(s: AllHandles): unknown {
  const { value, filled, list, map, max, mean, trace, seen } = s;
  return {
    value: value.value(),
    filled: filled.value(),
    list: [...list.get()],
    map: [...map.entries()],
    max: max.get(),
    mean: mean.get(),
    trace: trace.get(),
    seen: seen.get(),
  };
}

export const empty: Readonly<Record<keyof AllHandles, unknown>> = {
  value: undefined,
  filled: { from: 'default' },
  list: [],
  map: [],
  max: undefined,
  mean: undefined,
  trace: undefined,
  seen: undefined,
};

export function fill(s: AllHandles, n: number): void {
  s.value.update({ n, more: [n, `${n}`] });
  s.filled.update(n);
  s.list.addAll([n, n + 1]);
  s.map.put(`k${n}`, n);
  s.map.put(n, { deep: [n] });
  s.max.add(n);
  s.mean.add(n);
  s.mean.add(n + 2);
  s.trace.add(n);
  s.seen.add(`v${n}`);
}

export const filledWith = (n: number): unknown => ({
  value: { n, more: [n, `${n}`] },
  filled: n,
  list: [n, n + 1],
  map: [
    [n, { deep: [n] }],
    [`k${n}`, n],
  ],
  max: n,
  mean: n + 1,
  trace: `>${n}`,
  seen: new Map([[`v${n}`, 1]]),
});

export type Rule = (title: string, body: (create: KeyedStateFactory) => void) => void;

export const awkwardNames: readonly string[] = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  ' ',
  'a-b',
  'a b',
  '#x',
  'size',
  '\u0000',
  '😀',
  '\ud800',
  'a',
  'aa',
];
