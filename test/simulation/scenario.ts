// One seed, one world: draws a job, a workload and faults, runs the engine in it from process to process until the job is finished or may be given
// up, and asks the auditors.

import { runJob } from '../../lib/adapters/embedded/run.ts';
import type { RunEvent, RunResult } from '../../lib/adapters/embedded/run-types.ts';
import { isSluiceError } from '../../lib/index.ts';
import {
  type FaultKind,
  FaultPlan,
  faultKinds,
  type PlannedFault,
  randomFaults,
  type SeededRandom,
  type SimulatedProcess,
  StuckWorld,
  seededRandom,
  World,
} from '../../lib/testing/index.ts';
import { Auditors, watchTakeOver } from './audit.ts';
import { buildJob, inputFiles } from './build.ts';
import { ExternalTarget } from './external-target.ts';
import { randomSpec } from './random-spec.ts';
import { checkpointDirectory, type JobSpec } from './spec.ts';

export interface Outcome {
  readonly seed: number;
  readonly failures: readonly string[];
  readonly traceHash: number;
  readonly trace: readonly string[];
  readonly steps: number;
  readonly planned: readonly FaultKind[];
  readonly struck: readonly FaultKind[];
  /** Processes that it took. */
  readonly runs: number;
  readonly completed: number;
  readonly ending: string;
  /** Starts from an older checkpoint or from the beginning, behind visible output. */
  readonly rewinds: number;
  readonly takeOvers: number;
  readonly rivals: number;
  readonly mode: string;
  /** The job in words. */
  readonly told: readonly string[];
}

export interface ScenarioOptions {
  readonly keepTrace?: boolean;
  /** Instead of those that the seed would plan. */
  readonly faults?: readonly PlannedFault[];
}

type Ending = 'finished' | 'cancelled' | 'given-up' | 'stuck';

export async function simulate(seed: number, options: ScenarioOptions = {}): Promise<Outcome> {
  const random = seededRandom(seed).fork('scenario');
  const isPlain = random.chance(0.15);
  const spec = randomSpec(seed, { isPlain });
  const planned = options.faults ?? randomFaults(random, random.pick([0, 1, 1, 2, 2, 3, 4, 6]), faultsFor(spec));
  const disturbed = new Scenario(seed, spec, planned, options.keepTrace === true);
  await disturbed.play();
  if (isPlain && disturbed.ending === 'finished' && disturbed.auditors.failures.length === 0) {
    const calm = new Scenario(seed, spec, [], false);
    calm.mayHaveRivals = false;
    await calm.play();
    for (const node of spec.nodes) {
      if (disturbed.auditors.joined(node) !== calm.auditors.joined(node))
        disturbed.auditors.fail(`${node.uid}: the joined parts are not those of an undisturbed run`);
    }
  }
  return disturbed.outcome();
}

/** Cancelling is an end, not a fault, where nothing is kept; it is planned all the same and ends the world. */
function faultsFor(spec: JobSpec): readonly FaultKind[] {
  const canThrow = spec.nodes.some((n) => ['map', 'running', 'witness'].includes(n.op.kind));
  return faultKinds.filter((k) => k !== 'throw' || canThrow);
}

class Scenario {
  readonly auditors: Auditors;
  ending: Ending = 'stuck';
  mayHaveRivals = true;
  readonly #seed: number;
  readonly #spec: JobSpec;
  readonly #world: World;
  readonly #faults: FaultPlan;
  readonly #target: ExternalTarget = new ExternalTarget();
  readonly #random: SeededRandom;
  readonly #zombies: SimulatedProcess[] = [];
  readonly #parallelisms: number[] = [];
  #runs = 0;
  #isCancelled = false;
  /** Starts from the beginning or from an older checkpoint, after output had become visible: that output comes again. */
  #rewinds = 0;
  #rivals = 0;
  readonly #mayRewind: boolean;

