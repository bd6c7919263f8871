// One seed of lanes: a queue that delivers at least once, overlapping and for a limited time, messages that throw, kill, or throw until the code is
// mended, environments that die, freeze and are given up, pulses, people who restore and redrive. At the end each message had its effect once, or is
// parked, or was dropped by the queue before anybody took it; and the messages of a group in order.

import type { Plan } from '../../../lib/graph/plan.ts';
import { createJob } from '../../../lib/invocation/coordinator/create-job.ts';
import type { QueueMessage } from '../../../lib/invocation/invocation.ts';
import { laneSplits, queueOfStage } from '../../../lib/invocation/lane/queues.ts';
import { createEnvironment, createServices, type EnvironmentOptions } from '../../../lib/invocation/unit/create-environment.ts';
import { listLetters } from '../../../lib/invocation/unit/look.ts';
import {
  FakeQueue,
  FakeService,
  fakePorts,
  type SeededRandom,
  type SimulatedProcess,
  StuckWorld,
  seededRandom,
  World,
} from '../../../lib/testing/index.ts';
import type { ActorOptions } from '../actor.ts';
import { Chaos, drawRates } from '../chaos.ts';
import { Coordinator } from '../coordinator.ts';
import { Counts } from '../counts.ts';
import { runCourier } from '../courier.ts';
import { isPassing, textOf } from '../defects.ts';
import { Fleet, pause, type UnderTest } from '../fleet.ts';
import { hostOf, patientPorts, planOf } from '../processes.ts';
import { quietHooks } from '../service-hooks.ts';
import type { Verdict } from '../verdict.ts';
import { Blame } from './blame.ts';
import { LaneCounts } from './counts.ts';
import { type Drawn, drawCoordinator, drawn, queueHooks, serviceHooks } from './draw.ts';
import { type Letter, laneJob } from './job.ts';
import { judgedMessages } from './judgement.ts';
import { KeptWatch } from './kept-watch.ts';
import { runMapping } from './mapping.ts';
import { Redriver } from './redriver.ts';
import { SentMessages } from './sent-messages.ts';
import { tellLanes } from './tell-lanes.ts';
import { WatchedEnvironments } from './watched-environments.ts';

export interface Outcome extends Verdict {
  readonly trace: readonly string[];
}

const attemptsMax = 3;
const boundedSteps = 60_000;
/** In time-outs: when the platform ends an invocation that nobody waits for any more, and how much later its last request may happen. */
const lifeOfTimeouts = 8;
const lateOfTimeouts = 4;

export async function simulate(seed: number, options: { readonly keepTrace?: boolean } = {}): Promise<Outcome> {
  const scenario = new Scenario(seed, options.keepTrace === true);
  await scenario.play();
  return scenario.outcome();
}

class Scenario {
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #world: World;
  readonly #chaos: Chaos;
  readonly #counts = new Counts();
  readonly #happened = new LaneCounts();
  readonly #service = new FakeService();
  readonly #queue: FakeQueue;
  readonly #fleet: Fleet;
  readonly #blame = new Blame();
  readonly #watch: KeptWatch;
  readonly #drawn: Drawn;
  readonly #sent: SentMessages;
  readonly #lost = new Set<string>();
  readonly #watched: WatchedEnvironments;
  readonly #failures: string[] = [];
  readonly #calm: { plan: Plan; options: EnvironmentOptions };
  #isOver = false;
  #generation = -1;
  #ending = 'stuck';

