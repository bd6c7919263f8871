// two-phase-commit-writer.ts is the life of transactions in one subtask. The sink object knows the target; this file knows when.
//   T1  At most one transaction is open. It begins with the first row after a barrier, so an empty one never exists, and it is noted before
//       that row reaches it.
//   T2  A transaction goes open → closed (a barrier passed) → pending (`preCommit` succeeded) → confirmed (`commit` succeeded), and each list is
//       in order. A failed step leaves it where it is.
//   T3  One step of `commit` runs at a time: a retry waits for the call that it repeats.

import type { Prepared, SinkWriter, SinkWriterContext, TransactionId } from '../../api/sink.ts';
import type { RecordBatch } from '../../core/batch.ts';
import type { TwoPhaseCommitSink } from './two-phase-commit.ts';

/** Rows after which `flush` is asked for: eight full batches. */
export const flushRows = 8_192;

/** A transaction as a checkpoint keeps it. */
export interface TwoPhaseTransaction<Txn> {
  /** Unique in the sink: generation, subtask and checkpoint of its id. */
  readonly name: string;
  readonly txn: Txn;
}

interface PendingTransaction<Txn> {
  readonly checkpoint: number;
  readonly transaction: TwoPhaseTransaction<Txn>;
}

export class TwoPhaseCommitWriter<I, Txn> implements SinkWriter {
  readonly #sink: TwoPhaseCommitSink<I, Txn>;
  readonly #ctx: SinkWriterContext;
  #checkpoint: number;
  #current: TwoPhaseTransaction<Txn> | undefined;
  #rowsSinceFlush = 0;
  #closed: TwoPhaseTransaction<Txn>[] = [];
  #pending: PendingTransaction<Txn>[] = [];
  #committing: Promise<void> = Promise.resolve();
  #isOpen = false;

  constructor(sink: TwoPhaseCommitSink<I, Txn>, ctx: SinkWriterContext) {
    this.#sink = sink;
    this.#ctx = ctx;
    this.#checkpoint = ctx.restoredCheckpoint;
  }

  async open(): Promise<void> {
    this.#isOpen = true;
    await this.#sink.open?.(this.#ctx);
  }

  write(rows: RecordBatch): void | Promise<void> {
    if (rows.count === 0) return undefined;
    if (this.#current !== undefined) return this.#invoke(this.#current.txn, rows);
    const { job, uid, generation, subtask } = this.#ctx;
    const id: TransactionId = { job, uid, generation, subtask, checkpoint: this.#checkpoint };
    return this.#begin(id, rows);
  }

  /** The target may keep what was begun for ever, so it is noted before the first row: a restore aborts it. */
  async #begin(id: TransactionId, rows: RecordBatch): Promise<void> {
    const txn = await this.#sink.beginTransaction(id);
    const begun = { name: `${id.generation}/${id.subtask}/${id.checkpoint}`, txn };
    await this.#ctx.note(id.checkpoint, begun);
    this.#current = begun;
    this.#rowsSinceFlush = 0;
    await this.#invoke(txn, rows);
  }

  #invoke(txn: Txn, rows: RecordBatch): void | Promise<void> {
    const sink = this.#sink;
    const values = rows.values as I[];
    for (let i = 0; i < rows.count; i++) sink.invoke(txn, values[i]!);
    this.#rowsSinceFlush += rows.count;
    if (this.#rowsSinceFlush < flushRows || sink.flush === undefined) return undefined;
    this.#rowsSinceFlush = 0;
    return sink.flush(txn);
  }

  announce(): readonly unknown[] {
    const pending = this.#pending.map((p) => p.transaction);
    return this.#current === undefined ? [...pending, ...this.#closed] : [...pending, ...this.#closed, this.#current];
  }

  async prepare(checkpoint: number): Promise<Prepared> {
    this.#checkpoint = checkpoint;
    if (this.#current !== undefined) {
      this.#closed.push(this.#current);
      this.#current = undefined;
    }
    while (this.#closed.length > 0) {
      const transaction = this.#closed[0]!;
      await this.#sink.preCommit(transaction.txn);
      this.#closed.shift();
      this.#pending.push({ checkpoint, transaction });
    }
    return { state: undefined, transactions: this.#pending.map((p) => p.transaction) };
  }

  commit(checkpoint: number): Promise<void> {
    const done = this.#committing.then(() => this.#commitDue(checkpoint));
    this.#committing = done.catch(() => undefined);
    return done;
  }

  async #commitDue(checkpoint: number): Promise<void> {
    for (let next = this.#pending[0]; next !== undefined && next.checkpoint <= checkpoint; next = this.#pending[0]) {
      await this.#sink.commit(next.transaction.txn);
      this.#pending.shift();
    }
  }

  /** What was promised stays with the target: the next attempt settles it. */
  async discard(): Promise<void> {
    const open = this.#current === undefined ? this.#closed : [...this.#closed, this.#current];
    this.#closed = [];
    this.#current = undefined;
    try {
      for (const { txn } of open) await this.#sink.abort(txn);
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#sink.close?.();
  }
}
