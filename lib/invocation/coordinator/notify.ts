// Telling sinks that a checkpoint is complete: its transactions are committed, and then the job item says that they are.
//   F1  Anybody may commit, twice, late: the transactions are those that the handles list, and each has one decision for ever.
//   F2  `confirmed` rises only when every commit has been confirmed; until then each barrier entry lists the transactions again.
//   F3  What can never be committed fails the job, with what is lost as the reason: going on would leave a hole that only a log tells of.

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
    const loss = lossOf(newest.checkpoint, e);
    if (loss !== undefined) await run.change((item) => withLoss(item, newest.checkpoint, loss));
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

/** The settler has prepared the rows once more before it lets `SINK_TRANSACTION_FORGOTTEN` through. */
const isLoss: ReadonlySet<unknown> = new Set(['SINK_TRANSACTION_LOST', 'SINK_TRANSACTION_FORGOTTEN']);

/** @returns `undefined`: the next pulse may succeed */
function lossOf(checkpoint: number, error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { readonly code?: unknown };
  return isLoss.has(code) ? `output of checkpoint ${checkpoint} is lost (${String(code)}): ${error.message}` : undefined;
}

/** Pure: the item of a job that cannot keep a promise, or the same one when somebody has kept it meanwhile. */
export function withLoss(item: JobItem, checkpoint: number, failure: string): JobItem {
  if (item.status !== 'running' || item.restoring !== undefined) return item;
  if (checkpoint <= item.confirmed || checkpoint !== newestCompletedOf(item)) return item;
  return { ...item, status: 'failing', failure, open: [] };
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
