import type { DetachedTransaction, Prepared, Sink, SinkRecovery, SinkWriter, SinkWriterContext } from '../../api/sink.ts';
import type { RecordBatch } from '../../core/batch.ts';

/** A sink that keeps its rows in memory, for tests. */
export interface CollectSink<T> extends Sink<T> {
  /** Rows of completed checkpoints, in order of commit; each row is there once, also over restarts inside the process. */
  readonly rows: readonly T[];
}

interface CollectedRows {
  /** Unique in the sink, so that a repeated commit is recognised. */
  readonly name: string;
  readonly checkpoint: number;
  readonly rows: readonly unknown[];
}

/**
 * Collects rows in `rows`, as they would appear in a transactional target: when the checkpoint that covers them has completed, or at the end
 * of a job without checkpoints. For tests: `const out = collect<Row>(); stream.sinkTo(out, { uid: 'out' })`. All subtasks share the one object.
 */
export function collect<T>(): CollectSink<T> {
  const target = new CollectedTarget();
  return {
    kind: 'collect',
    rows: target.rows as T[],
    recover(ctx: SinkRecovery) {
      if (ctx.promised.length === 0) target.forget(ctx.uid);
      for (const rows of ctx.promised as readonly CollectedRows[]) target.commit(rows);
    },
    createWriter: (ctx) => new CollectWriter(target, ctx),
    detached: {
      kind: 'transactional',
      prepare: () => undefined,
      commit: (_ctx, t) => target.commit(collectedOf(t)),
      abort: () => undefined,
    },
  };
}

/** The time of the barrier is in the name too: another run of the job in this process has the same numbers for other rows. */
function collectedOf({ id, checkpoint, timestamp, rows }: DetachedTransaction<unknown>): CollectedRows {
  return { name: [id.uid, id.generation, id.subtask, checkpoint, timestamp].join('/'), checkpoint, rows };
}

class CollectedTarget {
  readonly rows: unknown[] = [];
  readonly #committed = new Set<string>();

  /** Another run of the job may give the same names to other rows of a sink; within a run a later attempt gives new ones. */
  forget(uid: string): void {
    for (const name of this.#committed) if (name.startsWith(`${uid}/`)) this.#committed.delete(name);
  }

  commit(collected: CollectedRows): void {
    if (this.#committed.has(collected.name)) return;
    this.#committed.add(collected.name);
    for (const row of collected.rows) this.rows.push(row);
  }
}

class CollectWriter implements SinkWriter {
  readonly #target: CollectedTarget;
  readonly #ctx: SinkWriterContext;
  #rows: unknown[] = [];
  #pending: CollectedRows[] = [];

  constructor(target: CollectedTarget, ctx: SinkWriterContext) {
    this.#target = target;
    this.#ctx = ctx;
  }

  open(): void {}

  write(rows: RecordBatch): void {
    for (let i = 0; i < rows.count; i++) this.#rows.push(rows.values[i]);
  }

  announce(): readonly unknown[] {
    return [];
  }

  prepare(checkpoint: number): Prepared {
    if (this.#rows.length > 0) {
      this.#pending.push({
        name: [this.#ctx.uid, this.#ctx.generation, this.#ctx.subtask, checkpoint].join('/'),
        checkpoint,
        rows: this.#rows,
      });
      this.#rows = [];
    }
    return { state: undefined, transactions: [...this.#pending] };
  }

  commit(checkpoint: number): void {
    while (this.#pending[0] !== undefined && this.#pending[0].checkpoint <= checkpoint) this.#target.commit(this.#pending.shift()!);
  }

  discard(): void {
    this.#rows = [];
  }

  close(): void {}
}
