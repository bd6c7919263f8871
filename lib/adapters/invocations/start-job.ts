// What a run finds in the job's file, and what it makes of it.
//   S1  No job: it is created. A job that stands in the middle of its work goes on from its changelogs; `--from` goes back to a checkpoint first.
//   S2  A finished job is not run again: whoever starts a run twice to be sure that it ends gets its output once.

import { resolve } from 'node:path';
import type { SourceContext, Split } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Plan } from '../../graph/plan.ts';
import { createJob } from '../../invocation/coordinator/create-job.ts';
import { requestResume } from '../../invocation/coordinator/job-life.ts';
import { readJob } from '../../invocation/coordinator/read-job.ts';
import { startRestore } from '../../invocation/coordinator/restore.ts';
import type { JobItem } from '../../invocation/job-item.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { sinksOf } from '../../invocation/sinks/planned-sinks.ts';
import { forgetStarts, startSinks } from '../../invocation/sinks/start-sinks.ts';
import { nodeByteStreams } from '../embedded/node-byte-streams.ts';
import { nodeFileSystem } from '../embedded/node-file-system.ts';
import { systemClock } from '../embedded/system-clock.ts';
import { copyRefused, noteHome, originalOf } from './file-home.ts';
import { sourcesOf } from './logged-plan.ts';
import type { InvocationsRequest } from './run-request.ts';
import { type RecordedStart, recordedStart, recordStart } from './tools.ts';

export type Start =
  | { readonly kind: 'run'; readonly item: JobItem; readonly restored: number | undefined }
  /** Nothing is left to do. */
  | { readonly kind: 'finished-before'; readonly item: JobItem };

export interface StartOptions {
  readonly request: InvocationsRequest;
  /** The job's own. */
  readonly plan: Plan;
  readonly ports: InvocationPorts;
  /** Path of the job's file. */
  readonly database: string;
  readonly notice: (message: string) => void;
  readonly countSkipped: () => void;
}

/** @throws SluiceError `PLAN_CHANGED`, `CHECKPOINT_NOT_FOUND`, `JOB_NOT_IN_STATE`, `INPUT_NOT_FOUND`, `OUTPUT_NOT_WRITABLE` … */
export async function startJob(o: StartOptions): Promise<Start> {
  const { plan, ports, request, notice, database } = o;
  const existing = await readJob(ports);
  const original = existing === undefined ? undefined : await originalOf(ports, database);
  const start: RecordedStart = {
    file: resolve(request.workingDirectory, request.file),
    params: [...request.params],
    global: request.global,
    parallelism: request.parallelism,
  };
  if (existing === undefined) {
    await recordStart(ports, start);
    await noteHome(ports, database);
    return { kind: 'run', item: await beginJob(o), restored: undefined };
  }
  const hasCheckpoint = existing.item.completed.length > 0;
  const { from } = request;
  if (original !== undefined && (from === undefined || !hasCheckpoint)) {
    throw copyRefused({ job: plan.job, database, original, hasCheckpoint });
  }
  const item = await createJob(ports, { plan, splits: new Map(), nowMs: systemClock.now() });
  const before = await recordedStart(ports);
  await recordStart(ports, start); // only now: a plan that is refused leaves the job as it was started
  if (item.status === 'finished' && (from === undefined || from === 'latest')) return { kind: 'finished-before', item };
  const changed = before === undefined ? undefined : changedParams(plan.job, before.params, start.params);
  if (changed !== undefined) notice(changed);
  if (original !== undefined) await forgetStarts(ports.objects);
  await startSinks({ ...sinkSurroundings(o), generation: item.generation });
  if (from !== undefined && (from !== 'latest' || hasCheckpoint)) return restoreJob(o, from, original !== undefined);
  await noteHome(ports, database);
  if (from === 'latest') notice(`${plan.job} has no completed checkpoint yet; it goes on from its changelogs`);
  return { kind: 'run', item: await goOn(o, item), restored: undefined };
}

