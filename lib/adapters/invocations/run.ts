// `runInvocations` runs a job by invocations on this machine: worker processes are the environments, one SQLite file is the durable world, and
// this process is what delivers: event source mappings, the queue's mapping, and the schedule of pulses.
//   R1  All truth lies in the file. This process may die at any moment; the next run goes on from the changelogs.
//   R2  The run ends well only when the last checkpoint is complete and every sink has confirmed it, which the job item says.
//   R3  What fails here for good (reading input, starting workers) fails the job through the job item, so that its changelogs are sealed before
//       anybody is told.

import type { SourceContext } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Plan } from '../../graph/plan.ts';
import { requestCancel, requestFail } from '../../invocation/coordinator/job-life.ts';
import type { PulseEvent } from '../../invocation/coordinator/pulse.ts';
import type { Answer, Invocation } from '../../invocation/invocation.ts';
import type { JobItem } from '../../invocation/job-item.ts';
import { patient } from '../../invocation/patience.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { checkDetached, createContextOf } from '../../invocation/sinks/planned-sinks.ts';
import { createSettler } from '../../invocation/sinks/settler.ts';
import { timelySettler } from '../../invocation/sinks/timely-settler.ts';
import { makeRoot } from '../embedded/attempt-directory.ts';
import { checkpointRoot } from '../embedded/checkpoint-directory.ts';
import { nodeFileSystem } from '../embedded/node-file-system.ts';
import type { RunResult } from '../embedded/run-types.ts';
import { systemClock as clock, systemRandom as random } from '../embedded/system-clock.ts';
import { openSqlitePorts } from '../sqlite/sqlite-ports.ts';
import { Backoff } from './backoff.ts';
import { Bell } from './bell.ts';
import { Chaos, type Invoker } from './chaos.ts';
import { ExchangePoller } from './exchange-poller.ts';
import { keptResults } from './final-accumulators.ts';
import { Gate } from './gate.ts';
import { trimLogs } from './input-trimming.ts';
import { Inputs } from './inputs.ts';
import { databaseOf } from './job-place.ts';
import { LeftBehind } from './left-behind.ts';
import { type LoggedPlan, loggedPlan, sourcesOf } from './logged-plan.ts';
import { MappingProgress } from './mapping-progress.ts';
import { type Ownership, takeOwnership } from './ownership.ts';
import { planOf } from './plan-of.ts';
import { PrintedLines } from './printed-lines.ts';
import { runPulses, takesInput } from './pulse-loop.ts';
import { Repeats } from './repeats.ts';
import type { InvocationsRequest } from './run-request.ts';
import { sourceContextOf, startJob, tidySinks } from './start-job.ts';
import { Tally } from './tally.ts';
import { unansweredTexts, WorkerPool } from './worker-pool.ts';
import { startWorker } from './worker-process.ts';

const recordsMax = 1_000;
export const redeliveryMsDefault = 5_000;
/** A write of this process waits no longer for another: it has timers to keep, and asks again. */
const busyMs = 200;

/** @throws SluiceError of what was wrong with the job, its input or its file, or of what it failed with */
export async function runInvocations(request: InvocationsRequest): Promise<RunResult> {
  const startedMs = clock.now();
  const plan = planOf(request);
  checkDetached(plan);
  const root = checkpointRoot(plan.job, plan.settings.checkpointsDirectory, request.workingDirectory);
  await makeRoot(nodeFileSystem, root);
  const database = databaseOf(root);
  const redeliveryMs = request.redeliveryMs ?? redeliveryMsDefault;
  const opened = openSqlitePorts({ path: database, job: plan.job, clock, visibilityMs: redeliveryMs, busyMs });
  try {
    const ports = patient(opened, { clock, random });
    const own = { files: nodeFileSystem, items: ports.items, database, job: plan.job, owner: request.owner };
    const ownership = await takeOwnership({ ...own, takeOver: request.takeOver ?? false });
    try {
      const takeInLog = (): void => opened.takeInLog();
      return await new InvocationsRun({ request, plan, ports, takeInLog, ownership, database, redeliveryMs, startedMs }).run();
    } finally {
      opened.takeInLog();
      await ownership.release();
    }
  } finally {
    opened.close();
  }
}

interface RunParts {
  readonly request: InvocationsRequest;
  /** The job's own. */
  readonly plan: Plan;
  readonly ports: InvocationPorts;
  /** Of the job's file. */
  readonly takeInLog: () => void;
  readonly ownership: Ownership;
  readonly database: string;
  readonly redeliveryMs: number;
  readonly startedMs: number;
}

