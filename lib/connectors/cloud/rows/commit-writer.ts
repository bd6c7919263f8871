// commit-writer.ts is the life of row transactions where a writer lives from one barrier to the next.
//   W1  Rows are kept until their barrier, and lie in the checkpoint until their commit has succeeded.
//   W2  One step of `commit` runs at a time, and transactions are committed in order: a retry waits for the call that it repeats.

import type { Prepared, SinkWriter, SinkWriterContext, TransactionId } from '../../../api/sink.ts';
import type { RecordBatch } from '../../../core/batch.ts';

/** Plain data. */
export interface KeptTransaction {
  readonly id: TransactionId;
  /** When the run of the job began, ms. */
  readonly run: number;
  readonly rows: readonly unknown[];
}

/** What is done at the table. */
export interface RowCommitter {
  prepare(t: KeptTransaction): Promise<void>;
  commit(t: KeptTransaction): Promise<void>;
}

interface Pending {
  readonly checkpoint: number;
  readonly transaction: KeptTransaction;
  isPrepared: boolean;
}

export class RowCommitWriter implements SinkWriter {
  readonly #ctx: SinkWriterContext;
  readonly #committer: RowCommitter;
  readonly #run: number;
  #opened: number;
  #rows: unknown[] = [];
  #pending: Pending[] = [];
  #committing: Promise<void> = Promise.resolve();

  constructor(ctx: SinkWriterContext, committer: RowCommitter) {
    this.#ctx = ctx;
    this.#committer = committer;
    this.#opened = ctx.restoredCheckpoint;
    const runs = ctx.restoredStates.filter((state) => typeof state === 'number');
    this.#run = runs.length === 0 ? ctx.clock.now() : Math.max(...runs);
  }

  open(): void {}

  write({ values, count }: RecordBatch): void {
    for (let i = 0; i < count; i++) this.#rows.push(values[i]);
  }

  /** With their rows: whoever aborts one takes away what it has staged. */
  announce(): readonly unknown[] {
    const waiting = this.#pending.map(({ transaction }) => transaction);
    return this.#rows.length === 0 ? waiting : [...waiting, this.#current()];
  }

  #current(): KeptTransaction {
    const { job, uid, generation, subtask } = this.#ctx;
    return { id: { job, uid, generation, subtask, checkpoint: this.#opened }, run: this.#run, rows: this.#rows };
  }

  async prepare(checkpoint: number): Promise<Prepared> {
    if (this.#rows.length > 0) {
      this.#pending.push({ checkpoint, transaction: this.#current(), isPrepared: false });
      this.#rows = [];
    }
    this.#opened = checkpoint;
    for (const pending of this.#pending) {
      if (pending.isPrepared) continue;
      await this.#committer.prepare(pending.transaction);
      pending.isPrepared = true;
    }
    return { state: this.#run, transactions: this.#pending.map(({ transaction }) => transaction) };
  }

  commit(checkpoint: number): Promise<void> {
    const done = this.#committing.then(() => this.#commitDue(checkpoint));
    this.#committing = done.catch(() => undefined);
    return done;
  }

  async #commitDue(checkpoint: number): Promise<void> {
    for (let next = this.#pending[0]; next !== undefined && next.checkpoint <= checkpoint; next = this.#pending[0]) {
      await this.#committer.commit(next.transaction);
      this.#pending.shift();
    }
  }

  /** What was prepared stays: the next attempt settles it. */
  discard(): void {
    this.#rows = [];
  }

  close(): void {}
}