async function beginJob(o: StartOptions): Promise<JobItem> {
  const { plan, ports, request, notice } = o;
  if (request.from !== undefined && request.from !== 'latest') throw noSuchCheckpoint(o, request.from);
  if (request.from === 'latest') notice(`${plan.job} has no completed checkpoint yet; it starts from the beginning`);
  const splits = new Map<number, readonly Split[]>();
  for (const { stage, uid, source } of sourcesOf(plan)) splits.set(stage.id, await source.enumerate(sourceContextOf(o)(uid)));
  await startSinks({ ...sinkSurroundings(o), generation: 0 });
  return createJob(ports, { plan, splits, nowMs: systemClock.now() });
}

/** Pure: what to tell of parameters that are not those of the run before; the plan is the same. */
export function changedParams(job: string, before: RecordedStart['params'], now: RecordedStart['params']): string | undefined {
  const [old, given] = [new Map(before), new Map(now)];
  const names = [...new Set([...old.keys(), ...given.keys()])].filter((name) => old.get(name) !== given.get(name));
  if (names.length === 0) return undefined;
  const shown = (value: string | undefined): string => (value === undefined ? 'not given' : `'${value}'`);
  const changes = names.map((name) => `--${name} was ${shown(old.get(name))} and is ${shown(given.get(name))}`);
  return `${job} goes on with other parameters: ${changes.join('; ')}. What its sources read was settled when it began and stays; all else follows them from here`;
}

async function restoreJob(o: StartOptions, from: string, isCopy: boolean): Promise<Start> {
  const { item: before } = (await readJob(o.ports))!;
  const wanted = from === 'latest' ? from : Number(from);
  if (wanted !== 'latest' && !before.completed.some(({ checkpoint }) => checkpoint === wanted)) throw noSuchCheckpoint(o, from);
  const passedBy = isCopy ? { begun: 0, generation: Math.floor(systemClock.now() / 1_000) } : undefined;
  const mark = await startRestore(o.ports, wanted, passedBy);
  if (mark.kind === 'no-checkpoint') throw noSuchCheckpoint(o, from);
  await noteHome(o.ports, o.database);
  return { kind: 'run', item: mark.item, restored: mark.item.restoring?.checkpoint };
}

async function goOn({ plan, ports, notice }: StartOptions, item: JobItem): Promise<JobItem> {
  if (item.status === 'failed') {
    notice(`${plan.job} had failed${item.failure === undefined ? '' : ` (${item.failure})`}; it goes on from its changelogs`);
    return requestResume(ports);
  }
  if (item.status === 'paused') notice(`${plan.job} is paused; \`sluice resume ${plan.job}\` lets it go on`);
  if (item.status !== 'cancelled' && item.status !== 'finished') return item;
  const newest = item.completed.at(-1);
  throw new SluiceError('JOB_NOT_IN_STATE', {
    message: `${plan.job} was ${item.status}, and its changelogs are closed`,
    next: 'fix-the-command',
    advice: newest === undefined ? 'remove its file to begin again' : `--from latest goes on from checkpoint ${newest.checkpoint}`,
    job: plan.job,
  });
}

export function sourceContextOf({ plan, countSkipped }: Pick<StartOptions, 'plan' | 'countSkipped'>): (uid: string) => SourceContext {
  return (uid) => ({ job: plan.job, uid, files: nodeFileSystem, clock: systemClock, streams: nodeByteStreams, countSkipped });
}

function sinkSurroundings({ plan, ports, request, notice }: Omit<StartOptions, 'countSkipped' | 'database'>) {
  const { print, targets } = request;
  return { plan, objects: ports.objects, files: nodeFileSystem, clock: systemClock, targets, print, report: notice };
}

/** Sinks tidy up what only a running job needs. */
export async function tidySinks(o: Omit<StartOptions, 'countSkipped' | 'database'>, generation: number): Promise<void> {
  const surroundings = sinkSurroundings(o);
  for (const { operator, create } of sinksOf(o.plan)) {
    await create().finish?.({ ...surroundings, job: o.plan.job, uid: operator.uid, generation });
  }
}

function noSuchCheckpoint({ plan }: StartOptions, from: string): SluiceError {
  return new SluiceError('CHECKPOINT_NOT_FOUND', {
    message: `${plan.job} has kept no checkpoint ${from}`,
    next: 'fix-the-command',
    advice: `\`sluice checkpoints list ${plan.job}\` shows those that it has`,
    job: plan.job,
  });
}
