// The contract between a source connector and the runtime. A source is a set of splits; a split is a sequence of records that is read in
// order and can be re-read from a position when `isRereadable`.
//   S1  `enumerate` gives the same ids in the same order for the same input; the list is kept in the checkpoint, so it is asked once per job.
//   S2  Reading a split from a position gives the records that followed when the position was taken.
//   S3  `poll` never waits: it hands out what has been loaded.
//   S4  Where splits give way to others while the job runs (`evolution`), nothing is put into a child before its parents are closed, and each key
//       belongs to one range of those that are open.

import type { ByteStreams, Clock, FileSystem } from '../core/ports.ts';
import type { Binding } from './binding.ts';
import type { OutputTag } from './functions.ts';
import type { Targets } from './targets.ts';

/** Plain data: it lies in the checkpoint. */
export interface Split {
  readonly id: string;
  /** Of a source that evolves, and is partitioned by a key: the keys that the split holds. */
  readonly range?: SplitRange | undefined;
  readonly [property: string]: unknown;
}

/** The keys of a split, by their placement: a run of 32-bit numbers, both ends included. */
export interface SplitRange {
  readonly from: number;
  readonly to: number;
}

/** How far a split has been read. `index` counts the records handed out; `at` is the source's own measure, plain data. */
export interface SplitPosition {
  readonly index: number;
  readonly at: unknown;
}

/** Where a reader puts what it read. */
export interface SourceOutput<T> {
  values: (T | undefined)[];
  count: number;
  /** A malformed record under `onError: OutputTag`. */
  side<X>(tag: OutputTag<X>, value: X): void;
}

export interface SplitReader<T> {
  /** Adds at most `max` loaded records at `out.values[out.count++]`; returns how many. 0 means: nothing loaded now, or the end. */
  poll(out: SourceOutput<T>, max: number): number;
  /** A promise while `poll` has nothing to give, `undefined` when it has or the split has ended. Rejects on a read failure. */
  ready(): Promise<void> | undefined;
  /** All records have been handed out. */
  readonly hasEnded: boolean;
  /** After the last record handed out. */
  position(): SplitPosition;
  close(): void | Promise<void>;
}

export interface SourceContext {
  readonly job: string;
  readonly uid: string;
  readonly files: FileSystem;
  readonly clock: Clock;
  /** Sockets and standard input; absent where the runtime has none. */
  readonly streams?: ByteStreams | undefined;
  /** What names are bound to; absent where nothing is. */
  readonly targets?: Targets | undefined;
  /** A record left out under `onError: 'skip'`. */
  countSkipped(): void;
}

/** Splits that are closed, and those that go on in their place: one becomes several, or several become one. */
export interface SplitChange {
  /** Ids. */
  readonly parents: readonly string[];
  readonly children: readonly Split[];
}

/**
 * A source whose splits give way to others while the job runs, as the shards of a stream do. Runtimes that keep splits apart let the keyed state of
 * parents go over to their children; the others read what `enumerate` gives.
 */
export interface SplitEvolution {
  /**
   * Every change that is known, each parent in one of them; in any order, again and again. Splits whose parents nobody reads any more need not be
   * told. A split that `endOf` says is closed for others has its change told by then.
   */
  changes(ctx: SourceContext): Promise<readonly SplitChange[]>;
  /** Position behind the last record of a closed split; `undefined` while records may still come. */
  endOf(split: Split, ctx: SourceContext): Promise<SplitPosition | undefined>;
  /** In the place of `endOf`, where nobody counts: the split is closed for others, and nothing lies behind the position. */
  isOver?(split: Split, position: SplitPosition | undefined, ctx: SourceContext): Promise<boolean>;
  /**
   * Where a key lies among the ranges of splits: a 32-bit number. Default: murmur3 of the key.
   * @param key  encoded, a binary string
   */
  placement?(key: string): number;
}

/**
 * How a queue delivers. Its messages have no position that could be asked for: they come when the queue pleases, some of them again, and are gone
 * when the answer says so. What was answered for cannot be read again, so runtimes that go back to a checkpoint keep the messages themselves.
 */
export interface QueueDelivery<T> {
  /** `fifo`: the messages of a group come in order, each with a sequence number. `standard`: every message is on its own, known by its id. */
  readonly order: 'fifo' | 'standard';
  /** Subtasks that the messages are spread over, by group or by id; the parallelism of the source. Fixed for the life of the job. */
  readonly lanes: number;
  /** After this the queue drops a message, ms. What was taken is remembered for as long. */
  readonly retentionMs: number;
  /**
   * Makes records of a message's body. What it throws is the message's fault.
   * @param body  plain data, as it was delivered
   */
  read(body: unknown, out: SourceOutput<T>): void;
}

declare const element: unique symbol;
/** Made by `files`, `socket` … and given to `env.fromSource`. */
export interface Source<T> {
  readonly [element]?: T;
  /** For messages and plans, such as `files`. */
  readonly kind: string;
  readonly isRereadable: boolean;
  readonly isBounded: boolean;
  /** Hand out what there is at once instead of waiting for a full batch (sockets, stdin). */
  readonly isEager: boolean;
  /** Finds wrong or missing input before the job starts; rejects with a `SluiceError`. */
  enumerate(ctx: SourceContext): Promise<readonly Split[]>;
  open(split: Split, from: SplitPosition | undefined, ctx: SourceContext): SplitReader<T>;
  /**
   * Orders the `at` of two positions of one split, as `Array.sort` wants it. For sources whose events name the place of each record and do not count
   * them, such as the shards of a stream.
   */
  readonly comparePlaces?: ((a: unknown, b: unknown) => number) | undefined;
  /**
   * Makes records of what an event hands over as one.
   * @param data  as the service keeps it; `undefined`: a record that is a key alone, which in a topic says that the key is gone
   */
  readRecord?(data: Uint8Array | undefined, out: SourceOutput<T>, key?: Uint8Array): void;
  /** Splits give way to others while the job runs. `enumerate` then gives those that come first. */
  readonly evolution?: SplitEvolution | undefined;
  /**
   * Splits are only ever added, each with a number that it keeps, as the partitions of a topic are. `enumerate` gives those that there are, in order of
   * their numbers; one that comes later begins with the first event that has records of it. Not together with `evolution`.
   */
  readonly splitOf?: ((ordinal: number) => Split) | undefined;
  /** A queue: its messages are only ever delivered. `enumerate` then gives one split for each lane, and `open` is not called. */
  readonly queue?: QueueDelivery<T> | undefined;
  /** It reads what this name is bound to when the job runs. */
  readonly binding?: Binding | undefined;
  /** Of a source with a `binding`: the same records from a file. @param path  a file */
  fromFile?(path: string): Source<T>;
}
