// The contract between a source connector and the runtime. A source is a set of splits; a split is a sequence of records that is read in
// order and can be re-read from a position when `isRereadable`.
//   S1  `enumerate` gives the same ids in the same order for the same input; the list is kept in the checkpoint, so it is asked once per job.
//   S2  Reading a split from a position gives the records that followed when the position was taken.
//   S3  `poll` never waits: it hands out what has been loaded.

import type { ByteStreams, Clock, FileSystem } from '../core/ports.ts';
import type { OutputTag } from './functions.ts';

/** Plain data: it lies in the checkpoint. */
export interface Split {
  readonly id: string;
  readonly [property: string]: unknown;
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
  /** A record left out under `onError: 'skip'`. */
  countSkipped(): void;
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
}
