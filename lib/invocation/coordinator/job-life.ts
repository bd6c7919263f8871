// Pausing, resuming, cancelling and failing a job. A request is one conditional write; pulses carry it out.
//   L1  A warm environment that reads nothing cannot know that the job stands still, so every ring is sealed before the job is said to.
//   L2  Whatever was open is void with the request: nothing completes while rings are being sealed.
//   L3  A job goes on in its own generation, since what is on its way between subtasks is of that generation. So it can be resumed only when all
//       rings are sealed, and is running only when all are open again. Seals of a stop and openings of a resume are put only while the job item
//       asks for them: a coordinator that slept through a resume seals nothing, and one that slept through a restore opens nothing.
//       A cancel gives up a restore that is under way: what cannot be settled there must not keep a job from ending. Its rings are sealed already.
//       Nor does what a target does not let it withdraw (abandon.ts).
//   L4  What a completed checkpoint promised is kept until it is visible, however the job ended.

import { decideRetention, type JobEnd } from '../../checkpoint/decide/retention.ts';
import { SluiceError } from '../../core/errors.ts';
import { withoutRestore } from '../begins.ts';
import type { EntryHead } from '../entry.ts';
import type { JobItem, JobStatus } from '../job-item.ts';
import type { InvocationPorts } from '../ports.ts';
import { abandon } from './abandon.ts';
import { concurrently } from './concurrently.ts';
import { openRing } from './opening.ts';
import type { PulseRun } from './pulse-run.ts';
import { changeJob, changeOf, newestCompletedOf } from './read-job.ts';
import { withSealed, withSealedPlaces } from './restore.ts';
import { sealRing } from './seal.ts';

/** What becomes of a job that is asked to. `undefined`: it does nothing, being there already. */
type Requested = 'pausing' | 'cancelling' | 'failing';

const requestable: Readonly<Record<Requested, readonly JobStatus[]>> = {
  pausing: ['running', 'resuming'],
  cancelling: ['running', 'resuming', 'pausing', 'paused', 'failing', 'failed'],
  failing: ['running', 'resuming', 'pausing'],
};
const isThere: Readonly<Record<Requested, readonly JobStatus[]>> = {
  pausing: ['pausing', 'paused'],
  cancelling: ['cancelling', 'cancelled'],
  failing: ['failing', 'failed'],
};

const doneText: Readonly<Record<Requested, string>> = { pausing: 'paused', cancelling: 'cancelled', failing: 'failed' };

/** @throws SluiceError `JOB_NOT_IN_STATE` as all of these, when the job has ended or is about to do something else */
export function requestPause(ports: InvocationPorts): Promise<JobItem> {
  return changeJob(ports, (item) => withRequest(item, 'pausing'));
}

export function requestCancel(ports: InvocationPorts): Promise<JobItem> {
  return changeJob(ports, (item) => withRequest(item, 'cancelling'));
}

/** @param failure  why, for people */
export function requestFail(ports: InvocationPorts, failure: string): Promise<JobItem> {
  return changeJob(ports, (item) => withRequest(item, 'failing', failure));
}

/** Pure. */
export function withRequest(item: JobItem, wanted: Requested, failure?: string): JobItem {
  const left = wanted === 'cancelling' ? withoutRestore(item) : item;
  if (isThere[wanted].includes(item.status)) return left;
  if (!requestable[wanted].includes(item.status)) throw notInState(item, `is ${item.status} and cannot be ${doneText[wanted]}`);
  return { ...left, status: wanted, failure: failure ?? item.failure, open: [] };
}

/** Lets a paused job go on, or one that failed: from its changelogs, nothing is restored. One that runs is left as it is. */
export function requestResume(ports: InvocationPorts): Promise<JobItem> {
  return changeJob(ports, withResume);
}

/** Pure. */
export function withResume(item: JobItem): JobItem {
  if (item.status === 'running' || item.status === 'resuming') return item;
  if (item.status !== 'paused' && item.status !== 'failed') throw notInState(item, `is ${item.status} and cannot be resumed`);
  return { ...item, status: 'resuming' };
}

