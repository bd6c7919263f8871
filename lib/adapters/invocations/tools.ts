// What commands do with a job of this runtime beside its run, or when nobody runs it.
//   T1  A command reads and writes the job's file like any other process; it needs no one to answer.
//   T2  Where a command needs the job's code (sinks, state declarations), it loads the module that the last run named, with the same parameters.

import { dirname } from 'node:path';
import type { Job } from '../../api/job.ts';
import type { Targets } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { Plan } from '../../graph/plan.ts';
import type { TransactionSettler } from '../../invocation/control.ts';
import { pulse } from '../../invocation/coordinator/pulse.ts';
import { readExistingJob } from '../../invocation/coordinator/read-job.ts';
import type { Answer } from '../../invocation/invocation.ts';
import type { JobItem } from '../../invocation/job-item.ts';
import { patient } from '../../invocation/patience.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { createContextOf } from '../../invocation/sinks/planned-sinks.ts';
import { createSettler } from '../../invocation/sinks/settler.ts';
import { timelySettler } from '../../invocation/sinks/timely-settler.ts';
import { createServices } from '../../invocation/unit/create-environment.ts';
import type { UnitServices } from '../../invocation/unit/services.ts';
import { nodeByteStreams } from '../embedded/node-byte-streams.ts';
import { nodeFileSystem } from '../embedded/node-file-system.ts';
import type { GlobalSettings } from '../embedded/run-types.ts';
import { systemClock as clock, systemRandom as random } from '../embedded/system-clock.ts';
import { openSqlitePorts } from '../sqlite/sqlite-ports.ts';
import { loggedPlan } from './logged-plan.ts';
import { liveOwnerOf, takeOwnership } from './ownership.ts';
import { planOf } from './plan-of.ts';

/** How the job was started last. */
export interface RecordedStart {
  /** Absolute path of the job's module. */
  readonly file: string;
  readonly params: readonly (readonly [name: string, value: string])[];
  readonly global: GlobalSettings;
  readonly parallelism: number | undefined;
}

const startItem = 'runner/start';

export async function recordStart(ports: Pick<InvocationPorts, 'items'>, start: RecordedStart): Promise<void> {
  await ports.items.put({ name: startItem, content: { bytes: encodeValue(start), change: '' }, expects: 'any' });
}

export async function recordedStart(ports: Pick<InvocationPorts, 'items'>): Promise<RecordedStart | undefined> {
  const stored = await ports.items.get(startItem);
  return stored === undefined ? undefined : (decodeValue(stored.bytes) as RecordedStart);
}

export interface OpenedJob {
  readonly job: string;
  /** Path of the file. */
  readonly database: string;
  readonly ports: InvocationPorts;
  close(): void;
}

/** @throws SluiceError of a file that cannot be used */
export function openJob(database: string, job: string): OpenedJob {
  const opened = openSqlitePorts({ path: database, job, clock });
  return { job, database, ports: patient(opened, { clock, random }), close: () => opened.close() };
}

/** Who runs it now; `undefined`: nobody. */
export function ownerOf({ ports, database }: OpenedJob): Promise<string | undefined> {
  return liveOwnerOf(nodeFileSystem, ports.items, database);
}

export async function itemOf({ ports }: OpenedJob): Promise<JobItem> {
  return (await readExistingJob(ports)).item;
}

/**
 * The plan that the job runs, from its code.
 * @throws SluiceError of a module that does not load any more, `PLAN_CHANGED`
 */
export async function loadPlan({ job, ports }: OpenedJob, load: (file: string) => Promise<Job>): Promise<Plan> {
  const start = await recordedStart(ports);
  const { item } = await readExistingJob(ports);
  if (start === undefined) {
    throw new SluiceError('JOB_NOT_IN_STATE', { message: `${job} has not been run yet`, next: 'fix-the-command', job });
  }
  const { file, params, global, parallelism } = start;
  const plan = planOf({ job: await load(file), params: new Map(params), global, parallelism });
  if (plan.hash === item.planHash) return loggedPlan(plan, { objects: ports.objects, clock }).plan;
  throw new SluiceError('PLAN_CHANGED', {
    message: `${file} makes another plan than the one that ${job} runs`,
    next: 'fix-the-job',
    advice: 'put the module back as it was when the job was started',
    job,
  });
}

export interface Voice {
  readonly print: (line: string) => void;
  readonly report: (line: string) => void;
  /** What names of the job are bound to, but files. */
  readonly targets?: Targets | undefined;
}

export function servicesOf({ ports }: OpenedJob, plan: Plan, voice: Voice): UnitServices {
  return createServices({ plan, ports, clock, random, files: nodeFileSystem, streams: nodeByteStreams, ...voice });
}

export function settlerOf({ ports }: OpenedJob, plan: Plan, voice: Voice): TransactionSettler {
  const settler = createSettler({ plan, ports, contextOf: createContextOf({ plan, files: nodeFileSystem, clock, ...voice }) });
  return timelySettler(settler, clock);
}

const notRunning: Answer = { kind: 'refused', why: 'not-running' };
const pauseMs = 20;
const pulsesMax = 3_000; // about a minute of a sink that does not take what was promised
const standStillMsMax = 60_000; // and of one that does not answer

/**
 * Carries out what was asked of a job that nobody runs, by pulses of this process, until it stands still.
 * @throws SluiceError `OWNER_ALIVE` when somebody runs it after all
 */
export async function standStill(
  opened: OpenedJob,
  plan: Plan,
  voice: Voice,
  p: { readonly owner: string; readonly leaves: JobItem['status'] },
): Promise<JobItem> {
  const { job, database, ports } = opened;
  const ownership = await takeOwnership({ files: nodeFileSystem, items: ports.items, database, job, owner: p.owner, takeOver: false });
  try {
    const settler = settlerOf(opened, plan, voice);
    const control = { invoke: async () => notRunning };
    const beganMs = clock.now();
    for (let pulses = 0; ; pulses++) {
      const { item, isBusy } = await pulse({ ports, plan, control, settler, clock, random });
      const isOver = pulses === pulsesMax || clock.now() - beganMs > standStillMsMax;
      if (item === undefined || item.status !== p.leaves || !isBusy || isOver) return item ?? (await itemOf(opened));
      await clock.sleep(pauseMs).done;
    }
  } finally {
    await ownership.release();
  }
}

/** Directory of the file, for messages. */
export function placeOf({ database }: OpenedJob): string {
  return dirname(database);
}
