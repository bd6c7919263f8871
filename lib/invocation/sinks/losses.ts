// losses.ts is what a promise that can never be kept leaves behind: which transaction, why, and where its rows are. A restore goes on past it, so
// this is all that will ever tell of it.
//   L1  A loss is definite: the rows are gone, the target refuses for ever what it has forgotten, the transaction was aborted, or a later run has the target. Whatever else a
//       commit rejects with says nothing, and is asked again.
//   L2  A loss is written down before anything goes on without it. What is left of its rows stays until a person has settled it.

import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { PendingTransaction } from '../entry.ts';
import type { JobItems, ObjectStore } from '../ports.ts';
import { transactionName } from './transaction-names.ts';
import { readDecision } from './transaction-records.ts';

export interface Loss {
  readonly transaction: PendingTransaction;
  readonly code: string;
  readonly message: string;
  /** When it was found, ms since the epoch. */
  readonly atMs: number;
}

/** The settler has prepared the rows once more before it lets `SINK_TRANSACTION_FORGOTTEN` through. */
const definite: ReadonlySet<unknown> = new Set([
  'SINK_TRANSACTION_LOST',
  'SINK_TRANSACTION_FORGOTTEN',
  'SINK_TRANSACTION_ABORTED',
  'OUTPUT_TAKEN_OVER',
]);

/** @returns `undefined`: the next try may succeed */
export function lossOf(transaction: PendingTransaction, error: unknown, atMs: number): Loss | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { readonly code?: unknown };
  return definite.has(code) ? { transaction, code: String(code), message: error.message, atMs } : undefined;
}

/** Whether somebody has withdrawn the transaction: that was a decision, and no accident. */
export function wasWithdrawn({ code }: Loss): boolean {
  return code === 'SINK_TRANSACTION_ABORTED';
}

const lossPrefix = 'lost/';
const lossFormat = 1;

export async function noteLosses(items: JobItems, losses: readonly Loss[]): Promise<void> {
  for (const { transaction, code, message, atMs } of losses) {
    const content = { bytes: encodeValue([lossFormat, transaction, code, message, atMs]), change: '' };
    await items.put({ name: lossPrefix + transactionName(transaction), content, expects: 'absent' });
  }
}

/** In order of name. */
export async function listLosses(items: JobItems): Promise<readonly Loss[]> {
  const stored = await items.list(lossPrefix);
  return stored.flatMap(({ bytes }) => {
    const [format, transaction, code, message, atMs] = decodeValue(bytes) as readonly [number, PendingTransaction, string, string, number];
    return format === lossFormat ? [{ transaction, code, message, atMs }] : [];
  });
}

/** Somebody has committed it after all: a failed job keeps asking. Only whoever confirms a commit removes the rows. */
export async function isMadeGood(objects: ObjectStore, { transaction }: Loss): Promise<boolean> {
  return (await readDecision(objects, transaction)) === 'committed' && (await objects.get(transaction.rows)) === undefined;
}

/** A person has settled it, or it is made good. */
export async function forgetLoss(items: JobItems, transaction: PendingTransaction): Promise<void> {
  await items.remove({ name: lossPrefix + transactionName(transaction), expects: 'any' });
}
