// Restoring a checkpoint: mark, seal, settle, create, raise. Each step is conditional, so a restore that was cut off anywhere is run again from
// the job item, by anybody.
//   T1  The mark is conditional on the checkpoint still being the newest completed one, unless an older one was named: what completed meanwhile
//       may be visible already. It voids what is open, cancels a change of owners, and lists the rings that are going to be.
//   T2  Rings are sealed before anything is read from them: behind a seal nobody commits, acknowledges, or takes input any more.
//   T3  Transactions are settled before the generation rises: those of the checkpoint are committed, all others of the sealed tails aborted, and
//       a target keeps both decisions, so that nobody who sleeps through the restore can change them.
//   T4  Owners are those of the checkpoint. How far each split had been read is kept over all generations, also for subtasks that the checkpoint
//       does not know: up to there only a replay may read.
//   T5  Numbers go on: the new rings begin in an epoch above every checkpoint that was ever begun.

import { SluiceError } from '../../core/errors.ts';
import type { EntryHead } from '../entry.ts';
import { decodeHead } from '../entry-codec.ts';
import type { CompletedCheckpoint, JobItem, Restoring } from '../job-item.ts';
import type { InvocationPorts } from '../ports.ts';
import { headsOf, transactionKey, transactionsOf } from './checkpoint-objects.ts';
import { concurrently } from './concurrently.ts';
import { abortAll, commitAll, handlesOf } from './notify.ts';
import type { PulseRun } from './pulse-run.ts';
import { changeJob, changeOf, newestCompletedOf, readExistingJob } from './read-job.ts';
import { restoredEntry, splitName } from './restored-entry.ts';
import { restoredLane } from './restored-lane.ts';
import { createRing, listedRings } from './ring-creation.ts';
import { sealRing } from './seal.ts';

export type RestoreMark =
  /** A restore is under way now, or already was: `restoring` says of what. */
  | { readonly kind: 'marked'; readonly item: JobItem }
  /** The job has no completed checkpoint, or not the one that was named. */
  | { readonly kind: 'no-checkpoint'; readonly item: JobItem };

/**
 * Marks the job for a restore, which pulses carry out.
 * @param wanted  a retained checkpoint by number, or the newest one at the time of the mark
 */
export async function startRestore(ports: InvocationPorts, wanted: number | 'latest'): Promise<RestoreMark> {
  for (;;) {
    const { item: seen } = await readExistingJob(ports);
    if (seen.restoring !== undefined) return { kind: 'marked', item: seen };
    const checkpoint = wanted === 'latest' ? newestCompletedOf(seen) : wanted;
    if (!seen.completed.some((c) => c.checkpoint === checkpoint)) return { kind: 'no-checkpoint', item: seen };
    const item = await changeJob(ports, (now) => withRestoreMark(now, { checkpoint, isOlderMeant: wanted !== 'latest' }));
    if (item.restoring !== undefined) return { kind: 'marked', item };
  }
}

/** Pure: the item with the mark, or the same one when the checkpoint is not what is to be restored any more. */
export function withRestoreMark(item: JobItem, wanted: { readonly checkpoint: number; readonly isOlderMeant: boolean }): JobItem {
  const { checkpoint, isOlderMeant } = wanted;
  const completed = item.completed.find((c) => c.checkpoint === checkpoint);
  if (item.restoring !== undefined || completed === undefined) return item;
  if (!isOlderMeant && checkpoint !== newestCompletedOf(item)) return item;
  const generation = item.generation + 1;
  const { owners } = completed;
  return {
    ...item,
    status: 'running',
    failure: undefined,
    open: [],
    moving: undefined,
    restoring: { checkpoint, generation, epoch: item.begun + 1, owners },
    rings: listedRings(item, generation, owners),
  };
}

