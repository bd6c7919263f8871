// Restoring a checkpoint: mark, seal, settle, create, raise. Each step is conditional, so a restore that was cut off anywhere is run again from
// the job item, by anybody.
//   T1  The mark is conditional on the checkpoint still being the newest completed one, unless an older one was named: what completed meanwhile
//       may be visible already. It voids what is open, cancels a change of owners, and lists the rings that are going to be. Until its generation
//       is raised another checkpoint may be named instead, and a cancel gives it up: each mark has a generation that no other mark ever had.
//   T2  Rings are sealed before anything is read from them: behind a seal nobody commits, acknowledges, or takes input any more.
//   T3  Transactions are settled before the generation rises: those of the checkpoint are committed, all others of the sealed tails aborted, and
//       a target keeps both decisions, so that nobody who sleeps through the restore can change them. Where an older checkpoint is restored, what
//       newer ones promised is committed first: some of it may be visible, and half of a checkpoint's output is no output. What can never be
//       committed is written down and told, and the restore goes on (losses.ts). What a cancel had left unsettled is settled here.
//   T4  Owners are those of the checkpoint. How far each split had been read is kept over all generations, also for subtasks that the checkpoint
//       does not know: up to there only a replay may read.
//   T5  Numbers go on: the new rings begin in an epoch above every checkpoint that was ever begun.
//   T6  A store that is a copy knows neither checkpoints nor generations of its original since. The mark of its restore passes them by in the same
//       write, because a message or an object of the original with a number of ours would be taken for our own.

import { SluiceError } from '../../core/errors.ts';
import type { Plan } from '../../graph/plan.ts';
import { freshGeneration, withBegin } from '../begins.ts';
import type { EntryHead, PendingTransaction } from '../entry.ts';
import { decodeHead } from '../entry-codec.ts';
import type { CompletedCheckpoint, JobItem, Restoring } from '../job-item.ts';
import type { InvocationPorts } from '../ports.ts';
import { forgetLoss, isDefinite, listLosses } from '../sinks/losses.ts';
import { headsOf, transactionKey, transactionsOf } from './checkpoint-objects.ts';
import { concurrently } from './concurrently.ts';
import { abortAll, commitAll, handlesOf } from './notify.ts';
import { sourceOf } from './owners.ts';
import type { PulseRun } from './pulse-run.ts';
import { changeJob, changeOf, newestCompletedOf, readExistingJob } from './read-job.ts';
import { restoredEntry, splitName } from './restored-entry.ts';
import { restoredLane } from './restored-lane.ts';
import { createRing, listedRings } from './ring-creation.ts';
import { isSealOfRestore, restoreWriter, sealRing } from './seal.ts';

export type RestoreMark =
  /** A restore is under way now, or already was: `restoring` says of what. A number that was named took the place of another one. */
  | { readonly kind: 'marked'; readonly item: JobItem }
  /** The job has no completed checkpoint, or not the one that was named. */
  | { readonly kind: 'no-checkpoint'; readonly item: JobItem };

/** What the original of a store may have numbered since the store was copied: all numbers of the copy are above it. */
export interface PassedBy {
  readonly begun: number;
  readonly generation: number;
}

const passesNothing: PassedBy = { begun: 0, generation: -1 };

/**
 * Marks the job for a restore, which pulses carry out.
 * @param wanted  a retained checkpoint by number, or the newest one at the time of the mark
 * @param passedBy  where the store is a copy
 */
export async function startRestore(
  ports: InvocationPorts,
  wanted: number | 'latest',
  passedBy: PassedBy = passesNothing,
): Promise<RestoreMark> {
  for (;;) {
    const { item: seen } = await readExistingJob(ports);
    const isAsked = seen.restoring !== undefined && (wanted === 'latest' || wanted === seen.restoring.checkpoint);
    if (isAsked && hasPassed(seen, passedBy)) return { kind: 'marked', item: seen };
    const checkpoint = wanted === 'latest' ? newestCompletedOf(seen) : wanted;
    if (!seen.completed.some((c) => c.checkpoint === checkpoint)) return { kind: 'no-checkpoint', item: seen };
    const item = await changeJob(ports, (now) => withRestoreMark(now, { checkpoint, isOlderMeant: wanted !== 'latest', passedBy }));
    if (item.restoring !== undefined && (wanted === 'latest' || wanted === item.restoring.checkpoint)) return { kind: 'marked', item };
  }
}

/** Pure: the item with the mark, or the same one when the checkpoint is not what is to be restored any more. */
export function withRestoreMark(
  item: JobItem,
  wanted: { readonly checkpoint: number; readonly isOlderMeant: boolean; readonly passedBy?: PassedBy },
): JobItem {
  const { checkpoint, isOlderMeant, passedBy = passesNothing } = wanted;
  const completed = item.completed.find((c) => c.checkpoint === checkpoint);
  if (completed === undefined) return item;
  const isMarked = item.restoring !== undefined && hasPassed(item, passedBy);
  if (isMarked && (!isOlderMeant || item.restoring?.checkpoint === checkpoint)) return item;
  if (!isOlderMeant && checkpoint !== newestCompletedOf(item)) return item;
  const generation = Math.max(freshGeneration(item), passedBy.generation + 1);
  const begun = Math.max(item.begun, passedBy.begun);
  const { owners } = completed;
  return {
    ...item,
    status: 'running',
    failure: undefined,
    begun,
    open: [],
    moving: undefined,
    restoring: { checkpoint, generation, epoch: begun + 1, owners },
    rings: listedRings(item, generation, owners),
  };
}

