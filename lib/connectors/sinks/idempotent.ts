// The sink whose target knows a row again by its id. Rows are handed over at once; the promise of a checkpoint is that everything before its barrier
// has been written, so a restore repeats rows under ids that are there already.
//   I1  One call of `write` runs at a time in each subtask, and rows are handed over in order. What arrives meanwhile goes into the next call.
//   I2  Rows that could not be written are never passed over: after the last attempt every later call fails too, so no checkpoint promises them.

import { checkFunction, checkOptions } from '../../api/option-checks.ts';
import { type RowTag, rowTagAt } from '../../api/row-tag.ts';
import type { ImmediateContext, Prepared, Sink, SinkContext, SinkWriter, SinkWriterContext } from '../../api/sink.ts';
import { batchRecordsMax, type RecordBatch } from '../../core/batch.ts';
import { isSluiceError, SluiceError } from '../../core/errors.ts';
import type { Origins } from '../../core/origins.ts';

/** A row and what it is known by. */
export interface IdentifiedRow<T> {
  /**
   * Says what caused the row: the sink's uid, then a record of a source or a timer, and the way from there. The same row has the same id after
   * a restart, a restore or at another parallelism, and no other row of the job has it.
   */
  readonly id: string;
  readonly value: T;
}

export interface IdempotentSinkOptions<T> {
  /**
   * Writes rows, each under its id: a row whose id is there already replaces the old one, or is left out.
   * @param rows  1 to 1,024, in order
   * @param tag  of the first row, `rowTagAt(tag, i)` of the others: for a target that keeps rows under a key of their own and not under `id`. It
   *   refuses a row whose tag is smaller than that of the row's last write (`compareRowTags`).
   */
  write(rows: readonly IdentifiedRow<T>[], tag: RowTag): void | Promise<void>;
  /** Called before the first row of a subtask; needs a factory, `sinkTo(() => idempotentSink({ … }), …)`. */
  open?(ctx: SinkContext): void | Promise<void>;
  /** Called last, also after a failure. */
  close?(): void | Promise<void>;
}

/** How often rows are handed over before the attempt of the job fails. */
const callsMax = 6;
/** Pause before the second call, ms; doubled for each further one, so that all of them together take about three seconds. */
const pauseMs = 100;

/**
 * Writes to a target that takes the same row twice without harm: an upsert by id, a conditional put, an insert that leaves out what is there.
 * Rows are visible at once. After a restart rows since the last checkpoint are written again, under the same ids, so the target ends with each
 * row once; for a moment it may be ahead of the state that the job was restored to.
 *
 * `write` that throws or rejects is called again with the same rows, after 100 ms and then after pauses that double; the sixth failure fails the
 * attempt, and the restart strategy decides what comes next. A checkpoint completes only when everything before it has been written.
 *
 * In the invocation runtime the rows of each committed entry are written by themselves, between an `open` and a `close`.
 *
 * Ids change when the uids or the edges between the source and this sink do, and by what follows the clock. Copies of one record that
 * `broadcast` makes have one id. A source that cannot be read again (a socket) gives its records new ids after a restart.
 *
 * @throws SluiceError at once: `OPTION_INVALID`, `OPTION_UNKNOWN`; while the job runs: `SINK_NOT_WRITTEN` with what `write` gave as its cause
 */
export function idempotentSink<T>(o: IdempotentSinkOptions<T>): Sink<T> {
  checkOptions('idempotentSink()', o, ['write', 'open', 'close']);
  checkFunction('idempotentSink(): write', o.write);
  return {
    kind: 'idempotentSink',
    needsRowIdentity: true,
    recover: () => undefined,
    createWriter: (ctx) => new IdempotentWriter(o as IdempotentSinkOptions<unknown>, ctx, { begunMs: begunMsOf(ctx) }),
    detached: { kind: 'immediate', write: (ctx, rows) => writeAlone(o as IdempotentSinkOptions<unknown>, ctx, rows) },
    ...(o.open === undefined ? {} : { open: o.open }),
  };
}

/** Above those of the attempts before, which checkpoints keep: a clock that was set back makes no attempt older than them. */
function begunMsOf({ begunMs, generation, restoredStates }: SinkWriterContext): number {
  const earlier = restoredStates.filter((state) => typeof state === 'number');
  return Math.max(begunMs ?? generation, ...earlier.map((ms) => ms + 1));
}

