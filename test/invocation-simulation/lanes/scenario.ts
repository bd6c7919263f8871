// One seed of lanes: a queue that delivers at least once, overlapping and for a limited time, messages that throw, kill, or throw until the code is
// mended, environments that die, freeze and are given up, pulses, people who restore and redrive. At the end each message had its effect once, or is
// parked, or was dropped by the queue before anybody took it; and the messages of a group in order.

import type { Plan } from '../../../lib/graph/plan.ts';
import { createJob } from '../../../lib/invocation/coordinator/create-job.ts';
import type { Entry } from '../../../lib/invocation/entry.ts';
import type { Answer, Invocation, QueueMessage } from '../../../lib/invocation/invocation.ts';
import { decodeUnit } from '../../../lib/invocation/lane/kept-format.ts';
import { laneOf, laneRecord, laneSplits, queueOfStage, splitByLane } from '../../../lib/invocation/lane/queues.ts';
import { decodeLetter, letterId, letterIdOf, lettersAddress } from '../../../lib/invocation/poison/dead-letters.ts';
import { createEnvironment, createServices, type EnvironmentOptions } from '../../../lib/invocation/unit/create-environment.ts';
import { type ListedLetter, listLetters } from '../../../lib/invocation/unit/look.ts';
import {
  FakeQueue,
  FakeService,
  fakePorts,
  type QueueDelivered,
  type SeededRandom,
  type SimulatedProcess,
  StuckWorld,
  seededRandom,
  World,
} from '../../../lib/testing/index.ts';
import { type ActorOptions, isPassing, textOf } from '../actor.ts';
import { Chaos, drawRates } from '../chaos.ts';
import { Coordinator } from '../coordinator.ts';
import { Counts } from '../counts.ts';
import { runCourier } from '../courier.ts';
import { Fleet, pause, type UnderTest } from '../fleet.ts';
import { hostOf, patientPorts, planOf } from '../processes.ts';
import { quietHooks } from '../service-hooks.ts';
import type { Verdict } from '../verdict.ts';
import { Blame } from './blame.ts';
import { LaneCounts } from './counts.ts';
import { type Drawn, drawn, queueHooks, serviceHooks } from './draw.ts';
import { keyOf, type Letter, laneJob } from './job.ts';
import { isInOrder, judged, type Kind, type Sent, seenBy } from './judgement.ts';
import { KeptWatch } from './kept-watch.ts';
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
  readonly #sent: Sent[] = [];
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
    const rates = { ...drawRates(random), 'clock jump': 0 };
    this.#chaos = new Chaos({ random, rates, counts: this.#counts, timeoutMs });
    this.#world = new World({
      seed,
      faults: this.#chaos,
      keepTrace,
      timeMsMax: 30 * 86_400_000,
      stepsMax: faultySteps + boundedSteps,
    });
    const now = (): number => this.#world.now;
    Object.assign(this.#service.hooks, serviceHooks(random.fork('service'), this.#chaos, now));
    const lost = ({ id }: QueueMessage): void => {
      this.#lost.add(id);
      this.#happened.count('dropped by the queue');
    };
    this.#queue = new FakeQueue({ ...setting, hooks: queueHooks(random.fork('queue'), this.#chaos, { now, timeoutMs, lost }) });
    this.#watch = new KeptWatch({ service: this.#service, fail: (what) => this.#fail(what), onEntry: (entry) => this.#meetEntry(entry) });
    this.#watched = new WatchedEnvironments({
      world: this.#world,
      service: this.#service,
      chaos: this.#chaos,
      blame: this.#blame,
      happened: this.#happened,
      risk: this.#drawn.risk,
      lifeMs: lifeOfTimeouts * timeoutMs,
      tell: (invocation) => (invocation.kind === 'queue' ? invocation.messages.map(told).join(' ') : invocation.kind),
    });
    this.#fleet = new Fleet({
      world: this.#world,
      chaos: this.#chaos,
      counts: this.#counts,
      random,
      seatsMax: random.pick([2, 3, 5]),
      timeoutMs,
      affinity: random.pick([0, 0.5, 0.95]),
      start: (process) => this.#environment(process),
      onDefect: (error, invocation) => this.#meetError(error, `${invocation.kind} of ${invocation.subtask}`),
      onLost: () => undefined,
      onOverlap: () => undefined,
    });
    const plan = this.#plan(() => undefined);
    const process = this.#world.process('auditor');
    this.#calm = { plan, options: { ...this.#options(process), plan, ports: fakePorts(this.#service) } };
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
      this.#fail(`I8: it comes to no end: ${e.message}; ${this.#tellState()}`);
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
      mayRewind: random.chance(0.5),
      rates: {
        restMs: random.pick([20, 60, 200]),
        noPulseForLong: 0,
        lostBarrier: random.pick([0, 0.1]),
        atOnce: random.pick([0, 0.1, 0.5]),
        tick: random.pick([0.2, 0.5]),
        restore: random.pick([0, 0.05, 0.2]),
        pause: random.pick([0, 0, 0.02]),
      },
      portsOf: (process) => patientPorts(process, this.#watched.ports(process)),
      planOf: () => this.#calm.plan,
      item: () => this.#watch.item,
      onRewind: () => undefined,
      onDefect: (error, what) => this.#meetError(error, what),
    });
    const loops = [coordinator.runPulses(), coordinator.runPeople(), this.#send(), this.#redrive(), this.#wait()];
    for (let i = random.pick([2, 3, 4]); i > 0; i--) loops.push(this.#deliver(random.fork(`deliverer ${i}`), random.pick([5, 20, 60])));
    if (this.#drawn.setting.order === 'standard') loops.push(runCourier('1', { ...actor, service: this.#service, restMs: 20 }));
    await Promise.all(loops);
  }

  async #send(): Promise<void> {
    const random = this.#random.fork('sender');
    const restMs = random.pick([20, 80, 200]);
    while (this.#sent.length < this.#drawn.messagesMax) {
      await pause(this.#world, this.#chaos.isQuiet ? 20 : random.skewed(restMs));
      const dice = random.below(100);
      const kind: Kind = dice < 5 ? 'throws' : dice < 10 ? 'kills' : dice < 20 ? 'buggy' : 'fine';
      const letter = { id: this.#sent.length, group: `g${random.below(6)}` };
      const message = this.#queue.send({ group: letter.group, body: letter });
      this.#sent.push({ letter, kind, message, kills: new Map(), isRedriven: false, hasLeft: false, wasTaken: false });
    }
  }

  async #deliver(random: SeededRandom, restMs: number): Promise<void> {
    const of = queueOfStage(this.#calm.plan, 0)!;
    while (!this.#isOver) {
      await pause(this.#world, random.skewed(restMs));
      const given = this.#queue.receive({ max: random.between(1, 10) });
      if (given.length === 0) continue;
      if (given.some(({ message }) => message.receives > 1)) this.#happened.count('received again');
      const parts = splitByLane(
        given.map(({ message }) => message),
        of,
      );
      if (parts.length > 1) this.#happened.count('event of several lanes');
      this.#answer(given, parts, await this.#fleet.event(parts), random);
    }
  }

  /** One answer to the whole event: when a part has none, nothing is deleted. */
  #answer(
    given: readonly QueueDelivered[],
    parts: readonly Invocation[],
    answers: readonly (Answer | undefined)[],
    random: SeededRandom,
  ): void {
    if (answers.length < parts.length || answers.includes(undefined)) return;
    if (answers.some((answer) => answer?.kind === 'partial')) this.#happened.count('part of the messages settled');
    const settled = new Set(parts.flatMap((part, i) => settledIn(part, answers[i]!)));
    const receipts = given.filter(({ message }) => settled.has(message.id)).map(({ receipt }) => receipt);
    const left = given.filter(({ message }) => !settled.has(message.id)).map(({ receipt }) => receipt);
    this.#world.alarm(random.skewed(5) - 1, () => {
      if (this.#chaos.happens(0.02)) return;
      this.#queue.settle(receipts);
      if (random.chance(0.5)) this.#queue.release({ receipts: left, delayMs: random.skewed(40) });
    });
  }

  async #redrive(): Promise<void> {
    const random = this.#random.fork('redriver');
    while (!this.#isOver) {
      await pause(this.#world, random.between(20, 200));
      const candidates = this.#sent.filter(({ kind }) => kind !== 'kills');
      if (candidates.length > 0 && this.#chaos.happens(0.5)) await this.#redriveOne(random.pick(candidates));
    }
  }

  async #redriveOne(sent: Sent, parked?: ListedLetter): Promise<Answer | undefined> {
    sent.isRedriven = true;
    const { subtask, id } = parked ?? { subtask: this.#subtaskOf(sent), id: this.#letterOf(sent) };
    return this.#fleet.invoke({ kind: 'redrive', subtask, letter: id });
  }

  #subtaskOf({ message }: Sent): string {
    return `0-${laneOf(message, this.#drawn.setting)}`;
  }

  /** The subtask that keeps the state of a message's key. */
  #keeperOf(sent: Sent): string {
    return this.#drawn.setting.order === 'fifo' ? this.#subtaskOf(sent) : '1-0';
  }

  #letterOf({ message }: Sent): string {
    return letterId(laneRecord(message, queueOfStage(this.#calm.plan, 0)!).name);
  }

  async #wait(): Promise<void> {
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
      await this.#redriveTheMended();
      await pause(world, 500);
    } while (!this.#isSettled() && this.#failures.length === 0);
    this.#isOver = true;
  }

  /** What is parked and would not fail any more is redriven; then it must have its effect. */
  async #redriveTheMended(): Promise<void> {
    for (const parked of await listLetters(createServices(this.#calm.options))) {
      const sent = this.#sentOf(parked);
      if (sent.kind !== 'fine' && sent.kind !== 'buggy') continue;
      const deaths = this.#blame.deathsOf(`redrive/${parked.id}`, this.#watch.item!.generation);
      if (sent.hasLeft && deaths < attemptsMax) this.#fail(`the redrive of message ${sent.letter.id} was undone`);
      for (let tries = 0; tries < 20; tries++) if ((await this.#redriveOne(sent, parked))?.kind === 'done') break;
      this.#happened.count('redriven');
    }
  }

  #sentOf({ letter }: Pick<ListedLetter, 'letter'>): Sent {
    return this.#sent[(letter.batch.values[0] as Letter).id]!;
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
    if (this.#sent.length < this.#drawn.messagesMax || this.#queue.unsettled.length > 0) return false;
    if (item.status !== 'running' || item.restoring !== undefined) return false;
    const { replay } = { replay: item.owners.map(({ subtask }) => this.#watch.head(subtask)?.lane?.replay) };
    if (replay.some((one) => one !== undefined && one.taken < one.count)) return false;
    return this.#service.exchange.queued().length === 0;
  }

  // What the world is made of

  #run(process: SimulatedProcess, letter: Letter): void {
    const sent = this.#sent[letter.id]!;
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

  #meetEntry({ head, body }: Entry): void {
    if (head.lane?.replay !== undefined && head.kind === 'init') this.#happened.count('kept input to replay', head.lane.replay.count);
    for (const unit of (body.kept ?? []).map(decodeUnit)) {
      if (unit.kind === 'message') this.#sent[(unit.message.body as Letter).id]!.wasTaken = true;
    }
    for (const { address, value } of body.delta.writes) {
      if (address.operator === '#positions' && value === undefined) this.#happened.count('position forgotten');
      if (address.operator !== lettersAddress('').operator || head.kind === 'init') continue; // what a restore carries over says nothing new
      if (value === undefined) {
        const redriven = this.#sent.find((one) => this.#letterOf(one) === letterIdOf(address.sub));
        if (redriven !== undefined) redriven.hasLeft = true;
        continue;
      }
      const letter = decodeLetter(value);
      const sent = this.#sentOf({ letter });
      const isDeath = letter.error.code === 'RECORD_KILLS';
      this.#happened.count(sent.kind === 'kills' ? 'killer parked' : isDeath ? 'parked by bad luck' : 'thrower parked');
      const deaths = this.#blame.deathsOf(`${letter.place}/${letter.record}`, head.generation);
      if (isDeath && sent.kind !== 'kills' && deaths < attemptsMax)
        this.#fail(`message ${sent.letter.id} (${sent.kind}) is parked after ${deaths} deaths`);
    }
  }

  // The end

  async #judge(): Promise<void> {
    if (this.#failures.length > 0) return;
    const services = createServices(this.#calm.options);
    const parked = new Set((await listLetters(services)).map((one) => this.#sentOf(one)));
    const lists = new Map<string, readonly number[]>();
    for (const sent of this.#sent) {
      const key = keyOf(sent.letter, this.#drawn.setting.order);
      if (!lists.has(key)) lists.set(key, await seenBy(services, this.#keeperOf(sent), key));
      const facts = { seen: lists.get(key)!, isParked: parked.has(sent), isDropped: this.#lost.has(sent.message.id) };
      for (const what of judged(sent, facts)) this.#fail(what);
    }
    if (this.#drawn.setting.order === 'standard') return;
    for (const [group, seen] of lists) {
      if (!isInOrder(seen, (id) => this.#sent[id]!.isRedriven)) this.#fail(`order within ${group}: ${seen.join(' ')}`);
    }
  }

  #fail(what: string): void {
    if (this.#failures.length < 20) this.#failures.push(`step ${this.#world.steps}: ${what}`);
    this.#world.note(`FAILS: ${what}`);
  }

  #meetError(error: unknown, what: string): void {
    if (!isPassing(error)) this.#fail(`${what} failed: ${textOf(error)}`);
  }

  #tellState(): string {
    const item = this.#watch.item!;
    const lanes = item.owners.map(({ subtask }) => {
      const head = this.#watch.head(subtask);
      const { replay, kept } = head?.lane ?? {};
      return `${subtask} ${head?.kind} ${head?.n}, kept ${kept}, replayed ${replay?.taken ?? 0} of ${replay?.count ?? 0}`;
    });
    return `${item.status}, generation ${item.generation}; ${lanes.join('; ')}; left: ${this.#queue.unsettled.map(({ id, receives }) => `${id}×${receives}`).join(' ')}`;
  }
}

function settledIn(part: Invocation, answer: Answer): readonly string[] {
  if (part.kind !== 'queue') return [];
  if (answer.kind === 'done') return part.messages.map(({ id }) => id);
  return answer.kind === 'partial' ? (answer.settled ?? []) : [];
}

function told({ body, id, receives }: QueueMessage): string {
  return `${(body as Letter).id}(${id}×${receives})`;
}
