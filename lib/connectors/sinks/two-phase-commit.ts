import type { DetachedSink, Sink, SinkContext, SinkRecovery, SinkWriter, SinkWriterContext, TransactionId } from '../../api/sink.ts';
import { createDetachedTwoPhaseCommit } from './two-phase-commit-detached.ts';
import { TwoPhaseCommitWriter, type TwoPhaseTransaction } from './two-phase-commit-writer.ts';

/**
 * Extend it to write to a target exactly once. Rows between two barriers are one transaction: `beginTransaction` with the first row, `invoke`
 * for each row, `preCommit` when the barrier has passed (after it the target must be able to commit, whatever crashes), `commit` when the
 * checkpoint has completed.
 *
 * `Txn` is plain data, as a state value: it lies in the checkpoint from `preCommit` until its commit has succeeded.
 *
 * - `commit` may come more than once, also in a new process: twice is harmless. A throw is tried again, and later transactions wait for it.
 * - `preCommit` that throws fails the attempt, since rows may be lost: open transactions are aborted, and the restart strategy decides.
 * - The output of an aborted checkpoint is committed with the next, before the newer rows.
 * - After a restore `recoverAndCommit` gets what the checkpoint lists and `recoverAndAbort` what was begun beyond it, on an object that
 *   has been opened for this purpose and may have written nothing itself. When an older checkpoint is restored, `recoverAndAbort` may get a
 *   transaction that a newer one had committed: then there is nothing to do, since what was made visible stays visible.
 *
 * The invocation runtime keeps the rows itself and has a transaction written whole when its barrier has passed: `open`, `beginTransaction`,
 * `invoke` for each row, `preCommit` and `close` on one object, later `recoverAndCommit` or `recoverAndAbort` on another. All of it may happen
 * again, with the same id, also at the same time in two processes, or long after the transaction was settled. So there
 *
 * - what `beginTransaction` makes is found by its id: the second call takes the place of the first or goes on with it, and never writes into
 *   what is committed or aborted, whose names the target keeps;
 * - `recoverAndAbort` may get a transaction that has just been begun, to clear what a process that died may have left under its id;
 * - a commit that finds that the target has forgotten what was prepared throws an error with the code `SINK_TRANSACTION_FORGOTTEN`, and the rows
 *   are written and committed again.
 *
 * Give `sinkTo` a factory: `sinkTo(() => new MySink(), { uid })`. All methods but `invoke` may return a promise.
 */
export abstract class TwoPhaseCommitSink<I, Txn> implements Sink<I> {
  /** For the type of the rows only. */
  declare readonly _rows?: (value: I) => void;

  get kind(): string {
    return this.constructor.name;
  }

  abstract beginTransaction(id: TransactionId): Txn | Promise<Txn>;
  /** The hot path: never waits. */
  abstract invoke(txn: Txn, value: I): void;
  /** Optional; awaited between batches when the transaction has taken many rows since it was last called. */
  flush?(txn: Txn): Promise<void>;
  abstract preCommit(txn: Txn): void | Promise<void>;
  abstract commit(txn: Txn): void | Promise<void>;
  abstract abort(txn: Txn): void | Promise<void>;

  recoverAndCommit(txn: Txn): void | Promise<void> {
    return this.commit(txn);
  }

  recoverAndAbort(txn: Txn): void | Promise<void> {
    return this.abort(txn);
  }

  /** Called before anything else, on every object that is used. */
  open?(ctx: SinkContext): void | Promise<void>;
  /** Called last, also after a failure. */
  close?(): void | Promise<void>;

  /** Settles what a restored checkpoint promised and what lies beyond it; called by the runtime. */
  async recover(ctx: SinkRecovery): Promise<void> {
    const promised = ctx.promised as readonly TwoPhaseTransaction<Txn>[];
    const abandoned = ctx.abandoned as readonly TwoPhaseTransaction<Txn>[];
    if (promised.length === 0 && abandoned.length === 0) return;
    const settled = new Set(promised.map((t) => t.name));
    await this.open?.(ctx);
    try {
      for (const { txn } of promised) await this.recoverAndCommit(txn);
      for (const { name, txn } of abandoned) {
        if (settled.has(name)) continue;
        settled.add(name);
        await this.recoverAndAbort(txn);
      }
    } finally {
      await this.close?.();
    }
  }

  /** Used by the runtime. */
  get detached(): DetachedSink<I> {
    return createDetachedTwoPhaseCommit(this);
  }

  /** Called by the runtime. */
  createWriter(ctx: SinkWriterContext): SinkWriter {
    return new TwoPhaseCommitWriter<I, Txn>(this, ctx);
  }
}
