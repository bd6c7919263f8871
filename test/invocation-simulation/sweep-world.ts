// One small job in one world with at most one fault, judged by the auditors and the oracle of the simulation. Chance decides nothing but the order
// of requests, and that by one seed, so that up to its fault a world is the undisturbed one.

import { requestPause, requestResume } from '../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import { FakeService, StuckWorld, seededRandom, World } from '../../lib/testing/index.ts';
import { attempt, ifInState } from './actor.ts';
import { allArrived } from './arrivals.ts';
import { Coordinator } from './coordinator.ts';
import { Counts } from './counts.ts';
import { runCourier } from './courier.ts';
import { pause } from './fleet.ts';
import { JobWorld } from './job-world.ts';
import { judgeWorld } from './judge-world.ts';
import { type Point, SingleFault, type SingleFaultOptions } from './sweep-fault.ts';
import type { Act, SweepJob } from './sweep-jobs.ts';
import { tellState } from './tell-state.ts';
import { faultless } from './user-functions.ts';

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

/** An event is given up after this, ms. */
const timeoutMs = 120;
/** A pulse and whoever creates or asks are waited for so long, ms. */
const waitMsMax = 2 * timeoutMs;
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
  readonly #sweep: SweepJob;
  readonly #counts = new Counts();
  readonly #service = new FakeService();
  readonly #fault: SingleFault;
  readonly #world: World;
  readonly #job: JobWorld;
  #people = 0;
  #tellPerson = (): void => {};

  constructor(sweep: SweepJob, strikes: SingleFaultOptions['strikes'], keepTrace: boolean) {
    this.#sweep = sweep;
    const [service, counts] = [this.#service, this.#counts];
    this.#fault = new SingleFault({ counts, service, timeoutMs, strikes });
    const world = new World({ seed: 1, faults: this.#fault, keepTrace, stepsMax });
    this.#world = world;
    Object.assign(service.hooks, { now: () => world.now, pageBytes: 1_000, visibilityMs: () => 2 * timeoutMs });
    service.observers.push(({ kind }) => kind === 'item' && this.#tellPerson());
    this.#job = new JobWorld({
      world,
      service,
      chaos: this.#fault,
      counts,
      random: seededRandom(1).fork('sweep'),
      setting: sweep.setting,
      flushBelowSlots: sweep.flushBelowSlots,
      arrivals: allArrived,
      fleet: { seatsMax: 3, timeoutMs, affinity: 0.5, isLeftBehind: true },
      functionsOf: () => faultless,
    });
  }

  async play(): Promise<void> {
    const { auditors } = this.#job;
    try {
      await this.#world.run(this.#drive());
      if (auditors.failures.length === 0) await this.#judge();
    } catch (e) {
      if (!(e instanceof StuckWorld)) throw e;
      auditors.fail(`I8: the job comes to no end: ${e.message}; ${tellState(auditors, this.#service)}`);
    }
  }

  outcome(): SweepOutcome {
    const { points, hasStruck } = this.#fault;
    const { steps, traceHash, trace } = this.#world;
    return { failures: this.#job.auditors.failures, points, hasStruck, counts: this.#counts, steps, traceHash, trace };
  }

  async #drive(): Promise<void> {
    const job = this.#job;
    await job.create(waitMsMax);
    const coordinator = new Coordinator({
      ...job.coordinated,
      mayRewind: false,
      rates: { restMs: 40, noPulseForLong: 0, atOnce: 0, tick: 0.1, restore: 0, pause: 0 },
      pulseMsMax: waitMsMax,
      onRewind: () => {},
    });
    const courier = runCourier('1', { ...job.actor, service: this.#service, restMs: 20 });
    const feeds = job.feeds(() => ({ restMs: this.#sweep.feedMs, batchMax: 2, early: 0, overlap: 0 }));
    await Promise.all([coordinator.runPulses(), courier, this.#runPeople(), this.#wait(), ...feeds.map((feed) => feed.run())]);
  }

  /** Does what is to be done to the job, and opens it again whenever it has been stopped. */
  async #runPeople(): Promise<void> {
    const acts = [...this.#sweep.acts];
    while (!this.#job.isOver) {
      // Whoever looks now and then would miss what lies between two requests.
      await Promise.race([pause(this.#world, 20), new Promise<void>((resolve) => (this.#tellPerson = resolve))]);
      const item = this.#job.auditors.item!;
      if (item.status === 'paused' || item.status === 'failed') await this.#ask('resume');
      const act = acts[0];
      if (act !== undefined && this.#isTimeFor(act) && (await this.#ask(act)) === 'done') acts.shift();
    }
  }

  /** A pause comes while a checkpoint is open; a restore too, when rows of it are prepared: there is an older one to go back to. */
  #isTimeFor(act: Act): boolean {
    const { auditors, targets } = this.#job;
    const item = auditors.item!;
    if (item.status !== 'running' || item.restoring !== undefined || item.open.length === 0) return false;
    const isPrepared = [...targets.transactions.values()].some(
      ({ state, under }) => state === 'prepared' && item.open.some(({ checkpoint }) => checkpoint === under),
    );
    return act === 'pause' || (item.completed.length > 0 && isPrepared);
  }

  #ask(what: Act | 'resume'): Promise<string> {
    const world = this.#world;
    const process = world.process(`person-${++this.#people}`);
    const ports = this.#job.portsOf(process);
    this.#counts.count(what === 'restore' ? 'restore asked for' : what === 'pause' ? 'pause asked for' : 'resumed');
    const asked = what === 'restore' ? startRestore(ports, 'latest') : what === 'pause' ? requestPause(ports) : requestResume(ports);
    return attempt(ifInState(asked), { world, process, waitMsMax, onFailure: (error) => this.#job.meetError(error, what) });
  }

  async #wait(): Promise<void> {
    const { auditors } = this.#job;
    for (let still = 0; still < stillMs; ) {
      await pause(this.#world, 20);
      if (auditors.failures.length > 0) break;
      const item = auditors.item!;
      const isStill = item.status === 'finished' && item.restoring === undefined && this.#fault.outstanding === 0;
      still = isStill ? still + 20 : 0;
    }
    this.#job.isOver = true;
    await pause(this.#world, 2 * timeoutMs);
  }

  async #judge(): Promise<void> {
    const reader = this.#world.process('reader');
    const letters = await this.#job.letters(reader);
    judgeWorld(this.#job, { letters, plan: this.#job.plan(reader), isRedriven: false, rewinds: 0, held: new Map() });
  }
}
