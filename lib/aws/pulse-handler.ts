// One pulse of a deployed job, called by the coordinator's state machine or by hand.
//   U1  The first pulse makes the job. One that finds another plan than its own changes nothing.
//   U2  Mappings are switched with the job: a job that stands still takes no input, and what was done last is written down after it was done, so that
//       a pulse that died in between is made up for.
//   U3  An execution goes on until the next one has begun: which one is newer is told by when it was started, not by who writes last. One that has
//       just begun has no successor yet, and one that is not to go on need not know of any.
//   U4  A job that has nothing to do costs its schedule: only those are ticked whom time gives something to do, and nobody looks for what running
//       subtasks have left behind when none of them has run. Now and then all of it is done regardless.

import { InvokeCommand, LambdaClient, UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { clientSettings } from '../adapters/aws/clients.ts';
import { thrownByFunction } from '../adapters/aws/thrown.ts';
import { nodeFileSystem } from '../adapters/embedded/node-file-system.ts';
import { systemClock, systemRandom } from '../adapters/embedded/system-clock.ts';
import type { Split } from '../api/source.ts';
import type { Clock } from '../core/ports.ts';
import { decodeValue, encodeValue } from '../core/value-codec.ts';
import type { Control, TransactionSettler } from '../invocation/control.ts';
import { createJob } from '../invocation/coordinator/create-job.ts';
import type { PulseMemory } from '../invocation/coordinator/facts.ts';
import { type PulseEvent, type PulseReport, pulse } from '../invocation/coordinator/pulse.ts';
import { readJob } from '../invocation/coordinator/read-job.ts';
import type { JobItem, Owner } from '../invocation/job-item.ts';
import type { JobItems } from '../invocation/ports.ts';
import { createContextOf } from '../invocation/sinks/planned-sinks.ts';
import { createSettler } from '../invocation/sinks/settler.ts';
import { startSinks } from '../invocation/sinks/start-sinks.ts';
import { timelySettler } from '../invocation/sinks/timely-settler.ts';
import { listLetters } from '../invocation/unit/look.ts';
import { checkNew, checkPulse, settle } from './at-home.ts';
import { answerOfControl, type ControlAnswer, controlEvent } from './control-call.ts';
import type { Deployed } from './deployed.ts';
import { errorLine, functionError } from './function-error.ts';
import { checkpointAge, pulseMetricsLine } from './pulse-metrics.ts';
import { decideUpkeep, stagesThatFollowTime } from './upkeep.ts';

export interface PulseCall {
  /** ARN and start of the execution that calls; absent: somebody called by hand. */
  readonly execution?: string;
  /** ISO 8601. */
  readonly startedAt?: string;
}

export interface PulseAnswer {
  /** `again`: the execution is to call again after `waitSeconds`. */
  readonly next: 'again' | 'done';
  readonly waitSeconds: number;
  readonly status: JobItem['status'] | 'unknown';
  readonly isBusy: boolean;
  readonly generation: number;
}

/** What a sandbox remembers from pulse to pulse: a cache, and when it did what. */
export interface PulseState {
  readonly memory: PulseMemory;
  readonly lambda: LambdaClient;
  /** As the last pulse left it; `undefined`: there is none, as far as is known. */
  item: JobItem | undefined;
  tickedMs: number;
  tickedAllMs: number;
  swept: { readonly atMs: number; readonly begun: number };
  /** When the mappings were last seen to be as the job wants them, and how that is. */
  mappings: { readonly atMs: number; readonly areOn: boolean } | undefined;
  /** Parked records, when they were last counted; `undefined`: not yet. */
  letters: number | undefined;
  /** Asked once (at-home.ts). */
  isAtHome: boolean;
  /** Since when a checkpoint has been owed; `undefined`: none is. */
  owedSinceMs: number | undefined;
}

const controlMs = 45_000;

export function newPulseState(): PulseState {
  const lambda = new LambdaClient(clientSettings({ requestMs: controlMs, socketsMax: 64 }));
  return {
    memory: { heads: new Map() },
    lambda,
    item: undefined,
    tickedMs: Number.NEGATIVE_INFINITY,
    tickedAllMs: Number.NEGATIVE_INFINITY,
    swept: { atMs: Number.NEGATIVE_INFINITY, begun: 0 },
    mappings: undefined,
    letters: undefined,
    isAtHome: false,
    owedSinceMs: undefined,
  };
}

/** Between two looks at how the mappings are, while the job wants the same. */
const lookEveryMs = 300_000;
/** An execution that began less than this ago is the newest. */
const newestForMs = 1_000;

export async function handlePulse(
  deployed: Deployed,
  state: PulseState,
  call: PulseCall,
  clock: Clock = systemClock,
): Promise<PulseAnswer> {
  try {
    if (state.item === undefined || !state.isAtHome) await makeOrCheck(deployed, state, clock);
    const now = clock.now();
    const upkeep = decideUpkeep({ ...state, nowMs: now, hasCheckpoints: deployed.plan.settings.checkpoints !== undefined });
    const timed = stagesThatFollowTime(deployed.plan);
    const report = await pulse({
      ...{ ports: deployed.ports, plan: deployed.plan, clock, random: systemRandom, memory: state.memory },
      control: controlOf(deployed, state.lambda),
      settler: settlerOf(deployed),
      sourceContext: deployed.sourceContext,
      ticks: ({ stage }: Owner) => upkeep.ticks === 'all' || (upkeep.ticks === 'timed' && timed.has(stage)),
      sweeps: upkeep.sweeps,
      onEvent: tellEvent,
    });
    state.item = report.item;
    if (upkeep.ticks !== 'none') state.tickedMs = now;
    if (upkeep.ticks === 'all') state.tickedAllMs = now;
    if (upkeep.sweeps) {
      state.swept = { atMs: now, begun: report.item?.begun ?? 0 };
      state.letters = await countLetters(deployed, report.item);
    }
    if (report.item !== undefined) await keepMappings(deployed, state, report.item, now);
    tellMetrics(state, report.item, { clock, hasFailed: false });
    const { intervalMs } = deployed.plan.settings.checkpoints ?? {};
    const elapsedMs = call.startedAt === undefined ? 0 : clock.now() - Date.parse(call.startedAt);
    const facts = { report, intervalMs, elapsedMs };
    const wants = decideNext({ ...facts, isSucceeded: call.execution === undefined || call.startedAt === undefined });
    const isLooking = wants.next === 'again' && elapsedMs >= newestForMs;
    const isSucceeded = isLooking && (await succeeded(deployed.ports.items, call));
    const { next, waitSeconds } = isSucceeded ? decideNext({ ...facts, isSucceeded }) : wants;
    const { item, isBusy } = report;
    return { next, waitSeconds, isBusy, status: item?.status ?? 'unknown', generation: item?.generation ?? 0 };
  } catch (error) {
    console.error(errorLine(error));
    await tellOfFailed(deployed, state, clock);
    throw functionError(error);
  }
}

function tellMetrics(state: PulseState, item: JobItem | undefined, p: { readonly clock: Clock; readonly hasFailed: boolean }): void {
  if (item === undefined) return;
  const { clock, hasFailed } = p;
  const nowMs = clock.now();
  const { ageMs, owedSinceMs } = checkpointAge(item, { nowMs, hasFailed, owedSinceMs: state.owedSinceMs });
  state.owedSinceMs = owedSinceMs;
  console.log(pulseMetricsLine({ item, letters: state.letters, checkpointAgeMs: ageMs }, nowMs));
}

/** A pulse that fails each time begins no checkpoint, and whoever watches them has to hear of it. */
async function tellOfFailed({ ports }: Deployed, state: PulseState, clock: Clock): Promise<void> {
  const read = await readJob(ports).catch(() => undefined); // a store that fails is missing data, which is an alarm too
  tellMetrics(state, read?.item, { clock, hasFailed: true });
}

/** An execution that sees no successor ends by itself, before its time-out ends it in the middle of a pulse. */
const executionMsMax = 240_000;

/** Pure: whether this execution calls again. Between two minutes only a job that has something to do is called. */
export function decideNext(p: {
  readonly report: PulseReport;
  readonly isSucceeded: boolean;
  readonly intervalMs: number | undefined;
  /** Since the execution began. */
  readonly elapsedMs: number;
}): Pick<PulseAnswer, 'next' | 'waitSeconds'> {
  const { report, isSucceeded, intervalMs, elapsedMs } = p;
  const isShort = report.item?.status === 'running' && intervalMs !== undefined && intervalMs < 60_000;
  if (isSucceeded || elapsedMs >= executionMsMax || !(report.isBusy || isShort)) return { next: 'done', waitSeconds: 1 };
  return { next: 'again', waitSeconds: report.isBusy ? 1 : Math.max(1, Math.floor((intervalMs ?? 0) / 2_000)) };
}

/** Makes the job when there is none, and does not let one go on that is not at home. */
async function makeOrCheck(deployed: Deployed, state: PulseState, clock: Clock): Promise<void> {
  const read = await readJob(deployed.ports);
  if (read === undefined) {
    await checkNew(deployed);
    await create(deployed, clock);
    await settle(deployed);
  } else if (!state.isAtHome) state.isAtHome = (await checkPulse(deployed, read.item)) === 'at-home';
}

async function create(deployed: Deployed, clock: Clock): Promise<void> {
  const { plan, ports } = deployed;
  const splits = new Map<number, readonly Split[]>();
  for (const stage of plan.stages) {
    const head = stage.operators[0]!;
    const spec = head.node.operator;
    if (spec.kind === 'source') splits.set(stage.id, await spec.source.enumerate(deployed.sourceContext(head.uid)));
  }
  await startSinks({ ...surroundings(deployed), objects: ports.objects, generation: 0 });
  await createJob(ports, { plan, splits, nowMs: clock.now() });
}

function surroundings({ plan, targets }: Deployed) {
  const say = (line: string): void => console.log(line);
  return { plan, targets, files: nodeFileSystem, clock: systemClock, report: say, print: say };
}

export function settlerOf(deployed: Deployed): TransactionSettler {
  const { plan, ports } = deployed;
  return timelySettler(createSettler({ plan, ports, contextOf: createContextOf(surroundings(deployed)) }), systemClock);
}

/** Calls the control function of the subtask's stage, and waits for its answer. */
function controlOf({ settings }: Deployed, lambda: LambdaClient): Control {
  return {
    invoke: async (invocation) => {
      const stage = invocation.subtask.slice(0, invocation.subtask.indexOf('-'));
      const name = settings.controls[stage];
      const event = Buffer.from(JSON.stringify(controlEvent(invocation)));
      const { FunctionError: failed, Payload: payload } = await lambda.send(new InvokeCommand({ FunctionName: name, Payload: event }));
      const said: unknown = JSON.parse(Buffer.from(payload ?? []).toString('utf8') || 'null');
      if (failed !== undefined) throw thrownByFunction(name ?? `of stage ${stage}`, said);
      return answerOfControl(said as ControlAnswer);
    },
  };
}

async function keepMappings(deployed: Deployed, state: PulseState, item: JobItem, nowMs: number): Promise<void> {
  const areOn = takesInput(item);
  const { mappings: seen } = state;
  if (seen?.areOn === areOn && nowMs - seen.atMs < lookEveryMs && nowMs >= seen.atMs) return;
  await switchMappings(deployed, state.lambda, item);
  state.mappings = { atMs: nowMs, areOn };
}

const mappingsItem = 'runner/mappings';

/** Pure. */
export function takesInput({ status }: Pick<JobItem, 'status'>): boolean {
  return status === 'running' || status === 'resuming';
}

async function switchMappings({ settings, ports }: Deployed, lambda: LambdaClient, item: JobItem): Promise<void> {
  const stored = await ports.items.get(mappingsItem);
  const { toSwitch, off, isOn } = decideMappings(
    settings.mappings,
    stored === undefined ? [] : decodeValue(stored.bytes),
    takesInput(item),
  );
  if (toSwitch === undefined) return;
  for (const id of toSwitch) await lambda.send(new UpdateEventSourceMappingCommand({ UUID: id, Enabled: isOn }));
  await ports.items.put({ name: mappingsItem, content: { bytes: encodeValue(off), change: '' }, expects: 'any' });
}

/**
 * Pure. A deployment makes mappings that are enabled, also one in the place of another while the job stands still.
 * @param noted  what was switched off: their names, or a word for all of them from an older version
 * @returns `toSwitch` undefined: they are as they should be
 */
export function decideMappings(
  mappings: readonly string[],
  noted: unknown,
  isOn: boolean,
): { readonly toSwitch: readonly string[] | undefined; readonly off: readonly string[]; readonly isOn: boolean } {
  const wasOff = Array.isArray(noted) ? (noted as readonly string[]) : noted === 'disabled' ? mappings : [];
  const off = isOn ? [] : [...mappings];
  const toSwitch = mappings.filter((id) => wasOff.includes(id) === isOn);
  return { toSwitch: toSwitch.length === 0 ? undefined : toSwitch, off, isOn };
}

const executionItem = 'runner/execution';

interface NotedExecution {
  readonly execution: string;
  readonly startedAt: string;
}

/** Whether a later execution than the caller's has begun. When none has, earlier ones are told of the caller's. */
async function succeeded(items: JobItems, { execution, startedAt }: PulseCall): Promise<boolean> {
  if (execution === undefined || startedAt === undefined) return true;
  const stored = await items.get(executionItem);
  const noted = stored === undefined ? undefined : (decodeValue(stored.bytes) as NotedExecution);
  if (noted?.execution === execution) return false;
  if (noted !== undefined && noted.startedAt > startedAt) return true;
  const content = { bytes: encodeValue({ execution, startedAt }), change: '' };
  await items.put({ name: executionItem, content, expects: 'any' });
  return false;
}

function tellEvent(event: PulseEvent): void {
  console.log(JSON.stringify({ level: event.kind === 'notice' ? 'warn' : 'info', ...event }));
}

/** Looks at every changelog, so that it is done with the sweep and not with each pulse. */
async function countLetters({ services }: Deployed, item: JobItem | undefined): Promise<number | undefined> {
  if (item?.status !== 'running') return undefined;
  try {
    return (await listLetters(services)).length;
  } catch (error) {
    console.error(errorLine(error));
    return undefined;
  }
}
