// The contract between a sink connector and the runtime. Rows reach a writer in batches, in order; the promise is made at the barrier and
// kept when the checkpoint completes.
//   K1  Rows of a writer between two barriers are one promise. `prepare` makes it durable and names it in plain data; nothing is visible yet.
//   K2  `commit(n)` makes everything prepared at or before checkpoint n visible, in order. Twice is harmless. A rejection is retried and never forgotten.
//   K3  What an aborted checkpoint prepared stays prepared, and is listed again by the next `prepare`, before the newer rows.
//   K4  `recover` runs once per sink and attempt, before any writer opens, and gets what the restored checkpoint lists, whatever the parallelism
//       that prepared it. It commits exactly that and aborts every other transaction of this sink that is open.

import type { RecordBatch } from '../core/batch.ts';
import type { Clock, FileSystem } from '../core/ports.ts';
import type { Binding } from './binding.ts';
import type { RowTag } from './row-tag.ts';
import type { Targets } from './targets.ts';

export interface SinkContext {
  readonly job: string;
  readonly uid: string;
  /** Raised by every attempt (start, restart, restore) of the job. */
  readonly generation: number;
  /** When the attempt began, ms since the epoch: attempts of jobs that know nothing of each other have an order by it. Absent where `RowTag` has it. */
  readonly begunMs?: number | undefined;
  readonly files: FileSystem;
  readonly clock: Clock;
  /** What names are bound to; absent where nothing is. */
  readonly targets?: Targets | undefined;
  /** One line for the user (progress output of the run). */
  report(line: string): void;
  /** One line of output, for `print`. */
  print(line: string): void;
}

export interface SinkWriterContext extends SinkContext {
  readonly subtask: number;
  readonly parallelism: number;
  /** The checkpoint that the attempt restored, else 0. */
  readonly restoredCheckpoint: number;
  /**
   * Makes a transaction that has just begun known to a restore, which aborts it (`SinkRecovery.abandoned`) even when no barrier came.
   * Resolves when that is durable; a note that could not be stored is reported, and the transaction goes on without.
   * @param after        the last checkpoint whose barrier the writer has passed
   * @param transaction  plain data
   */
  note(after: number, transaction: unknown): Promise<void>;
  /** What `prepare` gave as `state` in the restored checkpoint, of all old subtasks, in subtask order. */
  readonly restoredStates: readonly unknown[];
}

export interface SinkRecovery extends SinkContext {
  /** Transactions of the restored checkpoint, in (subtask, order of preparing). Empty when nothing is restored. */
  readonly promised: readonly unknown[];
  /** Transactions that were noted when they began, or before they were prepared, beyond the restored checkpoint. */
  readonly abandoned: readonly unknown[];
}

export interface Prepared {
  /** Plain data, restored to every writer. */
  readonly state: unknown;
  /** Every promise not yet confirmed as committed, oldest first; plain data. */
  readonly transactions: readonly unknown[];
}

export interface SinkWriter {
  open(): void | Promise<void>;
  /** Called after each batch; the arrays are the writer's only until it returns (or its promise resolves). */
  write(rows: RecordBatch): void | Promise<void>;
  /** The open transactions as plain data, just before `prepare`: kept durable so that a restore can abort them. */
  announce(checkpoint: number): readonly unknown[];
  prepare(checkpoint: number): Prepared | Promise<Prepared>;
  commit(checkpoint: number): void | Promise<void>;
  /** The attempt ended without success: give up what is open (not what is prepared) and free resources. */
  discard(): void | Promise<void>;
  close(): void | Promise<void>;
}

/** The name of a transaction, unique over restarts, restores and rescales of a job, and over runs that go on from a checkpoint of it elsewhere. */
export interface TransactionId {
  readonly job: string;
  readonly uid: string;
  /** Raised by every attempt; by a large number drawn at random where its checkpoint comes from another directory. */
  readonly generation: number;
  readonly subtask: number;
  /** The last barrier that the subtask had passed when the transaction began; 0 before the first. */
  readonly checkpoint: number;
}

