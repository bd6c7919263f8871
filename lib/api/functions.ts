// The functions that users write and the contexts that they are handed. Types only, but for the three things a user makes: output tags,
// and functions that are defined outside their chain.
//   F1  A function runs for one subtask and one attempt at a time; what it remembers outside state is lost with the attempt.
//   F2  It has no side effect outside state, collector, side outputs, timers and accumulators: the runtime may run it again.

import { SluiceError } from '../core/errors.ts';
import type { Handles, ListState, MapState, ReadonlyHandles, StateShape } from './state.ts';

/** Where a function puts what it makes. */
export interface Collector<T> {
  collect(value: T): void;
}

/** Names a side output and the type of its records. Two tags with one id are the same side output. */
export class OutputTag<T> {
  declare private readonly _type: (value: T) => T;
  readonly id: string;

  /** @throws SluiceError `OPTION_INVALID` when the id is empty */
  constructor(id: string) {
    if (typeof id !== 'string' || id === '') {
      throw new SluiceError('OPTION_INVALID', { message: 'OutputTag: id is text that is not empty', next: 'fix-the-job' });
    }
    this.id = id;
  }
}

/**
 * Aggregates values by way of an accumulator. The accumulator is plain data, since it lies in state; `add` and `merge` return the new
 * one and change nothing that they were given.
 */
export interface AggregateFunction<I, Acc, O> {
  createAccumulator(): Acc;
  add(value: I, acc: Acc): Acc;
  getResult(acc: Acc): O;
  merge(a: Acc, b: Acc): Acc;
}

export interface Counter {
  /** Adds `by`, 1 by default. */
  inc(by?: number): void;
}

export interface Histogram {
  update(value: number): void;
}

/** Metrics of one subtask of one operator. A name stands for one metric; asking again gives the same one. */
export interface Metrics {
  counter(name: string): Counter;
  /** `read` is called when the metric is reported. */
  gauge(name: string, read: () => number): void;
  histogram(name: string): Histogram;
}

/** One subtask's part of a result that is merged over all subtasks, kept in checkpoints and reported when the job ends. */
export interface Accumulator<I> {
  add(value: I): void;
}

/** What a function knows of its place. */
export interface RuntimeContext {
  /** `index` from 0 to `parallelism - 1`. */
  readonly subtask: { readonly index: number; readonly parallelism: number };
  readonly metrics: Metrics;
  /** The accumulator of that name, one for the whole job. */
  accumulator<I, Acc, O>(name: string, f: AggregateFunction<I, Acc, O>): Accumulator<I>;
}

/** Handed to functions on a stream without keys. */
export interface Context extends RuntimeContext {
  /** Event time of the record in ms since the epoch; `undefined` where the stream has none. */
  timestamp(): number | undefined;
  /** Event time up to which everything is taken to have arrived, in ms since the epoch. */
  currentWatermark(): number;
  /** Emits to a side output. */
  output<X>(tag: OutputTag<X>, value: X): void;
}

/** Timers of the current key. A time has one timer of each kind; registering again changes nothing. Times are ms since the epoch. */
export interface TimerService {
  currentWatermark(): number;
  currentProcessingTime(): number;
  /** Fires when the watermark reaches `time`. */
  registerEventTimeTimer(time: number): void;
  /** Fires when the clock reaches `time`. */
  registerProcessingTimeTimer(time: number): void;
  deleteEventTimeTimer(time: number): void;
  deleteProcessingTimeTimer(time: number): void;
}

/** Handed to functions on a keyed stream; state and timers are those of the current key. */
export interface KeyedContext<S, K> extends Context {
  readonly state: Handles<S>;
  readonly timerService: TimerService;
  getCurrentKey(): K;
}

/** Handed to `onTimer`. */
export interface OnTimerContext<S, K> extends KeyedContext<S, K> {
  readonly timeDomain: 'event' | 'processing';
}

/** List state of an operator, redistributed when the parallelism changes. A name stands for one state of one form. */
export interface OperatorState {
  /** Even split: on a restore, each subtask gets a part of the list, in order. */
  getListState<T>(name: string): ListState<T>;
  /** Union: on a restore, each subtask gets the whole list. */
  getUnionListState<T>(name: string): ListState<T>;
  /** Broadcast: the same map on every subtask. */
  getBroadcastState<K, V>(name: string): MapState<K, V>;
}

export interface InitializeContext extends RuntimeContext {
  /** True when the subtask starts from a checkpoint. */
  readonly isRestored: boolean;
  readonly operatorState: OperatorState;
}

export interface SnapshotContext {
  readonly checkpointId: number;
  /** When the checkpoint was triggered, ms since the epoch. */
  readonly timestamp: number;
}

