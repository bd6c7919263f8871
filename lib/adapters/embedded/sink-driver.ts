// One sink writer of one subtask: rows go to it after each batch; prepare and commit take turns, so a writer sees them one at a time.

import type { Prepared, SinkWriter } from '../../api/sink.ts';
import type { OperatorSnapshot } from '../../checkpoint/snapshot.ts';
import type { RecordBatch } from '../../core/batch.ts';
import { encodeValue } from '../../core/value-codec.ts';

export class SinkDriver {
  readonly uid: string;
  readonly writer: SinkWriter;
  rowsWritten = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(uid: string, writer: SinkWriter) {
    this.uid = uid;
    this.writer = writer;
  }

  /** A promise when the writer needs time before more rows. */
  write(rows: RecordBatch): void | Promise<void> {
    this.rowsWritten += rows.count;
    return this.writer.write(rows);
  }

  /** @param announce  makes the open transactions durable before they are prepared */
  prepare(checkpoint: number, announce: (transactions: readonly Uint8Array[]) => Promise<void>): Promise<NonNullable<OperatorSnapshot['sink']>> {
    return this.#inTurn(async () => {
      const open = this.writer.announce(checkpoint);
      if (open.length > 0) await announce(open.map(encodeValue));
      const prepared: Prepared = await this.writer.prepare(checkpoint);
      return { state: encodeValue(prepared.state), transactions: prepared.transactions.map(encodeValue) };
    });
  }

  commit(checkpoint: number): Promise<void> {
    return this.#inTurn(async () => this.writer.commit(checkpoint));
  }

  #inTurn<R>(f: () => Promise<R>): Promise<R> {
    const next = this.#last.then(f, f);
    this.#last = next.catch(() => {});
    return next;
  }
}
