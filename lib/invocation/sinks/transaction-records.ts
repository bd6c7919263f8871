// transaction-records.ts is what is known of a transaction besides the changelog: what was prepared, and how it was decided. Both are objects
// under fixed names, and the first one to put them wins.

import { SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { PendingTransaction } from '../entry.ts';
import type { ObjectStore } from '../ports.ts';
import { decisionName, recordName, transactionName } from './transaction-names.ts';

export interface TransactionRecord {
  /** Plain data of the sink. */
  readonly prepared: unknown;
  /** When the barrier passed, ms. */
  readonly timestamp: number;
}

export type Decision = 'committed' | 'aborted';

export async function readRecord(objects: ObjectStore, t: PendingTransaction): Promise<TransactionRecord | undefined> {
  const bytes = await objects.get(recordName(t));
  return bytes === undefined ? undefined : (decodeValue(bytes) as TransactionRecord);
}

/**
 * @returns the record that is kept: this one, or an earlier one
 * @throws SluiceError `VALUE_NOT_ENCODABLE` when the sink prepared something that is no plain data
 */
export async function keepRecord(objects: ObjectStore, t: PendingTransaction, record: TransactionRecord): Promise<TransactionRecord> {
  const outcome = await objects.putIfAbsent(recordName(t), encodeValue(record));
  return outcome === 'stored' ? record : ((await readRecord(objects, t)) ?? record);
}

export async function readDecision(objects: ObjectStore, t: PendingTransaction): Promise<Decision | undefined> {
  const bytes = await objects.get(decisionName(t));
  if (bytes === undefined) return undefined;
  const decision = decodeValue(bytes);
  if (decision === 'committed' || decision === 'aborted') return decision;
  throw new SluiceError('DATA_DAMAGED', {
    message: `the decision of transaction ${transactionName(t)} is damaged`,
    next: 'repair-state',
    operator: t.sink,
  });
}

/** @returns the decision that holds: this one, or an earlier one */
export async function decide(objects: ObjectStore, t: PendingTransaction, decision: Decision): Promise<Decision> {
  if ((await objects.putIfAbsent(decisionName(t), encodeValue(decision))) === 'stored') return decision;
  return (await readDecision(objects, t)) ?? decision;
}