/** Opens the rings of a job that is being resumed, and lets it run when all of them are open. */
export async function resume(run: PulseRun): Promise<void> {
  const { status, owners, restoring } = run.item;
  if (status !== 'resuming' || restoring !== undefined) return;
  const change = changeOf(run.item);
  const opened = await concurrently(owners, run.concurrency, ({ subtask }) => openRing(run, subtask, change));
  if (opened.includes(false)) return;
  await run.changeUnderSame({ ...run.item, status: 'running', failure: undefined, failuresInARow: 0, expiredInARow: 0 });
}

const endOf: Readonly<Partial<Record<JobStatus, 'paused' | JobEnd>>> = { pausing: 'paused', cancelling: 'cancelled', failing: 'failed' };

/** Seals everything and ends what was asked to end. */
export async function stop(run: PulseRun): Promise<void> {
  const end = endOf[run.item.status];
  if (end === undefined) return;
  const seals = await sealOwners(run, { why: end, isResumable: end !== 'cancelled', change: changeOf(run.item) });
  if (seals === 'refused') return;
  if (end === 'cancelled' && !(await abandon(run, seals))) return;
  // The rings of a cancelled job may go before somebody restores it; how far they had read must not go with them.
  const until = withSealed(run.item.until, seals);
  const places = withSealedPlaces(run.item.places, seals, run.options.plan);
  const ended = withEnd({ ...run.item, until, places }, end, run.settings);
  if (!(await run.changeUnderSame(ended))) return;
  run.hasEnded = true;
  run.tell({ kind: 'ended', status: run.item.status });
}

/** The job is over when its last checkpoint is complete and visible. */
export async function finishIfComplete(run: PulseRun): Promise<void> {
  const last = run.item.completed.at(-1);
  if (last?.trigger !== 'final' || last.generation !== run.item.generation || run.item.confirmed < last.checkpoint) return;
  await sealOwners(run, { why: 'finished', isResumable: true }); // a pause may come first, and then the job goes on from these
  const mayFinish = (item: JobItem): boolean =>
    item.status === 'running' &&
    item.restoring === undefined &&
    item.generation === last.generation &&
    newestCompletedOf(item) === last.checkpoint;
  await run.change((item) => (mayFinish(item) ? withEnd({ ...item, open: [] }, 'finished', run.settings) : item));
  if (run.item.status !== 'finished') return;
  run.hasEnded = true;
  run.tell({ kind: 'ended', status: 'finished' });
}

/** A job that ended keeps what was promised until it is visible; then its setting says what stays. */
export async function retainAfterEnd(run: PulseRun): Promise<void> {
  const { status, completed } = run.item;
  if (status !== 'cancelled' && status !== 'failed' && status !== 'finished') return;
  await run.change((item) => (item.status === status ? withEnd(item, status, run.settings) : item));
  if (run.item.completed.length < completed.length) run.hasEnded = true;
}

/** Pure: the item of a job that stands still, with the checkpoints that stay. */
export function withEnd(item: JobItem, end: 'paused' | JobEnd, settings: PulseRun['settings']): JobItem {
  if (end === 'paused') return { ...item, status: end };
  const kept = decideRetention({
    end,
    cleanup: settings.externalizedCleanup,
    isNewestConfirmed: item.confirmed >= newestCompletedOf(item),
    completed: item.completed.map((c) => c.checkpoint).reverse(),
    numRetained: settings.numRetained,
  }).checkpoints;
  if (item.status === end && kept.length === item.completed.length) return item;
  // A cancelled job does not go on with a change of owners; a failed one may.
  const moving = end === 'failed' ? item.moving : undefined;
  return { ...item, status: end, moving, completed: item.completed.filter((c) => kept.includes(c.checkpoint)) };
}

async function sealOwners(
  run: PulseRun,
  p: { readonly why: string; readonly isResumable: boolean; readonly change?: string },
): Promise<readonly EntryHead[] | 'refused'> {
  const { owners, ringSlots } = run.item;
  const rings = owners.map(({ subtask }) => run.ring(subtask));
  const seals = await concurrently(rings, run.concurrency, (ring) => sealRing(run.options.ports, { ring, slots: ringSlots, ...p }));
  if (seals.includes('refused')) return 'refused';
  return seals.filter((seal) => seal !== undefined && seal !== 'refused');
}

function notInState(item: JobItem, what: string): SluiceError {
  return new SluiceError('JOB_NOT_IN_STATE', { message: `job ${item.job} ${what}`, next: 'fix-the-command', job: item.job });
}
