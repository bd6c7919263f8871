// Telling sinks that a checkpoint is complete: its transactions are committed, and then the job item says that they are.
//   F1  Anybody may commit, twice, late: the transactions are those that the handles list, and each has one decision for ever.
//   F2  `confirmed` rises only when every commit has been confirmed; until then each barrier entry lists the transactions again.

import { isSluiceError } from '../../core/errors.ts';
import type { PendingTransaction } from '../entry.ts';
import type { CompletedCheckpoint, JobItem, SubtaskHandle } from '../job-item.ts';
import { headsOf, readHandles, transactionsOf } from './checkpoint-objects.ts';
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
    await commitAll(run, transactions);
    await forgetRows(run, transactions);
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

/** Those of one subtask one after the other, oldest first; a target may care for their order. */
export async function commitAll(run: PulseRun, transactions: readonly PendingTransaction[]): Promise<void> {
  const { settler } = run.options;
  const bySubtask = Map.groupBy(transactions, (t) => `${t.generation}/${t.subtask}`);
  await concurrently([...bySubtask.values()], run.concurrency, async (own) => {
    for (const transaction of own) await settler.commit(transaction);
  });
}

export async function handlesOf(run: PulseRun, completed: CompletedCheckpoint): Promise<readonly SubtaskHandle[]> {
  const known = run.handles.get(completed.checkpoint) ?? (await readHandles(run.options.ports.objects, completed));
  run.handles.set(completed.checkpoint, known);
  return known;
}

/** Each may have been aborted before, or committed: then it stays what it is. */
export async function abortAll(run: PulseRun, transactions: readonly PendingTransaction[]): Promise<void> {
  await concurrently(transactions, run.concurrency, (transaction) => run.options.settler.abort(transaction));
}
