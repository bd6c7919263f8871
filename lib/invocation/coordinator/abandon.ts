// A cancel withdraws what no completed checkpoint promised. It waits for targets, but not for ever.
//   A1  What a target does not take is written down at once (losses.ts), with the time. A job ends when everything that is left has been asked for
//       again after a while; then the note is what tells of it, and a person or a restore settles it.

import type { EntryHead, PendingTransaction } from '../entry.ts';
import { forgetLoss, isDefinite, type Loss, listLosses, noteLosses, unsettledOf } from '../sinks/losses.ts';
import { headsOf, transactionKey, transactionsOf } from './checkpoint-objects.ts';
import { concurrently } from './concurrently.ts';
import { abortOne, handlesOf } from './notify.ts';
import type { PulseRun } from './pulse-run.ts';

/** How long a cancel asks a target again that does not take an abort. */
const patienceMs = 10_000;

/** @returns whether the job may end: everything is withdrawn, or has been asked for long enough */
export async function abandon(run: PulseRun, seals: readonly EntryHead[]): Promise<boolean> {
  const abandoned = await abandonedOf(run, seals);
  if (abandoned.length === 0) return true;
  const noted = new Map((await listLosses(run.options.ports.items)).map((loss) => [transactionKey(loss.transaction), loss]));
  const outcomes = await concurrently(abandoned, run.concurrency, (t) => withdraw(run, t, noted.get(transactionKey(t))));
  if (outcomes.includes('try-again')) return false;
  const left = outcomes.filter((outcome) => outcome === 'left').length;
  if (left > 0)
    run.tell({ kind: 'notice', message: `${left} transactions of sinks are left unsettled, and listed until somebody settles them` });
  return true;
}

async function abandonedOf(run: PulseRun, seals: readonly EntryHead[]): Promise<readonly PendingTransaction[]> {
  const newest = run.item.completed.at(-1);
  const promised = newest === undefined ? [] : transactionsOf(headsOf(await handlesOf(run, newest)));
  const kept = new Set(promised.map(transactionKey));
  return transactionsOf(seals).filter((t) => !kept.has(transactionKey(t)));
}

async function withdraw(run: PulseRun, t: PendingTransaction, noted: Loss | undefined): Promise<'withdrawn' | 'try-again' | 'left'> {
  const { items } = run.options.ports;
  const now = run.options.clock.now();
  try {
    await abortOne(run, t);
  } catch (e) {
    run.notice('output that no checkpoint promised is not all withdrawn yet', e);
    if (noted === undefined) await noteLosses(items, [unsettledOf(t, e, now)]);
    // A clock that was set back says nothing of how long it was.
    return noted !== undefined && (now - noted.atMs >= patienceMs || now < noted.atMs) ? 'left' : 'try-again';
  }
  if (noted !== undefined && !isDefinite(noted)) await forgetLoss(items, t);
  return 'withdrawn';
}