/** The rows of one subtask between two barriers, kept by the runtime until they are settled. */
export interface DetachedTransaction<T> {
  readonly id: TransactionId;
  /** The barrier that ended them. */
  readonly checkpoint: number;
  /** When that barrier passed, ms. */
  readonly timestamp: number;
  readonly rows: readonly T[];
}

/**
 * How a sink is used where nothing lives between one unit and the next: every call may happen in another process, again, or at the same time as
 * the same call elsewhere. A call that was left behind may go on much later, so a target keeps the name of what was committed or aborted, and a
 * name that is decided is not begun again.
 */
export type DetachedSink<T> =
  /** Rows are written when the entry that made them is committed, again after a crash. */
  | { readonly kind: 'immediate'; write(ctx: ImmediateContext, rows: RecordBatch): void | Promise<void> }
  | {
      readonly kind: 'transactional';
      /**
       * Optional: looks at the target once in the run of a job, before the first transaction of the sink; restarts and restores do not repeat it.
       * @returns plain data that every `prepare` gets
       */
      start?(ctx: DetachedContext): unknown;
      /**
       * Makes the rows ready to commit.
       * @param started  what `start` gave
       * @returns plain data that `commit` and `abort` get; of two calls the data of one is kept, and nobody is told to abort the other
       */
      prepare(ctx: DetachedContext, t: DetachedTransaction<T>, started: unknown): unknown;
      /**
       * Makes the rows visible; twice is harmless. An error with the code `SINK_TRANSACTION_FORGOTTEN` has the rows prepared and committed anew.
       */
      commit(ctx: DetachedContext, t: DetachedTransaction<T>, prepared: unknown): void | Promise<void>;
      /**
       * The rows never become visible; nothing happens to a transaction that is committed.
       * @param prepared  `undefined` when it is not known whether anybody prepared it
       */
      abort(ctx: DetachedContext, t: DetachedTransaction<T>, prepared: unknown): void | Promise<void>;
    };

export interface DetachedContext extends SinkContext {
  readonly subtask: number;
  readonly parallelism: number;
}

export interface ImmediateContext extends DetachedContext {
  /** Of the entry that made the rows. */
  readonly tag: RowTag;
}

/** Made by `fileSink`, `print` … or by extending `TwoPhaseCommitSink`; given to `stream.sinkTo`. */
export interface Sink<T> {
  /** For the type of the rows only; nobody sets it. */
  readonly _rows?: (value: T) => void;
  /** For messages and plans, such as `fileSink`. */
  readonly kind: string;
  /** It keeps nothing in checkpoints, so that it needs no uid: `print`. */
  readonly isStateless?: boolean;
  /** What it writes to, where two sinks of a job would be in each other's way. */
  readonly target?: string;
  /** It writes to what this name is bound to when the job runs. */
  readonly binding?: Binding | undefined;
  /** Of a sink with a `binding`: the same rows to a directory. @param path  where its files appear */
  toFiles?(path: string): Sink<T>;
  /** Rows of one such key have to come from one subtask: they are exchanged by it, whatever they are keyed by. */
  readonly keyedBy?: ((row: T) => unknown) | undefined;
  /**
   * Optional, pure: throws for a row that the target can never take. Called for each row when the job makes it, so that the record that made it fails, and
   * not a checkpoint that has promised it.
   */
  check?(row: T): void;
  /**
   * Its rows come with `origins`: a text for each that says what caused it. It is the same after a replay, a restore or at another
   * parallelism, and no two rows of a run share one.
   */
  readonly needsRowIdentity?: boolean;
  /** How it works where no writer lives between a unit and the next; a sink without it cannot be used by the invocation runtime. */
  readonly detached?: DetachedSink<T>;
  /** Finds an unwritable target before the job starts, then settles what an earlier attempt left behind (K4). */
  recover(ctx: SinkRecovery): void | Promise<void>;
  createWriter(ctx: SinkWriterContext): SinkWriter;
  /** Called once when the job has finished and every writer has committed and closed: tidies what only a running job needs. */
  finish?(ctx: SinkContext): void | Promise<void>;
}
