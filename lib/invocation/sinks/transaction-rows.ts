// transaction-rows.ts is our own copy of the output: the batches that a sink's buffer held at the barrier, each as rows-codec.ts has it.

import type { DetachedTransaction } from '../../api/sink.ts';
import { SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { PendingTransaction } from '../entry.ts';
import type { ObjectStore } from '../ports.ts';
import { decodeRows } from '../rows-codec.ts';
import { transactionIdOf } from './transaction-names.ts';

/** @param batches  encoded by `encodeRows`, in order */
export function encodeTransactionRows(batches: readonly Uint8Array[]): Uint8Array {
  return encodeValue(batches);
}

/** `undefined` when it is gone: removed after the transaction was settled, or lost. */
export async function readRows(objects: ObjectStore, t: PendingTransaction): Promise<readonly unknown[] | undefined> {
  const bytes = await objects.get(t.rows);
  if (bytes === undefined) return undefined;
  const batches = decodeValue(bytes);
  if (!Array.isArray(batches) || !batches.every((b) => b instanceof Uint8Array)) throw damaged(t);
  return batches.flatMap((encoded) => decodeRows(encoded).values);
}

function damaged(t: PendingTransaction): SluiceError {
  return new SluiceError('DATA_DAMAGED', {
    message: `the rows of a transaction are damaged: object ${t.rows}`,
    next: 'repair-state',
    operator: t.sink,
  });
}

/** The transaction as its sink gets it. */
export function detachedOf(job: string, t: PendingTransaction, rows: readonly unknown[], timestamp: number): DetachedTransaction<unknown> {
  return { id: transactionIdOf(job, t), checkpoint: t.under, timestamp, rows };
}
