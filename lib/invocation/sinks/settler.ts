// settler.ts commits and aborts transactions. A checkpoint that completed commits, a restore commits what it restores and aborts the rest, and
// a person may do either; each of them again, late, or at the same time as another.
//   S3  The decision is put before it is carried out, and the first one holds: what is committed is never aborted, what is aborted is never
//       committed. Carrying it out is the part that is repeated.
//   S4  Rows are ours until the commit is confirmed. A target that has forgotten what was prepared gets it again from there. Rows that are gone
//       before their transaction was decided are an error in every call, never a line in a log.

import type { DetachedContext } from '../../api/sink.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Plan } from '../../graph/plan.ts';
import type { TransactionSettler } from '../control.ts';
import type { PendingTransaction } from '../entry.ts';
import type { InvocationPorts } from '../ports.ts';
import { sinkOfTransaction } from './planned-sinks.ts';
import { type Preparing, prepareAtTarget, prepareNow, rowsLost, type TransactionalSink, transactionalOf } from './prepare-transaction.ts';
import { transactionIdOf, transactionName } from './transaction-names.ts';
import { decide, readDecision, readRecord } from './transaction-records.ts';
import { detachedOf, readRows } from './transaction-rows.ts';

export interface SettlerOptions {
  readonly plan: Plan;
  readonly ports: Pick<InvocationPorts, 'objects'>;
  /** See `createContextOf`. */
  readonly contextOf: (t: PendingTransaction) => DetachedContext;
}

/**
 * `commit` rejects with `SINK_TRANSACTION_ABORTED` when the transaction was aborted before, with `SINK_TRANSACTION_LOST` when its rows are gone,
 * with `STATE_WITHOUT_OPERATOR` when the job no longer has the sink, and with what the sink throws. `abort` of a transaction whose commit was decided
 * carries the commit out and says so.
 */
export function createSettler(o: SettlerOptions): TransactionSettler {
  return { commit: (t) => commit(o, t), abort: (t) => abort(o, t) };
}

async function commit(o: SettlerOptions, t: PendingTransaction): Promise<void> {
  const { objects } = o.ports;
  const sink = sinkOf(o, t);
  const rows = await readRows(objects, t);
  if (rows === undefined) {
    // They are removed only after the commit was confirmed.
    const decision = await readDecision(objects, t);
    if (decision === 'committed') return;
    throw decision === 'aborted' ? abortedBefore(t) : rowsLost(t);
  }
  if ((await decide(objects, t, 'committed')) === 'aborted') throw abortedBefore(t);
  const context = o.contextOf(t);
  const now: Preparing = { transaction: t, sink, objects, context, rows, timestamp: context.clock.now() };
  const { prepared, timestamp } = (await readRecord(objects, t)) ?? (await prepareNow(now));
  const detached = detachedOf(context.job, t, rows, timestamp);
  try {
    await sink.commit(context, detached, prepared);
  } catch (e) {
    if (!isForgotten(e)) throw e;
    await sink.commit(context, detached, await prepareAtTarget({ ...now, timestamp }));
  }
}

async function abort(o: SettlerOptions, t: PendingTransaction): Promise<'aborted' | 'committed'> {
  const { objects } = o.ports;
  const sink = sinkOf(o, t);
  // Whoever decided so may have died before it was carried out, and nobody else may come to do it: this transaction is listed no more.
  if ((await decide(objects, t, 'aborted')) === 'committed') {
    await commit(o, t);
    return 'committed';
  }
  const context = o.contextOf(t);
  const record = await readRecord(objects, t);
  const rows = (await readRows(objects, t)) ?? [];
  const timestamp = record?.timestamp ?? context.clock.now();
  await sink.abort(context, { id: transactionIdOf(context.job, t), checkpoint: t.under, timestamp, rows }, record?.prepared);
  return 'aborted';
}

function sinkOf({ plan }: SettlerOptions, t: PendingTransaction): TransactionalSink {
  return transactionalOf(sinkOfTransaction(plan, t).create(), t);
}

function isForgotten(e: unknown): boolean {
  return typeof e === 'object' && e !== null && (e as { readonly code?: unknown }).code === 'SINK_TRANSACTION_FORGOTTEN';
}

function abortedBefore(t: PendingTransaction): SluiceError {
  return new SluiceError('SINK_TRANSACTION_ABORTED', {
    message: `transaction ${transactionName(t)} was aborted, so it cannot be committed`,
    next: 'fix-the-command',
    advice: 'a restore has undone these rows; nothing is to be done',
    operator: t.sink,
    subtask: t.subtask,
    checkpoint: t.under,
  });
}
