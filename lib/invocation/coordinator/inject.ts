// Reaching subtasks: barriers, replays and ticks. Nothing here is lost when a call fails or is never answered, since every pulse asks again.
//   I1  A source gets the barrier until it has acknowledged. Others get it through their channels; from the second pulse on they are handed it
//       too, for those whose inputs have all ended, and for an acknowledgement that was lost.
//   I2  A replay is over when a call answers that nothing is left to read (`done`; one that reads something answers `partial`): it has delivered
//       the newest entry. That the log shows the position is not enough, for the entry that took it there may lie undelivered, and nobody else
//       may ever come by.
//   I3  A source subtask without a split hears of its end from ticks only.

import type { Answer, Invocation } from '../invocation.ts';
import type { OpenCheckpoint, Owner } from '../job-item.ts';
import { isQueue } from '../lane/queues.ts';
import type { Acknowledged } from './completion.ts';
import { concurrently } from './concurrently.ts';
import { sourceOf } from './owners.ts';
import type { PulseRun } from './pulse-run.ts';
import { newestCompletedOf } from './read-job.ts';

const replayRecordsMaxDefault = 1_000;

export interface Injection {
  readonly open: OpenCheckpoint;
  readonly acknowledged: Acknowledged;
  /** This pulse began it. */
  readonly isNew: boolean;
}

/** Everyone who is to be handed a barrier. */
export function barrierTargets(run: PulseRun, { open, acknowledged, isNew }: Injection): readonly Owner[] {
  const isForAll = !isNew || open.trigger === 'final';
  return run.item.owners.filter(
    ({ subtask, stage }) =>
      open.owners.includes(subtask) && !acknowledged.has(subtask) && (isForAll || sourceOf(run.options.plan.stages[stage]) !== undefined),
  );
}

export async function injectBarriers(run: PulseRun, injections: readonly Injection[]): Promise<void> {
  const lastCompleted = newestCompletedOf(run.item);
  for (const injection of injections) {
    const { checkpoint, generation } = injection.open;
    await concurrently(barrierTargets(run, injection), run.concurrency, ({ subtask }) =>
      ask(run, { kind: 'barrier', subtask, generation, checkpoint, lastCompleted }),
    );
  }
}

export async function tick(run: PulseRun): Promise<void> {
  const { ticks, plan } = run.options;
  // Who waits for the barriers of an aborted checkpoint holds records back until it is told.
  const isTold = (owner: Owner): boolean => run.hasAborted && (plan.stages[owner.stage]?.inputs.length ?? 0) > 0;
  const isUnread = ({ stage, splits }: Owner): boolean => splits.length === 0 && sourceOf(plan.stages[stage]) !== undefined;
  const owners = run.item.owners.filter((owner) => isTold(owner) || isUnread(owner) || ticks?.(owner) === true);
  await concurrently(owners, run.concurrency, ({ subtask }) => ask(run, { kind: 'tick', subtask }));
}

export function replayedName(generation: number, subtask: string): string {
  return `replayed/${generation}/${subtask}`;
}

/** One slice for each subtask that has not replayed up to its parents. @returns whether any has not */
export async function replay(run: PulseRun): Promise<boolean> {
  const { item, options } = run;
  if (item.restores.length === 0) return false;
  const rereading = item.owners.filter(({ stage }) => {
    const source = sourceOf(options.plan.stages[stage]);
    return source !== undefined && (source.isRereadable || isQueue(source));
  });
  if (rereading.length === 0) return false;
  const markers = await options.ports.items.list(replayedName(item.generation, ''));
  const over = new Set(markers.map(({ name }) => name));
  const left = rereading.filter(({ subtask }) => !over.has(replayedName(item.generation, subtask)));
  const ends = await concurrently(left, run.concurrency, (owner) => replaySlice(run, owner));
  return ends.includes(false);
}

/** @returns whether the subtask has replayed everything */
async function replaySlice(run: PulseRun, { subtask }: Owner): Promise<boolean> {
  const { item, options } = run;
  const recordsMax = options.replayRecordsMax ?? replayRecordsMaxDefault;
  const answer = await ask(run, { kind: 'replay', subtask, generation: item.generation, recordsMax });
  if (answer?.kind !== 'done') return false;
  const name = replayedName(item.generation, subtask);
  await options.ports.items.put({ name, content: { bytes: new Uint8Array(0), change: '' }, expects: 'any' });
  return true;
}

/** @returns `undefined` when the call failed: nobody knows what it did */
export async function ask(run: PulseRun, invocation: Invocation): Promise<Answer | undefined> {
  try {
    return await run.options.control.invoke(invocation);
  } catch (e) {
    run.notice(`${invocation.kind} of subtask ${invocation.subtask} got no answer`, e);
    return undefined;
  }
}
