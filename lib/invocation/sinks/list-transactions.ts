// Transactions for a person who looks after a job: what is promised to targets and not known to be settled, and what can never be kept.

import { headsOf, readHandles, transactionsOf } from '../coordinator/checkpoint-objects.ts';
import { readJob } from '../coordinator/read-job.ts';
import type { PendingTransaction } from '../entry.ts';
import type { JobItem } from '../job-item.ts';
import type { InvocationPorts } from '../ports.ts';
import { readRing } from '../ring.ts';
import { isDefinite, isMadeGood, listLosses } from './losses.ts';
import { transactionName } from './transaction-names.ts';
import { readDecision, readRecord } from './transaction-records.ts';
import { readRows } from './transaction-rows.ts';

export interface ListedTransaction {
  /** What a person calls it by. */
  readonly name: string;
  readonly sink: string;
  readonly subtask: string;
  /** The checkpoint that promises it; it is committed when this one or a later one has completed. */
  readonly checkpoint: number;
  /** Number of rows; `undefined` when our copy is gone. */
  readonly rows: number | undefined;
  /**
   * `written`: the rows are kept, and the target may not have them yet. `committed` ones are listed until their subtask has heard of it. `lost`: it
   * was promised and could not be committed, `why` says why, and the job went on without; listed until somebody settles it by hand. `aborting`: it was
   * to be withdrawn when the job was cancelled, and the target has not said that it is; `why` says what it said.
   */
  readonly state: 'written' | 'prepared' | 'committed' | 'aborted' | 'aborting' | 'lost';
  /** Code and message of the error. */
  readonly why?: string | undefined;
  /** For the settler. */
  readonly transaction: PendingTransaction;
}

type ListedItem = Pick<JobItem, 'owners' | 'generation' | 'ringSlots' | 'completed' | 'confirmed'>;

/**
 * What was gone on without, then what the newest completed checkpoint has promised and is not confirmed, then the others in order of subtask as the job
 * item has them; of a subtask oldest first, the order in which they have to be committed.
 */
export async function listTransactions(
  ports: Pick<InvocationPorts, 'changelog' | 'objects' | 'items'>,
  item: ListedItem,
): Promise<readonly ListedTransaction[]> {
  const listed = new Map<string, ListedTransaction>();
  for (const loss of await listLosses(ports.items)) {
    if (await isMadeGood(ports.objects, loss)) continue;
    const one = await listedOf(ports, loss.transaction);
    const state = isDefinite(loss) ? 'lost' : one.state === 'aborted' ? 'aborting' : one.state;
    listed.set(one.name, { ...one, state, why: `${loss.code}: ${loss.message}` });
  }
  const add = async (transactions: readonly PendingTransaction[]): Promise<void> => {
    for (const t of transactions) if (!listed.has(transactionName(t))) listed.set(transactionName(t), await listedOf(ports, t));
  };
  await add(await promisedBy(ports, item));
  for (const { subtask } of item.owners) {
    const view = await readRing(ports.changelog, { generation: item.generation, subtask }, item.ringSlots);
    if (view !== undefined && view !== 'closed') await add(view.head.transactions);
  }
  return [...listed.values()];
}

/** Rings do not tell it for sure: the clean-up closes those of a job that is over, and of subtasks that gave way to others. */
async function promisedBy(
  ports: Pick<InvocationPorts, 'objects' | 'items'>,
  { completed, confirmed }: ListedItem,
): Promise<readonly PendingTransaction[]> {
  const newest = completed.at(-1);
  if (newest === undefined || newest.checkpoint <= confirmed) return [];
  try {
    return transactionsOf(headsOf(await readHandles(ports.objects, newest)));
  } catch (e) {
    // Of a job that runs the next checkpoint may have completed meanwhile, and what this one says is gone.
    const now = (await readJob(ports))?.item;
    if (now === undefined || now.completed.at(-1)?.checkpoint === newest.checkpoint) throw e;
    return promisedBy(ports, now);
  }
}

async function listedOf({ objects }: Pick<InvocationPorts, 'objects'>, t: PendingTransaction): Promise<ListedTransaction> {
  const decision = await readDecision(objects, t);
  const state = decision ?? ((await readRecord(objects, t)) === undefined ? 'written' : 'prepared');
  const rows = (await readRows(objects, t))?.length;
  return { name: transactionName(t), sink: t.sink, subtask: t.subtask, checkpoint: t.under, rows, state, transaction: t };
}

/** A commit that was decided may have met a target that refused it: our copy of the rows goes only when it is confirmed. */
export function isUnsettled({ state, rows }: ListedTransaction): boolean {
  return state === 'committed' ? rows !== undefined : state !== 'aborted';
}

/** As tools print it: plain data. */
export function transactionFields({
  name,
  sink,
  subtask,
  checkpoint,
  rows,
  state,
  why,
}: ListedTransaction): Readonly<Record<string, unknown>> {
  return { transaction: name, sink, subtask, checkpoint, rows, state, ...(why === undefined ? {} : { why }) };
}