interface OpenClose {
  /** Before the first record, after state was restored. */
  open?(ctx: RuntimeContext): void | Promise<void>;
  /** After the last record, and when the attempt failed. */
  close?(): void | Promise<void>;
}

/** A function with operator state of its own: `initializeState` gets the state, `snapshotState` writes to it at each barrier. */
export interface CheckpointedFunction {
  initializeState(ctx: InitializeContext): void;
  snapshotState(ctx: SnapshotContext): void;
}

/** The short form of operator state: a list, split evenly on a restore. */
export interface ListCheckpointed<T> {
  /** Called on a restore only. */
  restoreState(list: T[]): void;
  snapshotState(checkpointId: number, timestamp: number): readonly T[];
}

interface Lifecycle extends OpenClose {
  /** With `snapshotState`: `CheckpointedFunction`. */
  initializeState?(ctx: InitializeContext): void;
  snapshotState?(ctx: SnapshotContext): void;
  restoreState?: never;
}

interface ListLifecycle extends OpenClose, ListCheckpointed<unknown> {
  initializeState?: never;
}

interface ProcessMethods<I, O> {
  /** Only functions on a keyed stream have keyed state. */
  readonly state?: never;
  processElement(value: I, ctx: Context, out: Collector<O>): void;
}

interface KeyedProcessMethods<I, O, S, K> {
  readonly state?: S;
  processElement(value: I, ctx: KeyedContext<S, K>, out: Collector<O>): void;
  onTimer?(at: number, ctx: OnTimerContext<S, K>, out: Collector<O>): void;
}

interface CoProcessMethods<A, B, O, S, K> {
  readonly state?: S;
  processElement1(value: A, ctx: KeyedContext<S, K>, out: Collector<O>): void;
  processElement2(value: B, ctx: KeyedContext<S, K>, out: Collector<O>): void;
  onTimer?(at: number, ctx: OnTimerContext<S, K>, out: Collector<O>): void;
}

interface BroadcastProcessMethods<A, B, O, BS, S, K> {
  readonly state?: S;
  processElement(value: A, ctx: KeyedContext<S, K> & { readonly broadcast: ReadonlyHandles<BS> }, out: Collector<O>): void;
  /** Runs on every subtask in the same order; what it writes must depend on nothing but the element and the broadcast state. */
  processBroadcastElement(value: B, ctx: Context & { readonly broadcast: Handles<BS> }, out: Collector<O>): void;
  onTimer?(at: number, ctx: OnTimerContext<S, K> & { readonly broadcast: ReadonlyHandles<BS> }, out: Collector<O>): void;
}

/** A function on a stream without keys. */
export interface ProcessFunction<I, O> extends ProcessMethods<I, O>, Lifecycle {}

/** A function on a keyed stream, with state and timers for each key. */
export interface KeyedProcessFunction<I, O, S = {}, K = unknown> extends KeyedProcessMethods<I, O, S, K>, Lifecycle {}

/** A function on two streams with the same key, which share state and timers. */
export interface CoProcessFunction<A, B, O, S = {}, K = unknown> extends CoProcessMethods<A, B, O, S, K>, Lifecycle {}

/** A function on a keyed stream and a broadcast one. */
export interface BroadcastProcessFunction<A, B, O, BS, S = {}, K = unknown> extends BroadcastProcessMethods<A, B, O, BS, S, K>, Lifecycle {}

/** A `ProcessFunction` whose operator state is a list, as `ListCheckpointed`. */
export interface ListProcessFunction<I, O> extends ProcessMethods<I, O>, ListLifecycle {}

/** A `KeyedProcessFunction` whose operator state is a list, as `ListCheckpointed`. */
export interface ListKeyedProcessFunction<I, O, S = {}, K = unknown> extends KeyedProcessMethods<I, O, S, K>, ListLifecycle {}

/** What `process` takes on a stream without keys. */
export type AnyProcessFunction<I, O> = ProcessFunction<I, O> | ListProcessFunction<I, O>;

/** What `process` takes on a keyed stream. */
export type AnyKeyedProcessFunction<I, O, S, K> = KeyedProcessFunction<I, O, S, K> | ListKeyedProcessFunction<I, O, S, K>;

/** An instance is for functions without fields; a factory is called once for each subtask and attempt. */
export type OneOrFactory<F> = F | (() => F);

/** Gives a keyed function that is defined outside its chain the same inference as one inside. */
export function keyedProcess<I, O = never, const S extends StateShape = {}>(
  f: KeyedProcessFunction<I, O, S>,
): KeyedProcessFunction<I, O, S> {
  return f;
}
