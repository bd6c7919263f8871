import type { DetachedTransaction } from '../../api/sink.ts';
import type { PendingTransaction } from '../entry.ts';
import type { ObjectStore } from '../ports.ts';
import { decodeRows } from '../rows-codec.ts';
import { transactionIdOf } from './transaction-names.ts';

/** Our own copy of the output. `undefined` when it is gone: removed after the transaction was settled, or lost. */
export async function readRows(objects: ObjectStore, t: PendingTransaction): Promise<readonly unknown[] | undefined> {
  const bytes = await objects.get(t.rows);
  if (bytes === undefined) return undefined;
  const { values, count } = decodeRows(bytes);
  return values.length === count ? values : values.slice(0, count);
}

/** The transaction as its sink gets it. */
export function detachedOf(job: string, t: PendingTransaction, rows: readonly unknown[], timestamp: number): DetachedTransaction<unknown> {
  return { id: transactionIdOf(job, t), checkpoint: t.under, timestamp, rows };
}
