// One small job in one world with at most one fault, judged by the auditors and the oracle of the simulation. Chance decides nothing but the order
// of requests, and that by one seed, so that up to its fault a world is the undisturbed one.

import { ParamValues } from '../../lib/api/params.ts';
import { compile } from '../../lib/graph/compile.ts';
import type { Plan } from '../../lib/graph/plan.ts';
import { isSluiceError } from '../../lib/index.ts';
import { createJob } from '../../lib/invocation/coordinator/create-job.ts';
import { requestPause, requestResume } from '../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import { patient } from '../../lib/invocation/patience.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import { createEnvironment, createServices, type EnvironmentOptions } from '../../lib/invocation/unit/create-environment.ts';
import { listLetters } from '../../lib/invocation/unit/look.ts';
import { describe } from '../../lib/operators/describe.ts';
import {
  FakeService,
  fakePorts,
  type SeededRandom,
  type SimulatedProcess,
  StuckWorld,
  seededRandom,
  World,
} from '../../lib/testing/index.ts';
import type { SplitScript } from '../simulation/spec.ts';
import { Auditors } from './audit.ts';
import { buildJob } from './build.ts';
import { Coordinator } from './coordinator.ts';
import { Counts } from './counts.ts';
import { runCourier } from './courier.ts';
import { Feed, type FeedOptions } from './feed.ts';
import { Fleet, pause } from './fleet.ts';
import { judged } from './judgement.ts';
import { watchOwners } from './owner-watch.ts';
import { ShardPlaces } from './shard-places.ts';
import { type Arrivals, enumerated } from './source.ts';
import { type Point, SingleFault, type SingleFaultOptions } from './sweep-fault.ts';
import type { Act, SweepJob } from './sweep-jobs.ts';
import { Targets } from './targets.ts';
import { parkedRows, Trouble } from './trouble.ts';

export interface SweepOutcome {
  readonly failures: readonly string[];
  /** Every call up to the fault; of an undisturbed run, every call. */
  readonly points: readonly Point[];
  readonly hasStruck: boolean;
  readonly counts: Counts;
  readonly steps: number;
  readonly traceHash: number;
  readonly trace: readonly string[];
}

/** An event is given up after this, ms; a pulse and whoever creates or asks after twice that. */
const timeoutMs = 120;
/** An undisturbed job takes a tenth of this. */
const stepsMax = 12_000;
/** Nothing is under way any more for this long, ms: the job has ended. */
const stillMs = 60;

export async function sweepOnce(
  job: SweepJob,
  strikes: SingleFaultOptions['strikes'],
  o: { readonly keepTrace?: boolean } = {},
): Promise<SweepOutcome> {
  const world = new SweepWorld(job, strikes, o.keepTrace === true);
  await world.play();
  return world.outcome();
}

class SweepWorld {
  readonly #job: SweepJob;
  readonly #world: World;
  readonly #random: SeededRandom = seededRandom(1).fork('sweep');
  readonly #counts = new Counts();
  readonly #service = new FakeService();
  readonly #shards = new ShardPlaces(this.#service);
  readonly #targets = new Targets(this.#counts);
  readonly #fault: SingleFault;
  readonly #auditors: Auditors;
  readonly #trouble: Trouble;
  readonly #fleet: Fleet;
  #people = 0;
  #tellPerson = (): void => {};
  #isOver = false;

  constructor(job: SweepJob, strikes: SingleFaultOptions['strikes'], keepTrace: boolean) {
    this.#job = job;
    const { setting } = job;
    const [service, counts, targets] = [this.#service, this.#counts, this.#targets];
    this.#fault = new SingleFault({ counts, service, timeoutMs, strikes });
    this.#world = new World({ seed: 1, faults: this.#fault, keepTrace, stepsMax });
    const world = this.#world;
    Object.assign(service.hooks, { now: () => world.now, pageBytes: 1_000, visibilityMs: () => 2 * timeoutMs });
    service.observers.push(({ kind }) => kind === 'item' && this.#tellPerson());
    this.#auditors = new Auditors({ world, service, setting, targets, counts });
    watchOwners(service, counts);
    this.#trouble = new Trouble(setting, service, counts);
    this.#fleet = new Fleet({
      world,
      chaos: this.#fault,
      counts,
      random: this.#random,
      seatsMax: 3,
      timeoutMs,
      affinity: 0.5,
      isLeftBehind: true,
      start: (process) => createEnvironment(this.#environmentOptions(process, this.#ports(process))),
      onDefect: (error, invocation) => this.#meetError(error, `${invocation.kind} of ${invocation.subtask}`),
      onLost: (invocation) => this.#trouble.lost(invocation),
      onOverlap: (invocation) => this.#trouble.overlapped(invocation),
    });
  }

  async play(): Promise<void> {
    try {
      await this.#world.run(this.#drive());
      await this.#judge();
    } catch (e) {
      if (!(e instanceof StuckWorld)) throw e;
      const { item } = this.#auditors;
      const heads = item?.owners.map(({ subtask }) => {
        const head = this.#auditors.head(item.generation, subtask);
        return `${subtask} ${head?.kind} ${head?.n} epoch ${head?.epoch}${head?.hasEnded === true ? ' ended' : ''}`;
      });
      this.#auditors.fail(
        `I8: the job comes to no end: ${e.message}; ${item?.status} in generation ${item?.generation}; ${heads?.join('; ')}`,
      );
    }
  }