  constructor(seed: number, spec: JobSpec, planned: readonly PlannedFault[], keepTrace: boolean) {
    this.#seed = seed;
    this.#spec = spec;
    this.#random = seededRandom(seed).fork('driver');
    this.#mayRewind = spec.checkpoints.mode === 'EXACTLY_ONCE' && spec.parallelism.length > 1 && this.#random.chance(0.15);
    this.#faults = new FaultPlan(planned, this.#random);
    this.#world = new World({ seed, faults: this.#faults, keepTrace, timeMsMax: 6 * 3_600_000, stepsMax: 150_000 });
    this.auditors = new Auditors(this.#world, spec, this.#target);
    this.#prepareInput();
  }

  async play(): Promise<void> {
    try {
      const result = await this.#world.run(this.#drive());
      await this.#wakeZombies();
      await this.#judge(result);
    } catch (e) {
      if (!(e instanceof StuckWorld)) throw e;
      this.auditors.fail(`I8: the job does not finish: ${e.message}`);
    }
  }

  outcome(): Outcome {
    return {
      seed: this.#seed,
      failures: this.auditors.failures,
      traceHash: this.#world.traceHash,
      trace: this.#world.trace,
      steps: this.#world.steps,
      planned: this.#faults.planned.map((f) => f.kind),
      struck: this.#faults.struck,
      runs: this.#runs,
      completed: this.auditors.completed.length,
      ending: this.ending,
      rewinds: this.#rewinds,
      takeOvers: this.#zombies.filter((z) => z.isZombie).length,
      rivals: this.#rivals,
      mode: this.#spec.checkpoints.mode,
      told: tellSpec(this.#spec),
    };
  }

  #prepareInput(): void {
    const { disk } = this.#world;
    for (const node of this.#spec.nodes) {
      for (const { path, text } of inputFiles(node)) {
        disk.makeTree(path.slice(0, path.lastIndexOf('/')), 'world');
        disk.append(disk.create(path, 'world'), new TextEncoder().encode(text));
      }
    }
    disk.syncEverything();
  }

  /** From process to process. */
  async #drive(): Promise<RunResult | undefined> {
    for (;;) {
      if (this.#runs >= 60) throw new StuckWorld('60 processes were not enough');
      // Whoever was stopped and may still own the directory is passed over until somebody has taken it.
      const run = this.#start(this.#zombies.some((z) => z.state !== 'dead' && !z.isZombie));
      if (this.mayHaveRivals && this.#random.chance(0.05)) this.#rival(run);
      let end = await run.nextEnd();
      if (end.kind === 'stopped' && this.#random.chance(0.3)) {
        // It goes on by itself and never knew.
        this.#world.alarm(this.#random.skewed(100_000), () => run.process.continue());
        end = await run.nextEnd();
      }
      this.#world.note(`${run.process.name} ${end.kind}`);
      if (end.kind === 'ended') {
        if (end.result.state !== 'cancelled') {
          this.ending = 'finished';
          return end.result;
        }
      } else if (end.kind === 'failed') {
        this.#world.note(`${run.process.name} failed: ${messageOf(end.error)}`);
        const isRefused = this.#rivals > 0 && isSluiceError(end.error) && end.error.code === 'OWNER_ALIVE';
        if (this.#faults.touched === run.touchedBefore && !run.isExcused && !isRefused) {
          this.auditors.fail(`${run.process.name} failed without a fault: ${messageOf(end.error)}`);
        }
        if (this.#spec.checkpoints.cleanup === 'NO_EXTERNALIZED_CHECKPOINTS') {
          this.ending = 'given-up';
          return undefined;
        }
      } else if (end.kind === 'stopped') {
        this.#meetStopped(run);
      }
      if (run.process.state === 'running') run.process.kill(); // its exit frees its locks
      await this.#pause(this.#random.skewed(2_000)); // somebody has to notice
      await this.auditors.checkClosure(`after ${run.process.name} ${end.kind}`);
      if (end.kind === 'dead' && this.#hasRemovedAll()) {
        this.ending = 'given-up';
        return undefined;
      }
      // Whatever came of it, a job that was asked to end and keeps nothing is not started again: it would begin from the beginning.
      if (this.#isCancelled && this.#spec.checkpoints.cleanup !== 'RETAIN_ON_CANCELLATION') {
        this.ending = end.kind === 'ended' ? 'cancelled' : 'given-up';
        return undefined;
      }
    }
  }

  /** A job that keeps nothing when it fails can die while it removes what it had; to start it again would be to begin from the beginning. */
  #hasRemovedAll(): boolean {
    if (this.#spec.checkpoints.cleanup !== 'NO_EXTERNALIZED_CHECKPOINTS' || this.auditors.completed.length === 0) return false;
    return !this.#world.disk.walk(checkpointDirectory).some((path) => path.endsWith('/_metadata'));
  }

  /** Where the next process goes on: nearly always from the latest checkpoint. */
  #from(): string | undefined {
    if (this.#runs === 1) return this.#random.chance(0.5) ? undefined : 'latest';
    if (!this.#mayRewind || this.#zombies.some((z) => z.state !== 'dead') || !this.#random.chance(0.4)) return 'latest';
    const complete = this.#world.disk
      .walk(checkpointDirectory)
      .filter((p) => p.endsWith('/_metadata'))
      .map((p) => p.slice(0, -'/_metadata'.length));
    const number = (path: string): number => Number(/chk-(\d+)$/.exec(path)![1]);
    const older = complete.sort((a, b) => number(b) - number(a)).slice(1);
    this.#rewinds++;
    this.#target.mayAbortCommitted = true;
    this.#world.note('rewind');
    return older.length === 0 || this.#random.chance(0.3) ? undefined : this.#random.pick(older);
  }

  /** Somebody starts the job a second time while it runs: one of the two is refused. */
  #rival(run: Run): void {
    const process = this.#world.process(`rival-${this.#runs}`);
    this.#rivals++;
    this.#world.alarm(this.#random.skewed(300), () => {
      const rival = new Run(process, this.#spec, {
        parallelism: 1,
        takesOver: false,
        from: 'latest',
        faults: new FaultPlan([], this.#random),
        target: this.#target,
        auditors: this.auditors,
        random: this.#random,
        isExcused: true,
        onCancel: () => {},
      });
      rival.onStarted = () => {
        if (run.hasStarted && run.process.state === 'running' && !run.hasEnded)
          this.auditors.fail(`I1: ${process.name} began while ${run.process.name} is alive`);
        run.isExcused = true;
        process.kill();
      };
      void rival.nextEnd().then(() => process.kill());
      this.#world.alarm(5_000, () => process.kill());
    });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#world.alarm(ms, resolve));
  }

