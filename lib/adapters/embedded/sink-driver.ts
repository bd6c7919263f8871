// One sink writer of one subtask: rows go to it after each batch; prepare and commit take turns, so a writer sees them one at a time, and
// `discard` only when nothing is under way.
//   D1  Rows reach the writer one batch after the other: while it needs time for one, the next waits.
//   D2  After a `prepare` that failed nothing is prepared any more: the writer may have lost rows, and a later checkpoint, perhaps already
//       under way, must not complete without them.

import type { Prepared, SinkWriter } from '../../api/sink.ts';
import type { OperatorSnapshot } from '../../checkpoint/snapshot.ts';
import type { RecordBatch } from '../../core/batch.ts';
import { isSluiceError, SluiceError } from '../../core/errors.ts';
import { encodeValue } from '../../core/value-codec.ts';

export type PrepareOutcome =
  | { readonly kind: 'prepared'; readonly promise: NonNullable<OperatorSnapshot['sink']> }
  | { readonly kind: 'not-noted'; readonly error: unknown };

export class SinkDriver {
  readonly uid: string;
  readonly writer: SinkWriter;
  rowsWritten = 0;
  #last: Promise<unknown> = Promise.resolve();
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(uid: string, writer: SinkWriter) {
    this.uid = uid;
    this.writer = writer;
  }

  /** A promise when the writer needs time before more rows; rows that come meanwhile (several batches of one step) wait for it. */
  write(rows: RecordBatch): void | Promise<void> {
    this.rowsWritten += rows.count;
    const writing = this.#writing === undefined ? this.#write(rows) : this.#writing.then(() => this.#write(rows));
    if (writing === undefined) return undefined;
    this.#writing = writing;
    const isOver = (): void => {
      if (this.#writing === writing) this.#writing = undefined;
    };
    this.#last = Promise.allSettled([this.#last, writing.then(isOver, isOver)]);
    return writing;
  }

  #write(rows: RecordBatch): void | Promise<void> {
    try {
      return this.writer.write(rows)?.catch((error: unknown) => {
        throw sinkFailed(this.uid, 'write', error);
      });
    } catch (error) {
      throw sinkFailed(this.uid, 'write', error);
    }
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
    } catch (cause) {
      const error = sinkFailed(this.uid, 'prepare', cause);
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

/** What a sink throws is told with its uid; a sink that tells more itself is left alone. */
export function sinkFailed(uid: string, method: string, cause: unknown): unknown {
  if (isSluiceError(cause)) return cause;
  const message = `${method} of sink ${uid} failed: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new SluiceError('USER_FUNCTION_FAILED', { message, next: 'try-again', cause, operator: uid });
}
