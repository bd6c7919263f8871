// The user functions of simulated jobs: state, timers and operator state as a user would write them.

import {
  type AggregateFunction,
  aggregatingState,
  average,
  type Collector,
  count,
  foldingState,
  type InitializeContext,
  type KeyedProcessFunction,
  type ListState,
  listState,
  type MapState,
  mapState,
  type RuntimeContext,
  reducingState,
  valueState,
} from '../../lib/index.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';
import type { ExternalTarget } from './external-target.ts';
import { runningDigest } from './oracle.ts';
import { bucketEnd, farFuture, keyText, type Op, type Row } from './spec.ts';

/** What a witness found in its operator state when it was restored. */
export interface Testimony {
  readonly uid: string;
  /** Which start of the job: another one each time the job is built. */
  readonly build: string;
  readonly subtask: number;
  readonly parallelism: number;
  readonly split: readonly string[];
  readonly union: readonly string[];
  readonly broadcast: readonly (readonly [string, number])[];
}

export interface Surroundings {
  readonly process: SimulatedProcess;
  readonly target: ExternalTarget;
  /** Asked for each record of some functions, and for each snapshot of others. */
  readonly throwsNow: (row?: Row) => boolean;
  readonly testify: (t: Testimony) => void;
  /** Asked by some functions for each timer that fires. */
  readonly timerThrowsNow?: () => boolean;
}

export type Context = Surroundings & { readonly build: string };
/** What user functions know of the world that they are simulated in. */
export type FunctionContext = Pick<Context, 'throwsNow' | 'testify' | 'build' | 'timerThrowsNow'>;

export function running(ctx: FunctionContext) {
  const state = {
    sum: valueState<number>(),
    last: listState<number>(),
    rests: mapState<number, number>(),
    max: reducingState<number>(Math.max),
    mean: aggregatingState(average()),
    trace: foldingState(1, (acc: number, v: number) => (acc * 17 + v) % 10_007),
  };
  const f: KeyedProcessFunction<Row, Row, typeof state> = {
    state,
    processElement(r, c, out) {
      const { sum, last, rests, max, mean, trace } = c.state;
      sum.update((sum.value() ?? 0) + r.v);
      last.add(r.v);
      if (last.get().length > 3) last.update(last.get().slice(-3));
      const rest = r.v % 5;
      const seen = rests.get(rest) ?? 0;
      if (seen >= 3) rests.remove(rest);
      else rests.put(rest, seen + 1);
      max.add(r.v);
      mean.add(r.v);
      trace.add(r.v);
      // After its state was changed: none of it may stay.
      if (ctx.throwsNow(r)) throw new Error('user code throws');
      const perRest = [...rests.entries()];
      out.collect({ ...r, v: runningDigest(sum.value()!, last.get(), perRest, max.get()!, mean.get()!, trace.get()!) });
    },
  };
  return f;
}

interface Bucket {
  readonly n: number;
  readonly k: string;
  readonly s: string;
}

export function buckets(uid: string, op: Op & { kind: 'buckets' }) {
  const state = { inside: mapState<number, Bucket>() };
  const f: KeyedProcessFunction<Row, Row, typeof state> = {
    state,
    processElement(r, c) {
      const end = bucketEnd(r.t, op.sizeMs);
      const n = (c.state.inside.get(end)?.n ?? 0) + r.v + 1;
      c.state.inside.put(end, { n, k: r.k, s: op.isPinned ? r.s : '' });
      c.timerService.registerEventTimeTimer(end);
      // A timer that is taken back must not fire, also not after a restore.
      c.timerService.registerEventTimeTimer(end + 1);
      c.timerService.deleteEventTimeTimer(end + 1);
    },
    onTimer(at, c, out) {
      const { n, k, s } = c.state.inside.get(at) ?? { n: -1, k: 'a timer without a bucket', s: '' };
      c.state.inside.remove(at);
      out.collect({ id: `${uid}#${op.isPinned ? `${s}|${k}` : k}#${at}`, k, s, v: n, t: at });
    },
  };
  return f;
}

