// One seed, one world: lets environments, mappings, a queue, pulses and people loose on a job that was drawn, and asks the auditors. The first part of
// a world is full of faults; after the last one everything must come to its end within a bound (I8).

import { FakeService, type SimulatedProcess, StuckWorld, World } from '../../lib/testing/index.ts';
import { Ambush, type AmbushPlan } from './ambush.ts';
import { gradualArrivals } from './arrivals.ts';
import { Chaos } from './chaos.ts';
import { hasReadAll } from './completion.ts';
import { Coordinator } from './coordinator.ts';
import { Counts } from './counts.ts';
import { runCourier } from './courier.ts';
import { type Drawn, drawCouriers, drawFeed, drawWorld } from './draw.ts';
import { pause } from './fleet.ts';
import { heldRows } from './held-rows.ts';
import { JobWorld } from './job-world.ts';
import { judgeWorld } from './judge-world.ts';
import { PrepareWatch } from './prepare-watch.ts';
import { drawHooks, quietHooks } from './service-hooks.ts';
import { tellSetting } from './tell-setting.ts';
import { tellState } from './tell-state.ts';
import { isCovered, type Redrives, twistPeople, watchTwists } from './twist-people.ts';
import { faultyFunctions } from './user-functions.ts';
import type { Verdict } from './verdict.ts';

export interface Outcome extends Verdict {
  readonly trace: readonly string[];
  readonly told: readonly string[];
}

export interface ScenarioOptions {
  readonly keepTrace?: boolean;
}

const dayMs = 30 * 3_600_000;
/** Steps within which everything must come to its end after the last fault. */
const boundedSteps = 100_000;
/** Whoever creates the job is waited for so long, ms. */
const createMsMax = 60_000;

export async function simulate(seed: number, options: ScenarioOptions = {}): Promise<Outcome> {
  const scenario = new Scenario(drawWorld(seed), options.keepTrace === true);
  await scenario.play();
  return scenario.outcome();
}

class Scenario {
  readonly #drawn: Drawn;
  readonly #counts = new Counts();
  readonly #chaos: Chaos;
  readonly #world: World;
  readonly #service = new FakeService();
  readonly #job: JobWorld;
  readonly #prepares: PrepareWatch;
  readonly #redrives: Redrives = { underWay: 0, lastMs: 0, begun: 0 };
  #coordinator: Coordinator | undefined;
  #dayAtStep: number;
  #rewinds = 0;
  /** It ended so, whatever comes late. */
  #isCancelled = false;
  #ending = 'stuck';

