// prepare-transaction.ts promises the rows of a committed barrier entry to their target. Whoever delivers the entry comes here, so several
// processes may, at once or one long after the other.
//   S1  What was prepared is kept under the transaction's name; the first one wins and a later deliverer finds it.
//   S2  A transaction that is decided is never prepared: a target that forgets names at the commit would hold, and could commit, its rows again.
//       The decision may fall while a deliverer is between its look and the target. So it looks again behind the target, and what it finds aborted
//       it takes back. What it finds committed it leaves alone, because the commit may be under way and need what was prepared under this name.

import type { DetachedContext, DetachedSink, Sink } from '../../api/sink.ts';
import { SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { PendingTransaction } from '../entry.ts';
import type { ObjectStore } from '../ports.ts';
import { startName, transactionName } from './transaction-names.ts';
import { keepRecord, readDecision, readRecord, type TransactionRecord } from './transaction-records.ts';
import { detachedOf, readRows } from './transaction-rows.ts';

export type TransactionalSink = Extract<DetachedSink<unknown>, { readonly kind: 'transactional' }>;

export interface PrepareTransaction {
  readonly transaction: PendingTransaction;
  /** An object that nobody else uses meanwhile. */
  readonly sink: Sink<unknown>;
  readonly objects: ObjectStore;
  readonly context: DetachedContext;
  /** When the barrier passed, ms; of several deliverers the time of the first is kept. */
  readonly timestamp: number;
}

/**
 * @throws SluiceError `SINK_TRANSACTION_LOST` when the rows are gone, and what the sink throws; the call is made again with the next delivery of
 *   the entry
 */
export async function prepareTransaction(o: PrepareTransaction): Promise<void> {
  const { transaction: t, objects, context } = o;
  if ((await readDecision(objects, t)) !== undefined) return;
  if ((await readRecord(objects, t)) !== undefined) return;
  const sink = transactionalOf(o.sink, t);
  const rows = await readRows(objects, t);
  if (rows === undefined) {
    if ((await readDecision(objects, t)) !== undefined) return; // it was settled, and its rows removed, since the first look
    throw rowsLost(t);
  }
  const prepared = await prepareAtTarget({ ...o, sink, rows });
  const { timestamp } = await keepRecord(objects, t, { prepared, timestamp: o.timestamp });
  // What another deliverer prepared is the settler's to abort; of ours nobody else may know.
  if ((await readDecision(objects, t)) === 'aborted') await sink.abort(context, detachedOf(context.job, t, rows, timestamp), prepared);
}

export interface Preparing extends Omit<PrepareTransaction, 'sink'> {
  readonly sink: TransactionalSink;
  readonly rows: readonly unknown[];
}

/** Prepares whatever was prepared or decided before. @returns the record that is kept */
export async function prepareNow(o: Preparing): Promise<TransactionRecord> {
  const prepared = await prepareAtTarget(o);
  return keepRecord(o.objects, o.transaction, { prepared, timestamp: o.timestamp });
}

/** @returns plain data of the sink */
export async function prepareAtTarget({ transaction, sink, objects, context, rows, timestamp }: Preparing): Promise<unknown> {
  const started = await startOnce(sink, objects, context);
  return sink.prepare(context, detachedOf(context.job, transaction, rows, timestamp), started);
}

/** What the sink saw of its target before the first transaction of this run. */
export async function startOnce(sink: TransactionalSink, objects: ObjectStore, context: DetachedContext): Promise<unknown> {
  if (sink.start === undefined) return undefined;
  const name = startName(context.uid);
  const known = await objects.get(name);
  if (known !== undefined) return decodeValue(known);
  const bytes = encodeValue(await sink.start(context));
  const outcome = await objects.putIfAbsent(name, bytes);
  return decodeValue(outcome === 'stored' ? bytes : ((await objects.get(name)) ?? bytes));
}

export function transactionalOf(sink: Sink<unknown>, t: PendingTransaction): TransactionalSink {
  const { detached } = sink;
  if (detached?.kind === 'transactional') return detached;
  throw new SluiceError('STATE_WITHOUT_OPERATOR', {
    message: `transaction ${transactionName(t)} was begun by a sink that commits, and '${t.sink}' is now ${sink.kind}, which does not`,
    next: 'fix-the-job',
    operator: t.sink,
  });
}

export function rowsLost(t: PendingTransaction): SluiceError {
  return new SluiceError('SINK_TRANSACTION_LOST', {
    message: `the rows of transaction ${transactionName(t)} are gone before they were committed: object ${t.rows} does not exist`,
    next: 'repair-state',
    operator: t.sink,
    subtask: t.subtask,
    checkpoint: t.under,
  });
}