/** The rows of one entry, by a writer of their own: whatever delivers the entry again writes them again. */
async function writeAlone(o: IdempotentSinkOptions<unknown>, ctx: ImmediateContext, rows: RecordBatch): Promise<void> {
  const writer = new IdempotentWriter(o, ctx, { tag: ctx.tag });
  try {
    await writer.open();
    await writer.write(rows);
  } finally {
    await writer.close();
  }
}

/** Rows of one entry, by the tag of the first, or of an attempt, each call of which has a tag of its own. */
type RowsOf = { readonly tag: RowTag } | { readonly begunMs: number };

class IdempotentWriter implements SinkWriter {
  readonly #options: IdempotentSinkOptions<unknown>;
  readonly #ctx: SinkContext;
  #waiting: IdentifiedRow<unknown>[] = [];
  /** Until everything handed over is written; stays rejected after a failure (I2). */
  #writing: Promise<void> | undefined;
  #pause: { cancel(): void } | undefined;
  #isOpen = false;
  #isDiscarded = false;
  readonly #of: RowsOf;
  #written = 0;
  #calls = 0;

  constructor(options: IdempotentSinkOptions<unknown>, ctx: SinkContext, of: RowsOf) {
    this.#of = of;
    this.#options = options;
    this.#ctx = ctx;
  }

  async open(): Promise<void> {
    this.#isOpen = true;
    await this.#options.open?.(this.#ctx);
  }

  write({ values, count, origins }: RecordBatch): Promise<void> {
    const prefix = `${this.#ctx.uid}/`;
    for (let i = 0; i < count; i++)
      this.#waiting.push({ id: origins === undefined ? prefix : prefix + (origins as Origins).at(i), value: values[i] });
    this.#writing ??= this.#writeWaiting();
    return this.#writing;
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const rows = this.#waiting;
      this.#waiting = [];
      for (let from = 0; from < rows.length; from += batchRecordsMax) await this.#writePatiently(rows.slice(from, from + batchRecordsMax));
    }
    this.#writing = undefined;
  }

  async #writePatiently(rows: readonly IdentifiedRow<unknown>[]): Promise<void> {
    const tag = this.#nextTag();
    for (let calls = 1; ; calls++) {
      try {
        await this.#options.write(rows, tag);
        this.#written += rows.length;
        return;
      } catch (cause) {
        if (isOvertaken(cause)) throw cause;
        if (calls === callsMax || this.#isDiscarded) throw this.#notWritten(rows, calls, cause);
        if (calls === 1) this.#ctx.report(`${this.#ctx.uid}: a write failed and is tried again: ${textOf(cause)}`);
      }
      const pause = this.#ctx.clock.sleep(pauseMs * 2 ** (calls - 1));
      this.#pause = pause;
      await pause.done;
    }
  }

  #nextTag(): RowTag {
    if ('tag' in this.#of) return rowTagAt(this.#of.tag, this.#written);
    return { begunMs: this.#of.begunMs, generation: this.#ctx.generation, n: ++this.#calls, index: 0 };
  }

  #notWritten(rows: readonly IdentifiedRow<unknown>[], calls: number, cause: unknown): SluiceError {
    const { uid } = this.#ctx;
    return new SluiceError('SINK_NOT_WRITTEN', {
      message: `${uid} could not write ${rows.length} rows, the first with id ${rows[0]?.id}, in ${calls} calls: ${textOf(cause)}`,
      next: 'recover-subtask',
      cause,
      operator: uid,
    });
  }

  announce(): readonly unknown[] {
    return [];
  }

  async prepare(): Promise<Prepared> {
    await this.#writing;
    const state = this.#ctx.begunMs === undefined || 'tag' in this.#of ? undefined : this.#of.begunMs;
    return { state, transactions: [] };
  }

  commit(): void {}

  /** A call that is under way is waited for, so that it does not land among those of the next attempt. */
  async discard(): Promise<void> {
    this.#isDiscarded = true;
    this.#waiting = [];
    this.#pause?.cancel();
    await this.#writing?.catch(() => undefined);
    await this.close();
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#options.close?.();
  }
}

/** The rows are somebody else's by now, and asking again would change nothing. */
function isOvertaken(cause: unknown): boolean {
  return isSluiceError(cause) && (cause.code === 'OUTPUT_TAKEN_OVER' || cause.code === 'OUTPUT_CONFLICT');
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