class InvocationsRun {
  readonly #parts: RunParts;
  readonly #logged: LoggedPlan;
  readonly #tally: Tally;
  readonly #left: LeftBehind;
  readonly #sourceContext: (uid: string) => SourceContext;
  readonly #printed = new PrintedLines();
  readonly #repeats = new Repeats(clock);
  readonly #gate = new Gate();
  readonly #pulseBell = new Bell(clock);
  readonly #exchangeBell = new Bell(clock);
  #inputs: Inputs | undefined;
  #pool: WorkerPool | undefined;
  #status: JobItem['status'] = 'running';
  #failure: { readonly error: unknown } | undefined;
  /** Rejects when not even the job item can be told of a failure. */
  readonly #lost = Promise.withResolvers<never>();

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.#logged = loggedPlan(parts.plan, { objects: parts.ports.objects, clock });
    this.#tally = new Tally(clock, parts.request.report);
    const { ports, request, redeliveryMs } = parts;
    this.#left = new LeftBehind({
      plan: this.#logged.plan,
      ports,
      print: request.print,
      notice: this.#notice,
      patienceMs: redeliveryMs,
    });
    this.#sourceContext = sourceContextOf({ plan: parts.plan, countSkipped: () => this.#countSkipped() });
    this.#lost.promise.catch(() => {});
  }

  async run(): Promise<RunResult> {
    const { request, plan, ports, database, takeInLog } = this.#parts;
    const start = await startJob({ request, plan, ports, database, notice: this.#notice, countSkipped: this.#countSkipped });
    takeInLog(); // so that a copy of the file without its log is known as a copy, whatever becomes of this run
    const { item } = start;
    this.#tally.lastCheckpoint = item.completed.at(-1)?.checkpoint;
    if (start.kind === 'finished-before') {
      this.#notice(
        `${plan.job} had finished with checkpoint ${this.#tally.lastCheckpoint}; nothing is run, and no input is taken: to begin afresh, remove ${database}*`,
      );
      const accumulators = await keptResults(ports, item.generation);
      return { ...(await this.#result()), accumulators, state: 'already-finished', seconds: 0 };
    }
    const generation = item.restoring?.generation ?? item.generation;
    request.report({ kind: 'started', job: plan.job, generation, restored: start.restored, directory: database });
    return this.#runStarted();
  }

  async #runStarted(): Promise<RunResult> {
    const pool = this.#openPool();
    this.#pool = pool;
    const { chaos } = this.#parts.request;
    const unrest =
      chaos === undefined ? undefined : new Chaos({ random: chaos.random, workers: pool, redeliveryMs: this.#parts.redeliveryMs, clock });
    const stopListening = this.#cancelWhenAsked();
    this.#tally.begin();
    try {
      this.#inputs = this.#openInputs(unrest ?? pool);
      const ended = this.#pulses(pool, unrest);
      this.#watch(this.#poll(unrest ?? pool));
      void unrest?.run(this.#gate.over);
      const last = await Promise.race([ended, this.#lost.promise]);
      if (unrest !== undefined) this.#notice(`chaos: ${JSON.stringify(unrest.done)}`);
      return await this.#ended(last, pool);
    } finally {
      stopListening();
      this.#tally.end();
      this.#gate.end();
      pool.close();
    }
  }

  #openPool(): WorkerPool {
    const { request, plan, database, redeliveryMs } = this.#parts;
    const { file, params, global, parallelism } = request;
    const start = { file, params: [...params], global, parallelism, planHash: plan.hash, database, redeliveryMs };
    return new WorkerPool({
      size: request.workers,
      redeliveryMs,
      clock,
      random,
      start: (events) => startWorker(request.worker, start, events),
      counted: (counts) => this.#tally.count(counts),
      print: (line, place) => {
        if (this.#printed.isNews(place)) request.print(line);
      },
      notice: this.#notice,
      failed: (error) => void this.#fail(error),
    });
  }

  #pulses(pool: WorkerPool, unrest: Chaos | undefined): Promise<JobItem> {
    const { request, plan, ports, ownership } = this.#parts;
    const surroundings = { plan, files: nodeFileSystem, clock, targets: request.targets, print: request.print, report: this.#notice };
    const settler = timelySettler(createSettler({ plan, ports, contextOf: createContextOf(surroundings) }), clock);
    return runPulses({
      pulse: {
        ports,
        plan: this.#logged.plan, // a restore asks it whether a source can be read again
        control: pool,
        settler,
        clock,
        random,
        memory: { heads: new Map() },
        sourceContext: this.#sourceContext,
        onEvent: (event) => this.#onEvent(event),
      },
      clock,
      bell: this.#pulseBell,
      ownership,
      intervalMs: plan.settings.checkpoints?.intervalMs,
      seen: (item) => this.#seen(item),
      blocked: () => pool.endOverdue(),
      copies: () => unrest?.pulses() ?? 1,
    });
  }

  #poll(invoker: Invoker): Promise<void> {
    return new ExchangePoller({
      exchange: this.#parts.ports.exchange,
      clock,
      deliver: (invocation) => this.#deliver(invoker, invocation),
      bell: this.#exchangeBell,
      inFlightMax: this.#parts.request.workers,
      mayGoOn: () => this.#gate.mayGoOn(),
      stopped: this.#gate.over,
    }).run();
  }

  #openInputs(invoker: Invoker): Inputs {
    const { plan, ports, request } = this.#parts;
    return new Inputs({
      plan,
      logged: this.#logged,
      ports,
      clock,
      random,
      recordsMax: request.recordsMax ?? recordsMax,
      progress: new MappingProgress(ports.items, clock),
      deliver: (invocation) => this.#deliver(invoker, invocation),
      backoff: () => new Backoff(clock, this.#gate.over),
      counted: (records) => {
        this.#tally.recordsIn += records;
      },
      mayGoOn: () => this.#gate.mayGoOn(),
      over: this.#gate.over,
      contextOf: this.#sourceContext,
      report: request.report,
      allRead: () => this.#pulseBell.ring(), // so that the last checkpoint begins soon
      failed: (error) => void this.#fail(error),
    });
  }

  async #deliver(invoker: Invoker, invocation: Invocation): Promise<Answer> {
    try {
      return await invoker.invoke(invocation);
    } finally {
      this.#exchangeBell.ring(); // it may have sent something
    }
  }

  readonly #notice = (message: string): void => {
    this.#parts.request.report({ kind: 'notice', message });
  };

  readonly #countSkipped = (): void => this.#tally.count({ skipped: 1 });

  #seen(item: JobItem): void {
    const isOpen = takesInput(item) && this.#failure === undefined;
    if (isOpen) this.#inputs?.follow(item);
    this.#gate.set(isOpen);
    if (item.status === 'paused' && this.#status !== 'paused')
      this.#notice(`${item.job} is paused; \`sluice resume ${item.job}\` lets it go on`);
    if (item.status === 'running' && this.#status === 'paused') this.#notice(`${item.job} goes on`);
    this.#status = item.status;
    this.#exchangeBell.ring();
  }

  #onEvent(event: PulseEvent): void {
    const { report } = this.#parts.request;
    switch (event.kind) {
      case 'checkpoint-completed':
        this.#tally.lastCheckpoint = event.checkpoint;
        report(event);
        this.#trim();
        break;
      case 'notice':
        if (!isOfLostWorker(event.message) && this.#repeats.isNews(event.message)) report(event);
        break;
      case 'checkpoint-failed':
        report(event);
        break;
      case 'checkpoint-begun':
      case 'restored':
      case 'ended':
        this.#pulseBell.ring();
        break;
    }
  }

  /** Fails the job when what runs beside the pulses has failed. */
  #watch(work: Promise<void>): void {
    work.catch((error: unknown) => void this.#fail(error));
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#failure !== undefined || this.#gate.isOver) return;
    this.#failure = { error };
    this.#gate.set(false);
    try {
      // Who was taken over finds things gone that its successor has cleaned up, and has no say in the job any more.
      await this.#parts.ownership.check();
    } catch (lost) {
      this.#lost.reject(lost);
      return;
    }
    try {
      await requestFail(this.#parts.ports, error instanceof Error ? error.message : String(error));
      this.#pulseBell.ring();
    } catch {
      this.#lost.reject(error);
    }
  }

  #cancelWhenAsked(): () => void {
    const { cancel } = this.#parts.request;
    const ask = (): void => {
      this.#gate.set(false);
      requestCancel(this.#parts.ports).then(
        () => this.#pulseBell.ring(),
        (error: unknown) => this.#lost.reject(error),
      );
    };
    if (cancel?.aborted === true) ask();
    cancel?.addEventListener('abort', ask);
    return () => cancel?.removeEventListener('abort', ask);
  }

  async #ended(item: JobItem, pool: WorkerPool): Promise<RunResult> {
    const { request, plan, ports } = this.#parts;
    if (item.status === 'failed') {
      const letters = (await this.#left.deadLetters()) ?? 0;
      if (letters > 0) this.#notice(`${letters} records are parked; \`sluice dead-letters list ${plan.job}\` shows them`);
      throw this.#failure?.error ?? jobFailed(plan, item);
    }
    if (item.status === 'cancelled') return { ...(await this.#result()), state: 'cancelled' };
    await tidySinks({ request, plan, ports, notice: this.#notice }, item.generation);
    const accumulators = await this.#left.accumulators(item, pool.accumulators());
    return { ...(await this.#result()), accumulators };
  }

  #trim(): void {
    const { plan, ports } = this.#parts;
    const sources = sourcesOf(plan).filter(({ source }) => !source.isRereadable);
    trimLogs(ports, sources).catch((error: unknown) => this.#notice(`the input log could not be trimmed: ${String(error)}`));
  }

  async #result(): Promise<RunResult> {
    const { recordsIn, recordsOut, lastCheckpoint } = this.#tally;
    const seconds = (clock.now() - this.#parts.startedMs) / 1_000;
    const counters = this.#tally.counters();
    const deadLetters = await this.#left.deadLetters();
    const workersReplaced = this.#pool?.replaced ?? 0;
    return { state: 'finished', recordsIn, recordsOut, seconds, lastCheckpoint, accumulators: {}, counters, deadLetters, workersReplaced };
  }
}

/** Workers come and go, and the next pulse asks again: nothing that a person has to know. */
function isOfLostWorker(message: string): boolean {
  return unansweredTexts.some((text) => message.includes(text));
}

function jobFailed(plan: Plan, { failure }: JobItem): SluiceError {
  return new SluiceError('JOB_FAILED', {
    message: `${plan.job} has failed: ${failure ?? 'nobody said why'}`,
    next: 'try-again',
    job: plan.job,
  });
}