  #start(takesOver: boolean): Run {
    const process = this.#world.process(`run-${++this.#runs}`);
    const parallelism = this.#spec.parallelism[Math.min(this.#runs - 1, this.#spec.parallelism.length - 1)]!;
    this.#parallelisms.push(parallelism);
    for (const zombie of this.#zombies) watchTakeOver(this.#world, zombie, process);
    return new Run(process, this.#spec, {
      parallelism,
      takesOver,
      from: this.#from(),
      faults: this.#faults,
      target: this.#target,
      auditors: this.auditors,
      random: this.#random,
      isExcused: takesOver,
      onCancel: () => {
        this.#isCancelled = true;
      },
    });
  }

  /** What happens around a stopped process: it goes on by itself, or somebody takes over and it goes on later. */
  #meetStopped(run: Run): void {
    const { process } = run;
    const wakeAfterMs = this.#random.skewed(5_000);
    if (!run.hasStarted || this.#random.chance(0.2)) {
      // Not yet an owner: its place is simply taken by a start after its death.
      process.kill();
      return;
    }
    this.#zombies.push(process);
    this.#world.alarm(wakeAfterMs, () => process.continue());
  }

  /** Every zombie goes on for a while after the job is finished; it must change nothing. */
  async #wakeZombies(): Promise<void> {
    if (this.#zombies.length === 0) return;
    this.#faults.quiet();
    for (const zombie of this.#zombies) zombie.continue();
    await this.#world.idle(3_000, this.#world.now + 600_000);
    for (const zombie of this.#zombies) zombie.kill();
  }

  async #judge(result: RunResult | undefined): Promise<void> {
    const { auditors } = this;
    await auditors.checkClosure('at the end');
    auditors.checkOutput({
      isWhole: this.ending === 'finished',
      isCalm: this.#runs === 1 && this.#faults.struck.length === 0,
      runs: this.#parallelisms,
      rewinds: this.#rewinds,
    });
    auditors.checkTestimonies();
    for (const v of this.#target.violations) auditors.fail(v);
    if (result?.state === 'finished') auditors.checkAccumulators(result.accumulators);
    const unsure: readonly FaultKind[] = ['error', 'short-write', 'lost-reply', 'disk-full', 'slow'];
    const isCleanupSure = this.#zombies.length === 0 && !this.#faults.struck.some((k) => unsure.includes(k));
    auditors.checkLeftovers(isCleanupSure, this.ending === 'finished' ? 'finished' : this.ending === 'cancelled' ? 'none' : 'some');
  }
}

interface RunSurroundings {
  readonly parallelism: number;
  readonly takesOver: boolean;
  readonly from: string | undefined;
  readonly faults: FaultPlan;
  readonly target: ExternalTarget;
  readonly auditors: Auditors;
  readonly random: SeededRandom;
  readonly isExcused: boolean;
  readonly onCancel: () => void;
}

type RunEnd =
  | { readonly kind: 'ended'; readonly result: RunResult }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'dead' | 'stopped' };

