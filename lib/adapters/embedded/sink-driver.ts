// One sink writer of one subtask: rows go to it after each batch; prepare and commit take turns, so a writer sees them one at a time, and
// `discard` only when nothing is under way.
//   D1  After a `prepare` that failed nothing is prepared any more: the writer may have lost rows, and a later checkpoint, perhaps already
//       under way, must not complete without them.

import type { Prepared, SinkWriter } from '../../api/sink.ts';
import type { OperatorSnapshot } from '../../checkpoint/snapshot.ts';
import type { RecordBatch } from '../../core/batch.ts';
import { encodeValue } from '../../core/value-codec.ts';

export type PrepareOutcome =
  | { readonly kind: 'prepared'; readonly promise: NonNullable<OperatorSnapshot['sink']> }
  | { readonly kind: 'not-noted'; readonly error: unknown };

export class SinkDriver {
  readonly uid: string;
  readonly writer: SinkWriter;
  rowsWritten = 0;
  #last: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(uid: string, writer: SinkWriter) {
    this.uid = uid;
    this.writer = writer;
  }

  /** A promise when the writer needs time before more rows. */
  write(rows: RecordBatch): void | Promise<void> {
    this.rowsWritten += rows.count;
    const writing = this.writer.write(rows);
    if (writing !== undefined) this.#last = Promise.allSettled([this.#last, writing]);
    return writing;
  }

  /**
   * @param announce  makes the open transactions durable before they are prepared; when it rejects nothing is prepared, and the open
   *   transactions go on into the next checkpoint
   */
  prepare(checkpoint: number, announce: (transactions: readonly Uint8Array[]) => Promise<void>): Promise<PrepareOutcome> {
    return this.#inTurn(async () => {
      if (this.#failure !== undefined) throw this.#failure.error;
      const open = this.writer.announce(checkpoint);
      try {
        if (open.length > 0) await announce(open.map(encodeValue));
      } catch (error) {
        return { kind: 'not-noted', error };
      }
      const prepared = await this.#prepared(checkpoint);
      return { kind: 'prepared', promise: { state: encodeValue(prepared.state), transactions: prepared.transactions.map(encodeValue) } };
    });
  }

  async #prepared(checkpoint: number): Promise<Prepared> {
    try {
      return await this.writer.prepare(checkpoint);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  commit(checkpoint: number): Promise<void> {
    return this.#inTurn(async () => this.writer.commit(checkpoint));
  }

  /** Waits for what is under way: a transaction that is prepared after it was aborted would stay with the target for ever. */
  discard(): Promise<void> {
    return this.#inTurn(async () => this.writer.discard());
  }

  #inTurn<R>(f: () => Promise<R>): Promise<R> {
    const next = this.#last.then(f, f);
    this.#last = next.catch(() => {});
    return next;
  }
}
