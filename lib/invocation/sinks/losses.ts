// losses.ts is what a transaction leaves behind that something goes on without: which one, why, and where its rows are. This is all that will ever
// tell of it.
//   L1  A loss is definite: the rows are gone, the target refuses for ever what it has forgotten, the transaction was aborted, or a later run has the
//       target. Whatever else a commit rejects with says nothing, and is asked again.
//   L2  A loss is written down before anything goes on without it. What is left of its rows stays until a person has settled it.
//   L3  A cancel goes on without what its target has not taken for a while, too. That is not lost but unsettled: it is kept here in the same way,
//       until a person or a restore has settled it, or it turns out to be lost.

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

/** Definite, or unsettled (L3). */
export function isDefinite({ code }: Loss): boolean {
  return definite.has(code);
}

/** @param error  what the target answered, and what says nothing for good */
export function unsettledOf(transaction: PendingTransaction, error: unknown, atMs: number): Loss {
  const { code, message } = error instanceof Error ? (error as Error & { readonly code?: unknown }) : { message: String(error) };
  return { transaction, code: code === undefined ? 'SINK_NOT_SETTLED' : String(code), message, atMs };
}

/** What was noted first stays, but where what was unsettled is lost. */
export async function noteLosses(items: JobItems, losses: readonly Loss[]): Promise<void> {
  for (const loss of losses) {
    const { transaction, code, message, atMs } = loss;
    const name = lossPrefix + transactionName(transaction);
    const content = { bytes: encodeValue([lossFormat, transaction, code, message, atMs]), change: '' };
    const put = await items.put({ name, content, expects: 'absent' });
    if (put.kind === 'stored' || !isDefinite(loss)) continue;
    const held = await items.get(name);
    if (held !== undefined && decoded(held).every((one) => !isDefinite(one))) await items.put({ name, content, expects: held.revision });
  }
}

/** In order of name. */
export async function listLosses(items: JobItems): Promise<readonly Loss[]> {
  const stored = await items.list(lossPrefix);
  return stored.flatMap(decoded);
}

function decoded({ bytes }: { readonly bytes: Uint8Array }): readonly Loss[] {
  const [format, transaction, code, message, atMs] = decodeValue(bytes) as readonly [number, PendingTransaction, string, string, number];
  return format === lossFormat ? [{ transaction, code, message, atMs }] : [];
}

/** Somebody has committed it after all: a failed job keeps asking. Only whoever confirms a commit removes the rows. */
export async function isMadeGood(objects: ObjectStore, { transaction }: Loss): Promise<boolean> {
  return (await readDecision(objects, transaction)) === 'committed' && (await objects.get(transaction.rows)) === undefined;
}

/** A person has settled it, or it is made good. */
export async function forgetLoss(items: JobItems, transaction: PendingTransaction): Promise<void> {
  await items.remove({ name: lossPrefix + transactionName(transaction), expects: 'any' });
}
