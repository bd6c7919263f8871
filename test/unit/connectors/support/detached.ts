import type { DetachedContext, DetachedSink, DetachedTransaction, ImmediateContext, Sink } from '../../../../lib/api/sink.ts';
import { decodeValue, encodeValue } from '../../../../lib/core/value-codec.ts';
import { diskOf, stillClock } from './reading.ts';

export type Transactional<T> = Extract<DetachedSink<T>, { readonly kind: 'transactional' }>;
export type Immediate<T> = Extract<DetachedSink<T>, { readonly kind: 'immediate' }>;

export function contextOf(o: Partial<ImmediateContext> = {}): ImmediateContext {
  return {
    job: 'late-flights',
    uid: 'out',
    generation: 1,
    subtask: 0,
    parallelism: 1,
    files: diskOf({}).files,
    clock: stillClock,
    report: () => undefined,
    print: () => undefined,
    tag: { begunMs: 0, generation: 1, n: 1, index: 0 },
    ...o,
  };
}

export interface TransactionChoice {
  readonly generation?: number;
  readonly subtask?: number;
  readonly opened?: number;
  readonly checkpoint?: number;
  readonly timestamp?: number;
}

export function transactionOf<T>(rows: readonly T[], o: TransactionChoice = {}): DetachedTransaction<T> {
  const { generation = 1, subtask = 0, opened = 0, checkpoint = opened + 1, timestamp = 1_000 } = o;
  return { id: { job: 'late-flights', uid: 'out', generation, subtask, checkpoint: opened }, checkpoint, timestamp, rows };
}

export function transactional<T>(sink: Sink<T>): Transactional<T> {
  if (sink.detached?.kind !== 'transactional') throw new Error(`${sink.kind} does not commit`);
  return sink.detached;
}

export function immediate<T>(sink: Sink<T>): Immediate<T> {
  if (sink.detached?.kind !== 'immediate') throw new Error(`${sink.kind} does not write at once`);
  return sink.detached;
}

/** What was prepared comes back from bytes, in another process. */
export async function prepare<T>(sink: Sink<T>, ctx: DetachedContext, t: DetachedTransaction<T>): Promise<unknown> {
  const detached = transactional(sink);
  const started = detached.start === undefined ? undefined : decodeValue(encodeValue(await detached.start(ctx)));
  return decodeValue(encodeValue(await detached.prepare(ctx, t, started)));
}