  constructor(seed: number, keepTrace: boolean) {
    this.#seed = seed;
    const random = seededRandom(seed).fork('lanes');
    this.#random = random;
    this.#drawn = drawn(seed, random);
    const { timeoutMs, faultySteps, setting } = this.#drawn;
    const [counts, service, blame, happened] = [this.#counts, this.#service, this.#blame, this.#happened];
    const chaos = new Chaos({ random, rates: { ...drawRates(random), 'clock jump': 0 }, counts, timeoutMs });
    this.#chaos = chaos;
    const world = new World({ seed, faults: chaos, keepTrace, timeMsMax: 30 * 86_400_000, stepsMax: faultySteps + boundedSteps });
    this.#world = world;
    const now = (): number => world.now;
    Object.assign(service.hooks, serviceHooks(random.fork('service'), chaos, now));
    const lost = ({ id }: QueueMessage): void => {
      this.#lost.add(id);
      happened.count('dropped by the queue');
    };
    const queue = new FakeQueue({ ...setting, hooks: queueHooks(random.fork('queue'), chaos, { now, timeoutMs, lost }) });
    this.#queue = queue;
    const plan = this.#plan(() => undefined);
    const fail = (what: string): void => this.#fail(what);
    const sent = new SentMessages({ setting, queue, planned: queueOfStage(plan, 0)!, blame, happened, attemptsMax, fail });
    this.#sent = sent;
    this.#watch = new KeptWatch({ service, fail, onEntry: (entry) => sent.meetEntry(entry) });
    this.#watched = new WatchedEnvironments({
      world,
      service,
      chaos,
      blame,
      happened,
      risk: this.#drawn.risk,
      lifeMs: lifeOfTimeouts * timeoutMs,
      tell: (invocation) => (invocation.kind === 'queue' ? invocation.messages.map(told).join(' ') : invocation.kind),
    });
    this.#fleet = new Fleet({
      world,
      chaos,
      counts,
      random,
      seatsMax: random.pick([2, 3, 5]),
      timeoutMs,
      affinity: random.pick([0, 0.5, 0.95]),
      start: (process) => this.#environment(process),
      onDefect: (error, invocation) => this.#meetError(error, `${invocation.kind} of ${invocation.subtask}`),
      onLost: () => undefined,
      onOverlap: () => undefined,
    });
    const process = this.#world.process('auditor');
    this.#calm = { plan, options: { ...this.#options(process), plan, ports: fakePorts(service) } };
  }

  async play(): Promise<void> {
    const { plan } = this.#calm;
    const splits = new Map([[0, laneSplits(this.#drawn.setting)]]);
    await createJob(fakePorts(this.#service), { plan, splits, ringSlots: this.#drawn.ringSlots, nowMs: this.#world.now });
    try {
      await this.#world.run(this.#drive());
      this.#ending = 'finished';
      await this.#judge();
    } catch (e) {
      if (!(e instanceof StuckWorld)) throw e;
      this.#fail(`I8: it comes to no end: ${e.message}; ${tellLanes(this.#watch, this.#queue)}`);
    }
  }

  outcome(): Outcome {
    return {
      seed: this.#seed,
      failures: this.#failures,
      traceHash: this.#world.traceHash,
      steps: this.#world.steps,
      ending: this.#ending,
      counts: { ...this.#counts.toJSON(), ...this.#happened.toJSON() },
      trace: this.#world.trace,
    };
  }

  // What goes on

  async #drive(): Promise<void> {
    const random = this.#random;
    const actor: ActorOptions = {
      world: this.#world,
      fleet: this.#fleet,
      chaos: this.#chaos,
      counts: this.#counts,
      random,
      isOver: () => this.#isOver,
    };
    const coordinator = new Coordinator({
      ...actor,
      ...drawCoordinator(random),
      portsOf: (process) => patientPorts(process, this.#watched.ports(process)),
      planOf: () => this.#calm.plan,
      item: () => this.#watch.item,
      onRewind: () => undefined,
      onDefect: (error, what) => this.#meetError(error, what),
    });
    const redriver = new Redriver({
      ...actor,
      sent: this.#sent,
      letters: () => listLetters(createServices(this.#calm.options)),
      deathsOf: (record) => this.#blame.deathsOf(record, this.#watch.item!.generation),
      attemptsMax,
      happened: this.#happened,
      fail: (what) => this.#fail(what),
    });
    const loops = [coordinator.runPulses(), coordinator.runPeople(), this.#send(), redriver.run(), this.#wait(redriver)];
    const mapping = { ...actor, queue: this.#queue, plan: this.#calm.plan, happened: this.#happened };
    for (let i = random.pick([2, 3, 4]); i > 0; i--)
      loops.push(runMapping({ ...mapping, random: random.fork(`deliverer ${i}`), restMs: random.pick([5, 20, 60]) }));
    if (this.#drawn.setting.order === 'standard') loops.push(runCourier('1', { ...actor, service: this.#service, restMs: 20 }));
    await Promise.all(loops);
  }

  async #send(): Promise<void> {
    const random = this.#random.fork('sender');
    const restMs = random.pick([20, 80, 200]);
    while (this.#sent.list.length < this.#drawn.messagesMax) {
      await pause(this.#world, this.#chaos.isQuiet ? 20 : random.skewed(restMs));
      this.#sent.send(random);
    }
  }

  async #wait(redriver: Redriver): Promise<void> {
    const world = this.#world;
    while (world.steps < this.#drawn.faultySteps && this.#failures.length === 0) await pause(world, 20);
    world.note('the last fault is over');
    this.#chaos.quiet();
    Object.assign(this.#service.hooks, quietHooks);
    this.#fleet.thaw();
    do {
      // The last zombies go on meanwhile, and the last of those who asked for something.
      await pause(world, 4 * this.#drawn.timeoutMs);
      while (!this.#isSettled() && this.#failures.length === 0) await pause(world, 50);
    } while (this.#isUnquiet());
    do {
      await redriver.redriveTheMended();
      await pause(world, 500);
    } while (!this.#isSettled() && this.#failures.length === 0);
    this.#isOver = true;
  }

  /** Something that was asked for when faults were still about is only now under way. */
  #isUnquiet(): boolean {
    const { generation, status } = this.#watch.item!;
    const isNew = generation !== this.#generation || status !== 'running';
    this.#generation = generation;
    return isNew && this.#failures.length === 0;
  }

  #isSettled(): boolean {
    const item = this.#watch.item!;
    if (this.#sent.list.length < this.#drawn.messagesMax || this.#queue.unsettled.length > 0) return false;
    if (item.status !== 'running' || item.restoring !== undefined) return false;
    const replay = item.owners.map(({ subtask }) => this.#watch.head(subtask)?.lane?.replay);
    if (replay.some((one) => one !== undefined && one.taken < one.count)) return false;
    return this.#service.exchange.queued().length === 0;
  }

  // What the world is made of

  #run(process: SimulatedProcess, letter: Letter): void {
    const sent = this.#sent.list[letter.id]!;
    this.#world.note(`  ${process.name} runs ${letter.id} (${sent.kind})`);
    if (sent.kind === 'throws' || (sent.kind === 'buggy' && this.#world.steps < this.#drawn.fixedAtStep))
      throw new Error(`no to ${letter.id}`);
    if (sent.kind !== 'kills') return;
    const generation = this.#watch.item!.generation;
    sent.kills.set(generation, (sent.kills.get(generation) ?? 0) + 1);
    this.#happened.count('a message kills');
    this.#chaos.kill(process, this.#world);
    throw new Error('the process is dead');
  }

  #plan(run: (letter: Letter) => void): Plan {
    return planOf(laneJob(this.#drawn.setting, run));
  }

  #options(process: SimulatedProcess): Omit<EnvironmentOptions, 'plan' | 'ports'> {
    return {
      ...hostOf(process),
      limits: {
        flushBelowSlots: this.#drawn.flushBelowSlots,
        inlineBytesMax: 200_000,
        attemptsMax,
        positionMarginMs: (lifeOfTimeouts + lateOfTimeouts) * this.#drawn.timeoutMs,
      },
    };
  }

  #environment(process: SimulatedProcess): UnderTest {
    const plan = this.#plan((letter) => this.#run(process, letter));
    return this.#watched.watch(createEnvironment({ ...this.#options(process), plan, ports: this.#watched.ports(process) }), process);
  }

  // The end

  async #judge(): Promise<void> {
    if (this.#failures.length > 0) return;
    const { order } = this.#drawn.setting;
    const end = { services: createServices(this.#calm.options), sent: this.#sent, order, dropped: this.#lost };
    for await (const what of judgedMessages(end)) this.#fail(what);
  }

  #fail(what: string): void {
    if (this.#failures.length < 20) this.#failures.push(`step ${this.#world.steps}: ${what}`);
    this.#world.note(`FAILS: ${what}`);
  }

  #meetError(error: unknown, what: string): void {
    if (!isPassing(error)) this.#fail(`${what} failed: ${textOf(error)}`);
  }
}

function told({ body, id, receives }: QueueMessage): string {
  return `${(body as Letter).id}(${id}×${receives})`;
}
