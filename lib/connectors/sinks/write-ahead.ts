import type { DetachedSink, Prepared, Sink, SinkContext, SinkRecovery, SinkWriter, SinkWriterContext } from '../../api/sink.ts';
import type { RecordBatch } from '../../core/batch.ts';
import { SluiceError } from '../../core/errors.ts';

/** The rows of one subtask between two barriers, as a checkpoint keeps them. */
interface LoggedRows {
  readonly checkpoint: number;
  /** When the barrier passed, ms. */
  readonly timestamp: number;
  readonly rows: readonly unknown[];
}

/**
 * Extend it to write to a target that has no transactions. Rows are kept in the checkpoint and handed to `sendValues` when it has
 * completed. The rows of a checkpoint must fit into memory.
 *
 * `sendValues` may get the same rows again after a crash between the write and its confirmation. A target that knows the rows by an id of
 * their own writes them once, others get them at least once. `checkpointId` alone does not tell them: every subtask sends its rows under
 * it, and after a restore one object sends what all of them had kept.
 *
 * Give `sinkTo` a factory: `sinkTo(() => new MySink(), { uid })`.
 */
export abstract class GenericWriteAheadSink<I> implements Sink<I> {
  /** For the type of the rows only. */
  declare readonly _rows?: (value: I) => void;

  get kind(): string {
    return this.constructor.name;
  }

  /**
   * Writes the rows of one subtask up to a barrier.
   * @param values        in order
   * @param checkpointId  the barrier that ended them; an aborted checkpoint's rows come later under their own number
   * @param timestamp     when the barrier passed, ms since the epoch
   * @returns true when all are written; false, or a throw, has the call made again
   */
  abstract sendValues(values: readonly I[], checkpointId: number, timestamp: number): boolean | Promise<boolean>;

  /** Called before anything else, on every object that is used. */
  open?(ctx: SinkContext): void | Promise<void>;
  /** Called last, also after a failure. */
  close?(): void | Promise<void>;

  /** Sends what a restored checkpoint holds; called by the runtime. */
  async recover(ctx: SinkRecovery): Promise<void> {
    if (ctx.promised.length === 0) return;
    await this.open?.(ctx);
    try {
      for (const logged of ctx.promised as readonly LoggedRows[]) await send(this, logged, ctx.uid);
    } finally {
      await this.close?.();
    }
  }

  /** Used by the runtime: the rows stay with it until `sendValues` has taken them, on an object opened for this purpose. */
  get detached(): DetachedSink<I> {
    return {
      kind: 'transactional',
      prepare: () => undefined,
      commit: (ctx, { checkpoint, timestamp, rows }) => sendAlone(this, ctx, { checkpoint, timestamp, rows }),
      abort: () => undefined,
    };
  }

  /** Called by the runtime. */
  createWriter(ctx: SinkWriterContext): SinkWriter {
    return new WriteAheadWriter<I>(this, ctx);
  }
}

async function send<I>(sink: GenericWriteAheadSink<I>, logged: LoggedRows, uid: string): Promise<void> {
  const isSent = await sink.sendValues(logged.rows as readonly I[], logged.checkpoint, logged.timestamp);
  if (isSent === true) return;
  throw new SluiceError('SINK_NOT_WRITTEN', {
    message: `sendValues of ${sink.kind || 'the sink'} at ${uid} did not write the ${logged.rows.length} rows of checkpoint ${logged.checkpoint}: it returned ${String(isSent)}`,
    next: 'recover-subtask',
    operator: uid,
    checkpoint: logged.checkpoint,
  });
}

async function sendAlone<I>(sink: GenericWriteAheadSink<I>, ctx: SinkContext, logged: LoggedRows): Promise<void> {
  try {
    await sink.open?.(ctx);
    await send(sink, logged, ctx.uid);
  } finally {
    await sink.close?.();
  }
}

class WriteAheadWriter<I> implements SinkWriter {
  readonly #sink: GenericWriteAheadSink<I>;
  readonly #ctx: SinkWriterContext;
  #rows: unknown[] = [];
  #pending: LoggedRows[] = [];
  #committing: Promise<void> = Promise.resolve();
  #isOpen = false;

  constructor(sink: GenericWriteAheadSink<I>, ctx: SinkWriterContext) {
    this.#sink = sink;
    this.#ctx = ctx;
  }

  async open(): Promise<void> {
    this.#isOpen = true;
    await this.#sink.open?.(this.#ctx);
  }

  write(rows: RecordBatch): void {
    for (let i = 0; i < rows.count; i++) this.#rows.push(rows.values[i]);
  }

  /** Nothing is open at the target: the rows lie in the checkpoint. */
  announce(): readonly unknown[] {
    return [];
  }

  prepare(checkpoint: number): Prepared {
    if (this.#rows.length > 0) {
      this.#pending.push({ checkpoint, timestamp: this.#ctx.clock.now(), rows: this.#rows });
      this.#rows = [];
    }
    return { state: undefined, transactions: [...this.#pending] };
  }

  /** One call at a time; a retry waits for the call that it repeats. */
  commit(checkpoint: number): Promise<void> {
    const done = this.#committing.then(() => this.#sendDue(checkpoint));
    this.#committing = done.catch(() => undefined);
    return done;
  }

  async #sendDue(checkpoint: number): Promise<void> {
    for (let next = this.#pending[0]; next !== undefined && next.checkpoint <= checkpoint; next = this.#pending[0]) {
      await send(this.#sink, next, this.#ctx.uid);
      this.#pending.shift();
    }
  }

  async discard(): Promise<void> {
    this.#rows = [];
    await this.close();
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#sink.close?.();
  }
}