  constructor(drawn: Drawn, keepTrace: boolean) {
    this.#drawn = drawn;
    this.#dayAtStep = drawn.dayAtStep;
    const { seed, random, rates, timeoutMs, faultySteps } = drawn;
    const [counts, service] = [this.#counts, this.#service];
    this.#chaos = new Chaos({ random, rates, counts, timeoutMs });
    const stepsMax = faultySteps + boundedSteps;
    this.#world = new World({ seed, faults: this.#chaos, keepTrace, timeMsMax: 30 * 86_400_000, stepsMax });
    const [world, chaos] = [this.#world, this.#chaos];
    Object.assign(service.hooks, drawHooks(random.fork('service'), { now: () => world.now, chaos, counts }));
    this.#job = new JobWorld({
      world,
      service,
      chaos,
      counts,
      random,
      setting: drawn.setting,
      flushBelowSlots: drawn.flushBelowSlots,
      arrivals: gradualArrivals(drawn, { world, chaos }),
      fleet: { seatsMax: drawn.seatsMax, timeoutMs, affinity: drawn.affinity },
      functionsOf: (process) => faultyFunctions(process, drawn, { world, chaos, counts, trouble: this.#job.trouble }),
      onResult: (process, method, place, result) => this.#meetResult(process, method, place, result),
    });
    if (drawn.twist !== undefined) service.observers.push(watchTwists(counts));
    this.#prepares = new PrepareWatch(service);
    this.#job.targets.onPrepare = (process, id) => {
      const what = this.#prepares.prepared(process, id);
      if (what !== undefined) this.#job.auditors.fail(what);
    };
    if (drawn.ambush !== undefined) this.#layAmbush(drawn.ambush);
  }

  async play(): Promise<void> {
    const { auditors } = this.#job;
    try {
      await this.#world.run(this.#drive());
      this.#ending = 'finished';
      if (auditors.failures.length === 0) await this.#judge();
    } catch (e) {
      if (!(e instanceof StuckWorld)) throw e;
      auditors.fail(`I8: the job comes to no end: ${e.message}; ${tellState(auditors, this.#service)}`);
    }
  }

  outcome(): Outcome {
    const { seed, ambush, twist, setting, rates } = this.#drawn;
    const { traceHash, steps, trace } = this.#world;
    return {
      seed,
      failures: this.#job.auditors.failures,
      traceHash,
      steps,
      ending: this.#ending,
      counts: this.#counts.toJSON(),
      trace,
      told: [ambush?.name ?? 'no ambush', twist?.name ?? 'no twist', ...tellSetting(setting, rates)],
    };
  }

  async #drive(): Promise<void> {
    const { random, setting, timeoutMs, faultySteps, twist, coordinator: rates } = this.#drawn;
    const [job, redrives] = [this.#job, this.#redrives];
    await job.create(createMsMax);
    const coordinator = new Coordinator({
      ...job.coordinated,
      mayRewind: setting.mayRewind,
      pulseMsMax: 3 * timeoutMs,
      rates,
      onRewind: () => {
        this.#rewinds++;
        job.targets.mayAbortCommitted = true;
      },
    });
    this.#coordinator = coordinator;
    const loops = [coordinator.runPulses(), coordinator.runPeople(), this.#wait()];
    loops.push(...job.feeds(() => drawFeed(random)).map((feed) => feed.run()));
    const rests = drawCouriers(random);
    loops.push(...rests.map((restMs, i) => runCourier(String(rests.length - i), { ...job.actor, service: this.#service, restMs })));
    if (twist !== undefined) loops.push(...twistPeople(twist, job, { redrives, faultySteps }));
    await Promise.all(loops);
  }

  /** Faults for a number of steps, then none; then the end. */
  async #wait(): Promise<void> {
    const world = this.#world;
    const { failures } = this.#job.auditors;
    while (world.steps < this.#drawn.faultySteps && failures.length === 0) {
      await pause(world, 20);
      this.#service.table.expire();
      if (world.steps > this.#dayAtStep) await this.#passDay();
    }
    world.note('the last fault is over');
    this.#calm();
    while (!this.#hasEverything() && failures.length === 0) await pause(world, 50);
    this.#job.isOver = true;
    this.#isCancelled = this.#job.auditors.item!.status === 'cancelled';
    // Nobody is asked for anything any more; what was left behind goes on, and what is late comes.
    await pause(world, 5 * this.#drawn.timeoutMs);
  }

  /** Nothing that was under way lives to see the next day; what is still on its way arrives before. */
  async #passDay(): Promise<void> {
    const world = this.#world;
    this.#dayAtStep = Number.POSITIVE_INFINITY;
    this.#counts.count('a day passes');
    this.#chaos.isHushed = true;
    await pause(world, 5 * this.#drawn.timeoutMs);
    for (const process of world.processes) process.lose();
    world.now += dayMs;
    world.note('a day passes');
    this.#service.table.expire();
    this.#chaos.isHushed = false;
  }

  #calm(): void {
    this.#chaos.quiet();
    Object.assign(this.#service.hooks, quietHooks);
    this.#job.actor.fleet.thaw();
  }

  #hasEverything(): boolean {
    const { now: nowMs } = this.#world;
    const lateMsMax = 5 * this.#drawn.timeoutMs;
    return hasReadAll(this.#job, (checkpoint) => isCovered(this.#redrives, { checkpoint, nowMs, lateMsMax }));
  }

  async #judge(): Promise<void> {
    const [job, service] = [this.#job, this.#service];
    const { auditors } = job;
    const reader = this.#world.process('reader');
    const letters = this.#isCancelled ? [] : await job.letters(reader);
    const held = heldRows({
      item: auditors.item!,
      head: (generation, subtask) => auditors.head(generation, subtask),
      object: (name) => service.objects.peek(name),
    });
    // A timer that was to put out what was held to the end may be parked.
    const isCutOff = this.#isCancelled || letters.some(({ letter }) => letter.timer?.domain === 'event');
    judgeWorld(job, { letters, plan: job.plan(reader), isRedriven: true, rewinds: this.#rewinds, held, isCutOff });
  }

  #meetResult(process: SimulatedProcess, method: string, place: string, result: unknown): void {
    if (method === 'changelog.put' && (result as { kind: string }).kind === 'conflict') this.#counts.count('append lost');
    if (method === 'objects.get') this.#prepares.read(process, place, result);
  }

  #layAmbush(plan: AmbushPlan): void {
    const { seed, timeoutMs } = this.#drawn;
    const ambush = new Ambush({
      seed,
      plan,
      world: this.#world,
      counts: this.#counts,
      timeoutMs,
      item: () => this.#job.auditors.item,
      provoke: () => this.#coordinator?.provoke(),
    });
    this.#chaos.ambush = ambush;
    this.#service.observers.push((change) => ambush.see(change));
  }
}
