// The stream algebra as users see it. Types only; stream-builder.ts implements them by adding nodes and edges to a description.
//   A1  A call describes and runs nothing. `uid`, `name` and the parallelisms say something about the operator made last.
//   A2  The output type of `process` is that of the annotated collector (`out: Collector<Alert>`); without an annotation nothing can be
//       collected, so forgetting it does not compile.

import type { ComparableField, Key, NumericField } from './data-types.ts';
import type {
  AggregateFunction,
  AnyKeyedProcessFunction,
  AnyProcessFunction,
  BroadcastProcessFunction,
  CoProcessFunction,
  OneOrFactory,
  OutputTag,
} from './functions.ts';
import type { Sink } from './sink.ts';
import type { StateShape } from './state.ts';
import type { WatermarkStrategy } from './watermark.ts';
import type { WindowAssigner, WindowedStream } from './window.ts';

/** Options of `sinkTo`. */
export interface SinkOptions {
  /** How the sink is found again after the job has changed; needed by every sink that keeps something in checkpoints. */
  uid: string;
  /** Shown in plans and metrics. */
  name?: string;
  /** Number of writers; that of the job by default. */
  parallelism?: number;
}

/** What keyed and other streams share. */
export interface StreamOperations<T> {
  map<R>(f: (value: T) => R): DataStream<R>;
  flatMap<R>(f: (value: T) => Iterable<R>): DataStream<R>;
  filter<R extends T>(f: (value: T) => value is R): DataStream<R>;
  filter(f: (value: T) => boolean): DataStream<T>;
  /**
   * Cuts the stream by key: records with equal keys go to one subtask, in order. The key is encoded once, when the record is routed.
   * @param selector  gives a string, number, bigint, boolean, `Uint8Array`, or a tuple or plain object of these
   */
  keyBy<K>(selector: (value: T) => K & Key<K>): KeyedStream<T, K>;
  /**
   * Reads event time from the records here; watermarks from before this place are replaced.
   * @throws SluiceError `FUNCTION_INVALID`, `FEATURE_NOT_AVAILABLE` for a strategy `withIdleness`, which is a source's
   */
  assignTimestampsAndWatermarks(strategy: WatermarkStrategy<T>): DataStream<T>;
  /** All records of all streams. Order holds within each, not between them. */
  union(...others: readonly StreamOperations<T>[]): DataStream<T>;
  /** Round robin over all subtasks. */
  rebalance(): DataStream<T>;
  /** Round robin over a part of the subtasks, so that with few senders each has its own receivers. */
  rescale(): DataStream<T>;
  /** Evenly, each record to a receiver drawn at random; a replay draws again. */
  shuffle(): DataStream<T>;
  /** Every record to every subtask. */
  broadcast(): DataStream<T>;
  /** Every record to every subtask of a keyed stream's `connect`, where it may change the broadcast states. */
  broadcast<const BS extends StateShape>(states: BS): BroadcastStream<T, BS>;
  /** To the subtask with the same index; both sides need one parallelism. */
  forward(): DataStream<T>;
  /** Everything to subtask 0. */
  global(): DataStream<T>;
  /** @param partition  gives the subtask, from 0 to `parallelism - 1` */
  partitionCustom<K>(partition: (key: K, parallelism: number) => number, selector: (value: T) => K): DataStream<T>;
  /**
   * Ends the stream in a sink.
   * @throws SluiceError `FUNCTION_NEEDS_FACTORY` for one instance of a sink class with fields, `NAME_INVALID`
   */
  sinkTo(sink: OneOrFactory<Sink<T>>, o?: SinkOptions): void;
}

/** A stream of records of type `T`. */
export interface DataStream<T> extends StreamOperations<T> {
  /** The name under which the operator's state is found again. @throws SluiceError `NAME_INVALID` */
  uid(uid: string): this;
  /** Shown in plans and metrics. */
  name(name: string): this;
  /** Number of subtasks, from 1 to the maximum parallelism. @throws SluiceError `OPTION_INVALID` */
  setParallelism(n: number): this;
  /** Number of key groups of the operator's keyed state; fixed by its first checkpoint. @throws SluiceError `OPTION_INVALID` */
  setMaxParallelism(n: number): this;
  /**
   * @param f  a function without fields, or a factory that makes one for each subtask and attempt
   * @throws SluiceError `FUNCTION_NEEDS_FACTORY`, `FUNCTION_INVALID`
   */
  process<O = never>(f: OneOrFactory<AnyProcessFunction<T, O>>): DataStream<O>;
  /** The records that the operator emitted to the tag. */
  getSideOutput<X>(tag: OutputTag<X>): DataStream<X>;
}

/** A stream cut by key. */
export interface KeyedStream<T, K> extends StreamOperations<T> {
  /**
   * @param f  a function without fields, or a factory that makes one for each subtask and attempt
   * @throws SluiceError `FUNCTION_NEEDS_FACTORY`, `FUNCTION_INVALID`, `FEATURE_NOT_AVAILABLE` for a state with time-to-live
   */
  process<O = never, const S extends StateShape = {}>(f: OneOrFactory<AnyKeyedProcessFunction<T, O, S, K>>): DataStream<O>;
  /** Two streams with one type of key, for a function with state that both share. */
  connect<B>(other: KeyedStream<B, K>): ConnectedStreams<T, B, K>;
  /** A keyed stream and a broadcast one. */
  connect<B, BS extends StateShape>(other: BroadcastStream<B, BS>): BroadcastConnectedStream<T, B, BS, K>;
  window<W>(assigner: WindowAssigner<W>): WindowedStream<T, K, W>;
  /** After each record, the key's records reduced so far. @param reduce  changes neither argument */
  reduce(reduce: (a: T, b: T) => T): DataStream<T>;
  /** After each record, the result over the key's records so far. */
  aggregate<Acc, R>(aggregate: AggregateFunction<T, Acc, R>): DataStream<R>;
  /** After each record, the key's first record with `field` replaced by the sum so far. */
  sum(field: NumericField<T>): DataStream<T>;
  /** After each record, the key's first record with `field` replaced by the least so far. */
  min(field: ComparableField<T>): DataStream<T>;
  /** After each record, the key's first record with `field` replaced by the greatest so far. */
  max(field: ComparableField<T>): DataStream<T>;
  /** After each record, the key's record with the least `field`; of equal ones the first, or the last when `first` is false. */
  minBy(field: ComparableField<T>, first?: boolean): DataStream<T>;
  /** After each record, the key's record with the greatest `field`; of equal ones the first, or the last when `first` is false. */
  maxBy(field: ComparableField<T>, first?: boolean): DataStream<T>;
}

declare const broadcast: unique symbol;
/** A stream that every subtask of a connected keyed stream gets whole. */
export interface BroadcastStream<T, BS> {
  readonly [broadcast]: readonly [T, BS];
}

export interface ConnectedStreams<A, B, K> {
  /** @throws SluiceError as `KeyedStream.process` */
  process<O = never, const S extends StateShape = {}>(f: OneOrFactory<CoProcessFunction<A, B, O, S, K>>): DataStream<O>;
}

export interface BroadcastConnectedStream<A, B, BS, K> {
  /** @throws SluiceError as `KeyedStream.process` */
  process<O = never, const S extends StateShape = {}>(f: OneOrFactory<BroadcastProcessFunction<A, B, O, BS, S, K>>): DataStream<O>;
}
