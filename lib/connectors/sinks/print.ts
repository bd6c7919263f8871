import { inspect } from 'node:util';
import type { DetachedContext, Sink, SinkWriter, SinkWriterContext } from '../../api/sink.ts';
import type { RecordBatch } from '../../core/batch.ts';

/**
 * Prints each row on a line of standard output, at once: for looking, not for keeping. After a restart rows that were worked out again are
 * printed again. Text is printed as it is, other rows as JSON, and what JSON cannot carry as Node shows it.
 *
 * @param label  put before each line; with a parallelism above 1 the number of the subtask (from 1) follows it, as in Flink
 */
export function print<T = unknown>(label?: string): Sink<T> {
  return {
    kind: 'print',
    isStateless: true,
    recover: () => undefined,
    createWriter: (ctx) => new PrintWriter(ctx, label ?? ''),
    detached: { kind: 'immediate', write: (ctx, rows) => printRows(ctx, prefixOf(ctx, label ?? ''), rows) },
  };
}

class PrintWriter implements SinkWriter {
  readonly #ctx: SinkWriterContext;
  readonly #prefix: string;

  constructor(ctx: SinkWriterContext, label: string) {
    this.#ctx = ctx;
    this.#prefix = prefixOf(ctx, label);
  }

  open(): void {}

  write(rows: RecordBatch): void {
    printRows(this.#ctx, this.#prefix, rows);
  }

  announce(): readonly unknown[] {
    return [];
  }

  prepare(): { readonly state: undefined; readonly transactions: readonly unknown[] } {
    return { state: undefined, transactions: [] };
  }

  commit(): void {}
  discard(): void {}
  close(): void {}
}

function prefixOf(ctx: DetachedContext, label: string): string {
  const subtask = ctx.parallelism > 1 ? String(ctx.subtask + 1) : '';
  const name = label !== '' && subtask !== '' ? `${label}:${subtask}` : `${label}${subtask}`;
  return name === '' ? '' : `${name}> `;
}

function printRows(ctx: DetachedContext, prefix: string, rows: RecordBatch): void {
  for (let i = 0; i < rows.count; i++) ctx.print(prefix + textOf(rows.values[i]));
}

function textOf(row: unknown): string {
  if (typeof row === 'string') return row;
  try {
    const text = isTold(row) ? JSON.stringify(row) : undefined;
    if (text !== undefined) return text;
  } catch {
    // Bigints, cycles: shown below.
  }
  return inspect(row, { breakLength: Number.POSITIVE_INFINITY, depth: 8 });
}

/** False for values that JSON.stringify would show as something else. */
function isTold(row: unknown): boolean {
  return !(row instanceof Map || row instanceof Set || row instanceof Uint8Array || (typeof row === 'number' && !Number.isFinite(row)));
}