/** Holds rows back for a time of the clock, or to the end of input. */
export function hold(holdMs: number, ctx: FunctionContext) {
  const state = { held: listState<Row>(), isArmed: valueState<boolean>({ default: () => false }) };
  const f: KeyedProcessFunction<Row, Row, typeof state> = {
    state,
    processElement(r, c) {
      c.state.held.add(r);
      if (c.state.isArmed.value()) return;
      c.state.isArmed.update(true);
      c.timerService.registerProcessingTimeTimer(c.timerService.currentProcessingTime() + holdMs);
      c.timerService.registerEventTimeTimer(farFuture);
    },
    onTimer(at, c, out) {
      if (c.timeDomain === 'event' && at !== farFuture) out.collect({ id: `a timer at ${at} that nobody set`, k: '', s: '', v: 0, t: 0 });
      for (const r of c.state.held.get()) out.collect(r);
      c.state.held.clear();
      c.state.isArmed.clear();
      // After its state was changed and its rows were put out: none of it may stay.
      if (ctx.timerThrowsNow?.() === true) throw new Error('user code throws in a timer');
    },
  };
  return f;
}

interface ChainAcc {
  readonly n: number;
  readonly row: Row | undefined;
}

export const chain: AggregateFunction<Row, ChainAcc, Row> = {
  createAccumulator: () => ({ n: 0, row: undefined }),
  add: (r, { n, row }) => ({ n: n + 1, row: { ...r, v: row === undefined ? r.v : (row.v * 3 + r.v) % 1_013 } }),
  getResult: ({ n, row }) => ({ ...row!, id: `${keyText(row!, true)}#${n}` }),
  merge: () => {
    throw new Error('nothing merges here');
  },
};

// Operator state

export function delayChecked(rows: number) {
  let held: Row[] = [];
  let stored: ListState<Row>;
  return {
    initializeState(c: { readonly operatorState: { getListState<T>(name: string): ListState<T> } }) {
      stored = c.operatorState.getListState<Row>('held');
      held = [...stored.get()];
    },
    snapshotState() {
      stored.update(held);
    },
    processElement(r: Row, _c: unknown, out: Collector<Row>) {
      held.push(r);
      while (held.length > rows) out.collect(held.shift()!);
    },
  };
}

export function delayList(rows: number) {
  let held: Row[] = [];
  return {
    restoreState(list: unknown[]) {
      held = list as Row[];
    },
    snapshotState: () => held,
    processElement(r: Row, _c: unknown, out: Collector<Row>) {
      held.push(r);
      while (held.length > rows) out.collect(held.shift()!);
    },
  };
}

export function witness(uid: string, ctx: FunctionContext) {
  let counted: { add(r: unknown): void };
  let split: ListState<string>;
  let union: ListState<string>;
  let broadcast: MapState<string, number>;
  let newest: string[] = [];
  let parallelism = 0;
  return {
    initializeState(c: InitializeContext) {
      split = c.operatorState.getListState<string>('split');
      union = c.operatorState.getUnionListState<string>('union');
      broadcast = c.operatorState.getBroadcastState<string, number>('broadcast');
      newest = [...split.get()];
      const { index } = c.subtask;
      parallelism = c.subtask.parallelism;
      if (!c.isRestored) return;
      ctx.testify({
        uid,
        build: ctx.build,
        subtask: index,
        parallelism,
        split: [...newest],
        union: [...union.get()],
        broadcast: [...broadcast.entries()],
      });
    },
    open(c: RuntimeContext) {
      counted = c.accumulator(uid, count());
    },
    snapshotState(c: { readonly checkpointId: number }) {
      if (ctx.throwsNow()) throw new Error('user code cannot give its state');
      newest = newest.slice(-5);
      split.update(newest);
      union.update(newest);
      // Written the same on every subtask, as broadcast state must be.
      broadcast.put('checkpoint', c.checkpointId);
      broadcast.put('parallelism', parallelism);
    },
    processElement(r: Row, _c: unknown, out: Collector<Row>) {
      newest.push(r.id);
      counted.add(r);
      out.collect(r);
    },
  };
}