/** The engine in one process. */
class Run {
  readonly process: SimulatedProcess;
  readonly #own: Promise<RunEnd>;
  /** What faults had touched before it began. */
  readonly touchedBefore: number;
  /** Others took its place: it may be refused. */
  isExcused: boolean;
  hasStarted = false;
  hasEnded = false;
  onStarted: (() => void) | undefined;

  constructor(process: SimulatedProcess, spec: JobSpec, s: RunSurroundings) {
    this.process = process;
    this.touchedBefore = s.faults.touched;
    this.isExcused = s.isExcused;
    const cancel = new AbortController();
    s.faults.onCancel = () => {
      s.onCancel();
      cancel.abort();
    };
    const job = buildJob(spec, {
      process,
      target: s.target,
      throwsNow: () => process.state === 'running' && !process.isZombie && s.faults.throwsNow(),
      testify: (t) => s.auditors.testimonies.push({ ...t, build: `${process.name}/${t.build}` }),
    });
    const global = spec.backend === 'fs' && s.random.chance(0.5) ? {} : { checkpointsDirectory: checkpointDirectory };
    const work = runJob(process.ports, {
      job,
      params: new Map(),
      global,
      parallelism: s.parallelism,
      ...(s.from === undefined ? {} : { from: s.from }),
      takeOver: s.takesOver,
      print: () => {},
      report: (event) => {
        // What a zombie tells may be old news.
        if (event.kind === 'checkpoint-completed' && !process.isZombie) s.auditors.told(event.checkpoint);
        this.#hear(event);
      },
      cancel: cancel.signal,
      workingDirectory: '/home',
      owner: process.name,
    });
    const over = (): void => {
      this.hasEnded = true;
    };
    work.then(over, over);
    this.#own = work.then(
      (result) => ({ kind: 'ended', result }) as const,
      (error: unknown) => ({ kind: 'failed', error }) as const,
    );
  }

  /** What happens to it next: its own end, its death, or that it is stopped. */
  nextEnd(): Promise<RunEnd> {
    const dead = this.process.becomes('dead').then(() => ({ kind: 'dead' }) as const);
    const stopped = this.process.becomes('stopped').then(() => ({ kind: 'stopped' }) as const);
    return Promise.race([this.#own, dead, stopped]);
  }

  #hear(event: RunEvent): void {
    if (event.kind !== 'started') return;
    this.hasStarted = true;
    this.onStarted?.();
  }
}

function tellSpec(spec: JobSpec): readonly string[] {
  const nodes = spec.nodes.map((n, i) => {
    const { kind, ...options } =
      n.op.kind === 'source' ? { ...n.op, source: { ...n.op.source, splits: n.op.source.splits.map((s) => s.rows.length) } } : n.op;
    const inputs = n.inputs.map((x) => `${x.node}${x.isSide ? ' side' : ''}`).join(', ');
    return `${i} ${kind} ${JSON.stringify(options)}${inputs === '' ? '' : ` ← ${inputs}`}${n.parallelism === undefined ? '' : ` ×${n.parallelism}`}`;
  });
  const { checkpoints, backend, restarts, maxParallelism, parallelism } = spec;
  return [...nodes, JSON.stringify({ ...checkpoints, backend, restarts, maxParallelism, parallelism })];
}

function messageOf(error: unknown): string {
  if (isSluiceError(error))
    return `${error.code}: ${error.message}${error.cause === undefined ? '' : ` because ${messageOf(error.cause)}`}`;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
