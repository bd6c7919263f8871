// Transactions for a person who looks after a job: what is promised to targets and not known to be settled, and what can never be kept.

import type { PendingTransaction } from '../entry.ts';
import type { JobItem } from '../job-item.ts';
import type { InvocationPorts } from '../ports.ts';
import { readRing } from '../ring.ts';
import { isMadeGood, listLosses } from './losses.ts';
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
   * was promised and could not be committed, `why` says why, and the job went on without; listed until somebody settles it by hand.
   */
  readonly state: 'written' | 'prepared' | 'committed' | 'aborted' | 'lost';
  /** Code and message of the error. */
  readonly why?: string | undefined;
  /** For the settler. */
  readonly transaction: PendingTransaction;
}

/** What is lost, then the others in order of subtask as the job item has them, oldest first: the order in which they have to be committed. */
export async function listTransactions(
  ports: Pick<InvocationPorts, 'changelog' | 'objects' | 'items'>,
  item: Pick<JobItem, 'owners' | 'generation' | 'ringSlots'>,
): Promise<readonly ListedTransaction[]> {
  const listed: ListedTransaction[] = [];
  for (const loss of await listLosses(ports.items)) {
    if (await isMadeGood(ports.objects, loss)) continue;
    listed.push({ ...(await listedOf(ports, loss.transaction)), state: 'lost', why: `${loss.code}: ${loss.message}` });
  }
  const lost = new Set(listed.map(({ name }) => name));
  for (const { subtask } of item.owners) {
    const view = await readRing(ports.changelog, { generation: item.generation, subtask }, item.ringSlots);
    if (view === undefined || view === 'closed') continue;
    for (const t of view.head.transactions) if (!lost.has(transactionName(t))) listed.push(await listedOf(ports, t));
  }
  return listed;
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