  outcome(): SweepOutcome {
    const { points, hasStruck } = this.#fault;
    const { steps, traceHash, trace } = this.#world;
    return { failures: this.#auditors.failures, points, hasStruck, counts: this.#counts, steps, traceHash, trace };
  }

  async #drive(): Promise<void> {
    await this.#create();
    const coordinator = new Coordinator({
      world: this.#world,
      chaos: this.#fault,
      counts: this.#counts,
      random: this.#random,
      fleet: this.#fleet,
      mayRewind: false,
      rates: { restMs: 40, noPulseForLong: 0, atOnce: 0, tick: 0.1, restore: 0, pause: 0 },
      pulseMsMax: 2 * timeoutMs,
      portsOf: (process) => this.#patient(process),
      planOf: (process) => this.#plan(process),
      item: () => this.#auditors.item,
      isOver: () => this.#isOver,
      onRewind: () => {},
      onDefect: (error, what) => this.#meetError(error, what),
    });
    const common = { world: this.#world, fleet: this.#fleet, chaos: this.#fault, counts: this.#counts, random: this.#random };
    const courier = runCourier('1', { ...common, service: this.#service, restMs: 20, isOver: () => this.#isOver });
    await Promise.all([coordinator.runPulses(), courier, this.#runPeople(), this.#wait(), ...this.#feeds().map((f) => f.run())]);
  }

  async #create(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const process = this.#world.process(`creator-${tries}`);
      const plan = this.#plan(process);
      const splits = new Map(this.#sourcesOf(plan).map(({ stage, spec }) => [stage, enumerated(spec)]));
      const ports = this.#patient(process);
      const { ringSlots } = this.#job.setting;
      const work = createJob(ports, { plan, splits, ringSlots, nowMs: process.ports.clock.now() }).then(() => 'done');
      if ((await this.#left(process, work, 'the creation of the job')) === 'done') return;
    }
  }

  /** @returns what it came to, or who is waited for no longer */
  #left(process: SimulatedProcess, work: Promise<string>, what: string): Promise<string> {
    const done = work.catch((error: unknown) => {
      this.#meetError(error, what);
      return 'failed';
    });
    return Promise.race([done, process.becomes('dead').then(() => 'dead'), pause(this.#world, 2 * timeoutMs).then(() => 'late')]);
  }

  #sourcesOf(plan: Plan) {
    return plan.stages.flatMap(({ id, operators }) => {
      const op = this.#job.setting.spec.nodes.find((n) => n.uid === operators[0]!.uid)?.op;
      return op?.kind === 'source' ? [{ stage: id, spec: op.source }] : [];
    });
  }

  #feeds(): readonly Feed[] {
    const owners = this.#auditors.item?.owners ?? [];
    return this.#sourcesOf(this.#plan(this.#world.process('mapping'))).flatMap(({ stage, spec }) =>
      spec.splits.map((script, ordinal) => {
        const owner = owners.find((o) => o.stage === stage && o.splits.includes(ordinal));
        const fixed = { subtask: owner?.subtask ?? '', ordinal };
        return this.#feed(script, spec.evolution === undefined ? () => fixed : () => this.#shards.of(stage, script.id));
      }),
    );
  }

  #feed(script: SplitScript, place: FeedOptions['place']): Feed {
    const rates = { restMs: this.#job.feedMs, batchMax: 2, early: 0, overlap: 0 };
    const { world, fleet, random, counts } = { world: this.#world, fleet: this.#fleet, random: this.#random, counts: this.#counts };
    const isOver = (): boolean => this.#isOver;
    return new Feed({ world, fleet, chaos: this.#fault, counts, random, arrivals: this.#arrivals, rates, place, script, isOver });
  }

  /** Does what is to be done to the job, and opens it again whenever it has been stopped. */
  async #runPeople(): Promise<void> {
    const acts = [...this.#job.acts];
    while (!this.#isOver) {
      // Whoever looks now and then would miss what lies between two requests.
      await Promise.race([pause(this.#world, 20), new Promise<void>((resolve) => (this.#tellPerson = resolve))]);
      const item = this.#auditors.item!;
      if (item.status === 'paused' || item.status === 'failed') await this.#ask('resume');
      const act = acts[0];
      if (act !== undefined && this.#isTimeFor(act) && (await this.#ask(act)) === 'done') acts.shift();
    }
  }

  /** A pause comes while a checkpoint is open; a restore too, when rows of it are prepared: there is an older one to go back to. */
  #isTimeFor(act: Act): boolean {
    const item = this.#auditors.item!;
    if (item.status !== 'running' || item.restoring !== undefined || item.open.length === 0) return false;
    const isPrepared = [...this.#targets.transactions.values()].some(
      ({ state, under }) => state === 'prepared' && item.open.some(({ checkpoint }) => checkpoint === under),
    );
    return act === 'pause' || (item.completed.length > 0 && isPrepared);
  }

  async #ask(what: Act | 'resume'): Promise<string> {
    const process = this.#world.process(`person-${++this.#people}`);
    const ports = this.#patient(process);
    this.#counts.count(what === 'restore' ? 'restore asked for' : what === 'pause' ? 'pause asked for' : 'resumed');
    const asked = what === 'restore' ? startRestore(ports, 'latest') : what === 'pause' ? requestPause(ports) : requestResume(ports);
    const work = asked.then(
      () => 'done',
      (error: unknown) => {
        // Too late, or too early.
        if (isSluiceError(error) && error.code === 'JOB_NOT_IN_STATE') return 'done';
        throw error;
      },
    );
    return this.#left(process, work, what);
  }

  async #wait(): Promise<void> {
    for (let still = 0; still < stillMs; ) {
      await pause(this.#world, 20);
      if (this.#auditors.failures.length > 0) break;
      const item = this.#auditors.item!;
      const isStill = item.status === 'finished' && item.restoring === undefined && this.#fault.outstanding === 0;
      still = isStill ? still + 20 : 0;
    }
    this.#isOver = true;
    await pause(this.#world, 2 * timeoutMs);
  }

  async #judge(): Promise<void> {
    const auditors = this.#auditors;
    if (auditors.failures.length > 0) return;
    const reader = this.#world.process('reader');
    const letters = await listLetters(createServices(this.#environmentOptions(reader, fakePorts(this.#service))));
    for (const what of this.#trouble.judged(letters)) auditors.fail(what);
    const plan = this.#plan(reader);
    const heads = new Map(auditors.item!.owners.map((o) => [o.subtask, plan.stages[o.stage]!.operators[0]!.uid]));
    const parked = parkedRows(letters, (subtask) => heads.get(subtask)!);
    for (const what of judged(this.#job.setting.spec, this.#targets, { rewinds: 0, isCalm: false, parked, held: new Map() }))
      auditors.fail(what);
    for (const v of this.#targets.violations) auditors.fail(v);
    for (const name of this.#targets.undecided()) auditors.fail(`transaction ${name} is prepared and never decided`);
  }

  // What processes are made of

  readonly #arrivals: Arrivals = {
    arrived: (split) => split.rows.length,
    hasEnded: () => true,
    placeOf: () => Number.POSITIVE_INFINITY,
  };

  #plan(process: SimulatedProcess): Plan {
    const around = { process, targets: this.#targets, arrivals: this.#arrivals, throwsNow: () => false, testify: () => {} };
    return compile(describe(buildJob(this.#job.setting.spec, around), new ParamValues(new Map()), {}), { keepsPartitions: true });
  }

  #ports(process: SimulatedProcess): InvocationPorts {
    return fakePorts(this.#service, (method, place, effect) => process.call(method, place, effect));
  }

  #patient(process: SimulatedProcess): InvocationPorts {
    return patient(this.#ports(process), { clock: process.ports.clock, random: process.ports.random });
  }

  #environmentOptions(process: SimulatedProcess, ports: InvocationPorts): EnvironmentOptions {
    const { setting, flushBelowSlots } = this.#job;
    const { clock, random, files } = process.ports;
    const limits = { ...setting.limits, attemptsMax: setting.attemptsMax, flushBelowSlots };
    return { plan: this.#plan(process), ports, clock, random, files, report: () => {}, print: () => {}, limits };
  }

  /** What the one fault makes fail is part of the game; anything else is a defect. */
  #meetError(error: unknown, what: string): void {
    if (isSluiceError(error) && (error.next === 'try-again' || error.next === 'retry-invocation' || error.next === 'recover-subtask'))
      return;
    const text = error instanceof Error ? error.message : String(error);
    if (/^no answer from |^nobody answered |^transaction .* cannot be prepared again$/.test(text)) return;
    this.#auditors.fail(`${what} failed: ${error instanceof Error ? (error.stack ?? text) : text}`);
  }
}
