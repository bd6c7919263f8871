// A pulse moves whatever is pending one step on. It may run twice, at the same time as another, or die anywhere: all truth is in conditional
// writes on the job item, and every step begins from what it says.
//   U1  A restore comes before everything else, and nothing else happens until it is over.
//   U2  What is open ends before anything is told, told before anything is cleaned up, and cleaned up before anything begins.
//   U3  A call that fails, of a subtask or of a target, is made again by the next pulse. A store that fails ends the pulse, and nothing is lost.
//   U4  A pulse that was asleep may miss what others have removed since. It is an error only if the job item is still the one that it went by.

import type { SourceContext } from '../../api/source.ts';
import { isSluiceError } from '../../core/errors.ts';
import type { Clock, Random } from '../../core/ports.ts';
import type { Plan } from '../../graph/plan.ts';
import type { Control, TransactionSettler } from '../control.ts';
import type { JobItem, Owner } from '../job-item.ts';
import { checkPlan } from '../plan-check.ts';
import type { InvocationPorts } from '../ports.ts';
import { beginIfDue } from './begin.ts';
import { collect } from './collect.ts';
import { type Acknowledged, endOpenCheckpoints } from './completion.ts';
import { finishCreation, isBeingCreated } from './create-job.ts';
import type { PulseMemory } from './facts.ts';
import { type Injection, injectBarriers, replay, tick } from './inject.ts';
import { finishIfComplete, resume, retainAfterEnd, stop } from './job-life.ts';
import { move } from './move.ts';
import { notifyCompleted } from './notify.ts';
import { PulseRun } from './pulse-run.ts';
import { isStopping, readJob } from './read-job.ts';
import { continueRestore } from './restore.ts';

export interface PulseOptions {
  readonly ports: InvocationPorts;
  readonly plan: Plan;
  readonly control: Control;
  readonly settler: TransactionSettler;
  readonly clock: Clock;
  readonly random: Random;
  /** Who is ticked by this pulse; nobody when absent. Whoever calls knows how long ago the last ticks were. */
  readonly ticks?: (owner: Owner) => boolean;
  /** Records of one slice of a replay, 1,000 when absent. */
  readonly replayRecordsMax?: number;
  /** Invocations under way at once, 32 when absent. */
  readonly concurrency?: number;
  /** What one environment remembers from pulse to pulse; saves reads. */
  readonly memory?: PulseMemory;
  /** What sources are asked with, by uid: needed where one says that its splits give way to others. */
  readonly sourceContext?: (uid: string) => SourceContext;
  /** This pulse also looks for objects that running subtasks have left behind: some lists, and one read for each subtask. */
  readonly sweeps?: boolean;
  readonly onEvent?: (event: PulseEvent) => void;
}

export type PulseEvent =
  | { readonly kind: 'checkpoint-begun'; readonly checkpoint: number }
  | { readonly kind: 'checkpoint-completed'; readonly checkpoint: number; readonly durationMs: number; readonly bytes: number }
  | { readonly kind: 'checkpoint-failed'; readonly checkpoint: number; readonly reason: string }
  | { readonly kind: 'restored'; readonly checkpoint: number; readonly generation: number }
  | { readonly kind: 'ended'; readonly status: JobItem['status'] }
  /** Something that is tried again by the next pulse did not happen. */
  | { readonly kind: 'notice'; readonly message: string };

export interface PulseReport {
  /** The job item at the end of the pulse; `undefined`: there is no such job. */
  readonly item: JobItem | undefined;
  /** Something is under way that another pulse would move on: it should not wait for the next minute. */
  readonly isBusy: boolean;
}

/**
 * @throws SluiceError `PLAN_CHANGED` when the job runs another plan, `CHECKPOINT_NOT_FOUND` when a restore needs what is gone, and what the ports
 *   reject with; then the next pulse goes on from where this one came to
 */
export async function pulse(options: PulseOptions): Promise<PulseReport> {
  const job = await readJob(options.ports);
  if (job === undefined) return { item: undefined, isBusy: false };
  checkPlan(job.item, options.plan);
  const run = new PulseRun(options, job);
  try {
    const isReplaying = await moveAll(run);
    return { item: run.item, isBusy: isReplaying || isPending(run.item) };
  } catch (e) {
    if (!isGone(e) || !(await run.isOvertaken())) throw e;
    run.notice('others went on meanwhile', e);
    return { item: run.item, isBusy: true };
  }
}

const goneCodes: readonly string[] = ['CHECKPOINT_NOT_FOUND', 'OBJECT_MISSING'];

function isGone(e: unknown): boolean {
  return isSluiceError(e) && goneCodes.includes(e.code);
}

/** @returns whether a replay is left */
async function moveAll(run: PulseRun): Promise<boolean> {
  const { ports, plan } = run.options;
  if (isBeingCreated(run.item)) {
    await finishCreation(ports, run.item, plan);
    await run.refresh();
  }
  await continueRestore(run);
  await resume(run);
  return run.item.status === 'running' ? moveOn(run) : standStill(run);
}

/** @returns whether a replay is left */
async function moveOn(run: PulseRun): Promise<boolean> {
  await run.change((item) => withTimesUpTo(item, run.options.clock.now()));
  const waiting = await endOpenCheckpoints(run);
  await notifyCompleted(run);
  if (run.item.status !== 'running') return standStill(run);
  await finishIfComplete(run);
  if (run.item.status !== 'running') return standStill(run);
  await move(run);
  await collect(run);
  const begun = await beginIfDue(run);
  const isReplaying = await replay(run);
  await injectBarriers(run, injectionsOf(run.item, waiting, begun?.checkpoint));
  await tick(run);
  return isReplaying;
}

async function standStill(run: PulseRun): Promise<false> {
  await notifyCompleted(run);
  await stop(run);
  await retainAfterEnd(run);
  await collect(run);
  return false;
}

function injectionsOf(item: JobItem, waiting: ReadonlyMap<number, Acknowledged>, begun: number | undefined): readonly Injection[] {
  return item.open.map((open) => ({
    open,
    acknowledged: waiting.get(open.checkpoint) ?? new Map(),
    isNew: open.checkpoint === begun,
  }));
}

/**
 * Pure: times that lie ahead of a clock become its now, so that an interval or a time-out lasts as long as it should and not until the clock has
 * caught up with one that was wrong, or that was set back since.
 */
export function withTimesUpTo(item: JobItem, nowMs: number): JobItem {
  const { lastBegunMs, lastEndedMs, open } = item;
  if (lastBegunMs <= nowMs && (lastEndedMs ?? nowMs) <= nowMs && open.every(({ begunMs }) => begunMs <= nowMs)) return item;
  return {
    ...item,
    lastBegunMs: Math.min(lastBegunMs, nowMs),
    lastEndedMs: lastEndedMs === undefined ? undefined : Math.min(lastEndedMs, nowMs),
    open: open.map((o) => ({ ...o, begunMs: Math.min(o.begunMs, nowMs) })),
  };
}

/** Pure: whether another pulse would find something to do at once. */
export function isPending(item: JobItem): boolean {
  const { status, restoring, moving, open, completed, confirmed } = item;
  const isOnItsWay = isStopping(status) || status === 'resuming';
  const isUntold = (completed.at(-1)?.checkpoint ?? 0) > confirmed;
  return restoring !== undefined || moving !== undefined || open.length > 0 || isOnItsWay || isUntold;
}