/** Carries a restore out, or on from where another coordinator left it. */
export async function continueRestore(run: PulseRun): Promise<void> {
  const { restoring } = run.item;
  if (restoring === undefined) return;
  const seals = await sealAll(run);
  await run.refresh();
  if (run.item.restoring?.generation !== restoring.generation) return;
  const completed = run.item.completed.find((c) => c.checkpoint === restoring.checkpoint);
  if (completed === undefined) throw notListed(restoring);
  const until = withSealed(run.item.until, seals);
  await settle(run, completed, seals);
  // Another restore, or none, by now: the next pulse reads the item again.
  if (!(await createRings(run, { completed, restoring, until, seals }))) return;
  await run.change((item) => withRestored(item, restoring, until));
  run.hasEnded = true;
  if (run.item.generation === restoring.generation)
    run.tell({ kind: 'restored', checkpoint: restoring.checkpoint, generation: restoring.generation });
}

async function sealAll(run: PulseRun): Promise<readonly EntryHead[]> {
  const { owners, ringSlots, restoring } = run.item;
  const why = `restore-${restoring?.generation}`;
  const seals = await concurrently(owners, run.concurrency, ({ subtask }) =>
    sealRing(run.options.ports, { ring: run.ring(subtask), slots: ringSlots, why, isResumable: false }),
  );
  return seals.filter((seal) => seal !== undefined && seal !== 'refused');
}

async function settle(run: PulseRun, completed: CompletedCheckpoint, seals: readonly EntryHead[]): Promise<void> {
  const restored = transactionsOf(headsOf(await handlesOf(run, completed)));
  const kept = new Set(restored.map(transactionKey));
  await commitAll(run, restored);
  await abortAll(
    run,
    transactionsOf(seals).filter((t) => !kept.has(transactionKey(t))),
  );
}

/** @returns false: the job item asks for something else by now */
async function createRings(
  run: PulseRun,
  p: {
    readonly completed: CompletedCheckpoint;
    readonly restoring: Restoring;
    readonly until: JobItem['until'];
    readonly seals: readonly EntryHead[];
  },
): Promise<boolean> {
  const { item, options } = run;
  const handles = await handlesOf(run, p.completed);
  const change = changeOf(item);
  const outcomes = await concurrently(p.restoring.owners, run.concurrency, async (owner) => {
    const handle = handles.find((h) => h.subtask === owner.subtask);
    if (handle === undefined) throw notListed(p.restoring);
    const lane = await restoredLane(options.ports, {
      sealed: run.ring(owner.subtask),
      slots: item.ringSlots,
      head: decodeHead(handle.head),
      generation: p.restoring.generation,
      isReplayed: options.plan.settings.checkpoints?.mode !== 'AT_MOST_ONCE',
    });
    const entry = await restoredEntry(options.ports, { ...p, owner, handle, lane, slots: item.ringSlots, plan: options.plan });
    return createRing(options.ports, { entry, slots: item.ringSlots, change });
  });
  return !outcomes.includes('refused');
}

/** Pure: how far every split has been read in any generation, with what the seals say. */
export function withSealed(until: JobItem['until'], seals: readonly EntryHead[]): JobItem['until'] {
  const furthest = new Map(until);
  for (const { subtask, splits } of seals) {
    for (const { ordinal, position, replayUntil } of splits) {
      const split = splitName(subtask, ordinal);
      furthest.set(split, Math.max(furthest.get(split) ?? 0, position?.index ?? 0, replayUntil));
    }
  }
  return [...furthest];
}

/** Pure: the item in its new generation, or the same one when this restore is over. */
export function withRestored(item: JobItem, restoring: Restoring, until: JobItem['until']): JobItem {
  const { checkpoint, generation, owners } = restoring;
  if (item.restoring?.generation !== generation) return item;
  return {
    ...item,
    generation,
    restoring: undefined,
    restores: [...item.restores, { generation, checkpoint }],
    completed: item.completed.filter((c) => c.checkpoint <= checkpoint),
    confirmed: Math.max(checkpoint, item.confirmed),
    failuresInARow: 0,
    owners,
    until,
  };
}

function notListed({ checkpoint }: Restoring): SluiceError {
  return new SluiceError('CHECKPOINT_NOT_FOUND', {
    message: `checkpoint ${checkpoint}, which is being restored, does not name all of its owners`,
    next: 'repair-state',
    checkpoint,
  });
}
