// Telling sinks that a checkpoint is complete: its transactions are committed, and then the job item says that they are.
//   F1  Anybody may commit, twice, late: the transactions are those that the handles list, and each has one decision for ever.
//   F2  `confirmed` rises only when every commit has been confirmed; until then each barrier entry lists the transactions again.
//   F3  What can never be committed is written down (losses.ts) and told by name. A job that runs fails of it: going on is for a person to decide. One
//       that is over is done with it, and so is a restore. What somebody has withdrawn fails nothing.

import { isSluiceError } from '../../core/errors.ts';
import type { PendingTransaction } from '../entry.ts';
import type { CompletedCheckpoint, JobItem, SubtaskHandle } from '../job-item.ts';
import { type Loss, lossOf, noteLosses, wasWithdrawn } from '../sinks/losses.ts';
import { transactionName } from '../sinks/transaction-names.ts';
import { headsOf, readHandles, transactionKey, transactionsOf } from './checkpoint-objects.ts';
import { concurrently } from './concurrently.ts';
import type { PulseRun } from './pulse-run.ts';
import { newestCompletedOf } from './read-job.ts';
import { forgetRows, noteDecisions } from './settled.ts';

/** Commits what the newest completed checkpoint promised. A target that refuses is asked again by the next pulse. */
export async function notifyCompleted(run: PulseRun): Promise<void> {
  const newest = run.item.completed.at(-1);
  if (newest === undefined || newest.checkpoint <= run.item.confirmed) return;
  const transactions = transactionsOf(headsOf(await handlesOf(run, newest)));
  try {
    const losses = await commitAll(run, transactions);
    const [accident] = losses.filter((loss) => !wasWithdrawn(loss));
    if (accident !== undefined && !isOver(run.item)) {
      const { code, message } = accident;
      const failure = `output of checkpoint ${newest.checkpoint} is lost (${code}): ${message}`;
      await run.change((item) => withLoss(item, newest.checkpoint, failure));
      return;
    }
    await forgetRows(run, withoutLost(transactions, losses));
  } catch (e) {
    run.notice(`output of checkpoint ${newest.checkpoint} is not all visible yet${isSluiceError(e) ? ` (${e.code})` : ''}`, e);
    return;
  }
  await noteDecisions(run, newest.checkpoint, transactions);
  await run.change((item) => withConfirmed(item, newest.checkpoint));
  run.hasEnded = true;
}

/** Pure. A restore that began meanwhile confirms for itself. */
export function withConfirmed(item: JobItem, checkpoint: number): JobItem {
  if (item.restoring !== undefined || checkpoint <= item.confirmed || checkpoint !== newestCompletedOf(item)) return item;
  return { ...item, confirmed: checkpoint };
}

/** Nobody will go on from its changelogs. */
function isOver({ status }: JobItem): boolean {
  return status === 'cancelling' || status === 'cancelled' || status === 'finished';
}

function withoutLost(transactions: readonly PendingTransaction[], losses: readonly Loss[]): readonly PendingTransaction[] {
  const lost = new Set(losses.map(({ transaction }) => transactionKey(transaction)));
  return transactions.filter((t) => !lost.has(transactionKey(t)));
}

/** Pure: the item of a job that cannot keep a promise, or the same one when somebody has kept it meanwhile. */
export function withLoss(item: JobItem, checkpoint: number, failure: string): JobItem {
  if (item.status !== 'running' || item.restoring !== undefined) return item;
  if (checkpoint <= item.confirmed || checkpoint !== newestCompletedOf(item)) return item;
  return { ...item, status: 'failing', failure, open: [] };
}

/**
 * Those of one subtask one after the other, oldest first; a target may care for their order.
 * @returns what can never be committed: written down, and told
 */
export async function commitAll(run: PulseRun, transactions: readonly PendingTransaction[]): Promise<readonly Loss[]> {
  const { settler } = run.options;
  const bySubtask = Map.groupBy(transactions, (t) => `${t.generation}/${t.subtask}`);
  const losses = await concurrently([...bySubtask.values()], run.concurrency, async (own) => {
    const lost: Loss[] = [];
    for (const transaction of own) lost.push(...(await lossIn(run, transaction, () => settler.commit(transaction))));
    return lost;
  });
  return losses.flat();
}

/** @throws what says nothing for good */
async function lossIn(run: PulseRun, transaction: PendingTransaction, settle: () => Promise<unknown>): Promise<readonly Loss[]> {
  const { ports, clock } = run.options;
  try {
    await settle();
    return [];
  } catch (e) {
    const loss = lossOf(transaction, e, clock.now());
    if (loss === undefined) throw e;
    await noteLosses(ports.items, [loss]);
    const { sink, under } = transaction;
    run.notice(`transaction ${transactionName(transaction)} of sink ${sink}, promised by checkpoint ${under}, is lost (${loss.code})`, e);
    return [loss];
  }
}

export async function handlesOf(run: PulseRun, completed: CompletedCheckpoint): Promise<readonly SubtaskHandle[]> {
  const known = run.handles.get(completed.checkpoint) ?? (await readHandles(run.options.ports.objects, completed));
  run.handles.set(completed.checkpoint, known);
  return known;
}

/** Each may have been aborted before, or committed: then it stays what it is, or is lost. */
export async function abortAll(run: PulseRun, transactions: readonly PendingTransaction[]): Promise<void> {
  await concurrently(transactions, run.concurrency, (transaction) => abortOne(run, transaction));
}

/** @throws what says nothing for good */
export async function abortOne(run: PulseRun, transaction: PendingTransaction): Promise<void> {
  await lossIn(run, transaction, () => run.options.settler.abort(transaction));
}