function hasPassed({ restoring, generation, begun }: JobItem, passedBy: PassedBy): boolean {
  return (restoring?.generation ?? generation) > passedBy.generation && begun >= passedBy.begun;
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
  const places = withSealedPlaces(run.item.places, seals, run.options.plan);
  const newest = newestCompletedOf(run.item);
  await settle(run, completed, seals);
  // Another restore, or none, by now: the next pulse reads the item again.
  if (!(await createRings(run, { completed, restoring, until, seals }))) return;
  const nowMs = run.options.clock.now();
  await run.change((item) => withRestored(item, restoring, { until, places, nowMs }));
  run.hasEnded = true;
  if (run.item.generation !== restoring.generation) return;
  run.tell({ kind: 'restored', checkpoint: restoring.checkpoint, generation: restoring.generation });
  if (newest > restoring.checkpoint)
    run.tell({
      kind: 'notice',
      message: `checkpoint ${restoring.checkpoint} is older than ${newest}: output of checkpoint ${newest} is visible and stays so, and what is worked out again comes again`,
    });
}

async function sealAll(run: PulseRun): Promise<readonly EntryHead[]> {
  const { owners, ringSlots, restoring } = run.item;
  const why = restoreWriter(restoring?.generation);
  const seals = await concurrently(owners, run.concurrency, ({ subtask }) =>
    sealRing(run.options.ports, { ring: run.ring(subtask), slots: ringSlots, why, isResumable: false }),
  );
  return seals.filter((seal) => seal !== undefined && seal !== 'refused');
}

async function settle(run: PulseRun, completed: CompletedCheckpoint, seals: readonly EntryHead[]): Promise<void> {
  const newest = run.item.completed.at(-1) ?? completed;
  const promised = [completed, newest].filter((c, i) => i === 0 || c.checkpoint > completed.checkpoint);
  const listed: PendingTransaction[] = [];
  for (const one of promised) listed.push(...transactionsOf(headsOf(await handlesOf(run, one))));
  const kept = new Map(listed.map((t) => [transactionKey(t), t]));
  await commitAll(run, [...kept.values()]);
  const unsettled = await leftByCancel(run, seals);
  const others = new Map([...transactionsOf(seals), ...unsettled].map((t) => [transactionKey(t), t]));
  await abortAll(
    run,
    [...others.values()].filter((t) => !kept.has(transactionKey(t))),
  );
  for (const t of unsettled) await forgetLoss(run.options.ports.items, t);
}

/** The job stood still before, by a cancel perhaps; its rings may be closed, and then only notes know of what it left. */
async function leftByCancel(run: PulseRun, seals: readonly EntryHead[]): Promise<readonly PendingTransaction[]> {
  if (seals.length === run.item.owners.length && seals.every(isSealOfRestore)) return [];
  const noted = await listLosses(run.options.ports.items);
  return noted.filter((loss) => !isDefinite(loss)).map(({ transaction }) => transaction);
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

/** Pure: what `JobItem.places` says, with what the seals say. The source has to be asked which place is the further one. */
export function withSealedPlaces(places: JobItem['places'], seals: readonly EntryHead[], plan: Plan): JobItem['places'] {
  const furthest = new Map(places);
  for (const { subtask, splits } of seals) {
    const comparePlaces = sourceOf(plan.stages[Number.parseInt(subtask, 10)])?.comparePlaces;
    for (const { ordinal, position, malformed } of splits) {
      const split = splitName(subtask, ordinal);
      if (comparePlaces === undefined) {
        if (malformed > ((furthest.get(split) as number | undefined) ?? 0)) furthest.set(split, malformed);
        continue;
      }
      if (position === undefined || (furthest.has(split) && comparePlaces(position.at, furthest.get(split)) <= 0)) continue;
      furthest.set(split, position.at);
    }
  }
  return furthest.size === 0 ? undefined : [...furthest];
}

/** Pure: the item in its new generation, or the same one when this restore is over. */
export function withRestored(
  item: JobItem,
  restoring: Restoring,
  o: Pick<JobItem, 'until' | 'places'> & { readonly nowMs: number },
): JobItem {
  const { until, places, nowMs } = o;
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
    places,
    begins: withBegin(item.begins, generation, nowMs),
  };
}

function notListed({ checkpoint }: Restoring): SluiceError {
  return new SluiceError('CHECKPOINT_NOT_FOUND', {
    message: `checkpoint ${checkpoint}, which is being restored, does not name all of its owners`,
    next: 'repair-state',
    checkpoint,
  });
}
