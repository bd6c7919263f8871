// One seed, one world: draws a job, its input and what goes wrong, lets environments, mappings, a queue, pulses and people loose on the product, and asks
// the auditors. The first part of a world is full of faults; after the last one everything must come to its end within a bound (I8).

import { ParamValues } from '../../lib/api/params.ts';
import { compile } from '../../lib/graph/compile.ts';
import type { Plan } from '../../lib/graph/plan.ts';
import { isSluiceError } from '../../lib/index.ts';
import { createJob } from '../../lib/invocation/coordinator/create-job.ts';
import { decodeHead } from '../../lib/invocation/entry-codec.ts';
import { decodeHandles } from '../../lib/invocation/job-item-codec.ts';
import { patient } from '../../lib/invocation/patience.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import { createEnvironment, createServices, type EnvironmentOptions } from '../../lib/invocation/unit/create-environment.ts';
import { type ListedLetter, listLetters } from '../../lib/invocation/unit/look.ts';
import { describe } from '../../lib/operators/describe.ts';
import {
  type FakeCall,
  FakeService,
  fakePorts,
  type SeededRandom,
  type SimulatedProcess,
  StuckWorld,
  seededRandom,
  World,
} from '../../lib/testing/index.ts';
import type { Row, SourceSpec, SplitScript } from '../simulation/spec.ts';
import { Ambush, type AmbushPlan, drawAmbush, tamed, withPatience } from './ambush.ts';
import { Auditors } from './audit.ts';
import { buildJob } from './build.ts';
import { Chaos, drawRates, type Rates } from './chaos.ts';
import { Coordinator } from './coordinator.ts';
import { Counts } from './counts.ts';
import { runCourier } from './courier.ts';
import { Feed, type FeedOptions } from './feed.ts';
import { Fleet, pause } from './fleet.ts';
import { heldRows } from './held-rows.ts';
import { judged } from './judgement.ts';
import { watchOwners } from './owner-watch.ts';
import { PrepareWatch } from './prepare-watch.ts';
import { randomJob, type Setting } from './random-job.ts';
import { ShardPlaces } from './shard-places.ts';
import { type Arrivals, enumerated } from './source.ts';
import { Targets } from './targets.ts';
import { tellSetting } from './tell-setting.ts';
import { parkedRows, Trouble } from './trouble.ts';
import { cancelRestore, type Redrives, redriveLetters, type TwistOptions, watchTwists } from './twist-people.ts';
import { drawTwist, type Twist } from './twists.ts';
import type { Verdict } from './verdict.ts';

export interface Outcome extends Verdict {
  readonly trace: readonly string[];
  readonly told: readonly string[];
}

export interface ScenarioOptions {
  readonly keepTrace?: boolean;
}

/** Longer than what nobody outlives, whatever the clocks say. */
/** Without faults a checkpoint takes less. */
const checkpointMsMax = 10_000;
const dayMs = 30 * 3_600_000;
/** Steps within which everything must come to its end after the last fault. */
const boundedSteps = 60_000;

export async function simulate(seed: number, options: ScenarioOptions = {}): Promise<Outcome> {
  const scenario = new Scenario(seed, randomJob(seed), options.keepTrace === true);
  await scenario.play();
  return scenario.outcome();
}

class Scenario {
  readonly #seed: number;
  readonly #setting: Setting;
  readonly #random: SeededRandom;
  readonly #world: World;
  readonly #counts: Counts = new Counts();
  readonly #chaos: Chaos;
  readonly #rates: Rates;
  readonly #service: FakeService;
  readonly #shards: ShardPlaces;
  readonly #targets: Targets;
  readonly #trouble: Trouble;
  /** How often a function throws for no reason of the record. */
  readonly #throwRate: number;
  readonly #auditors: Auditors;
  readonly #prepares: PrepareWatch;
  readonly #ambush: AmbushPlan | undefined;
  readonly #twist: Twist | undefined;
  #coordinator: Coordinator | undefined;
  readonly #fleet: Fleet;
  readonly #faultySteps: number;
  /** How much faster than the faulty part each split arrives. */
  readonly #haste: ReadonlyMap<string, number>;
  readonly #timeoutMs: number;
  readonly #flushBelowSlots: number;
  /** When a day passes. */
  #dayAtStep: number;
  #rewinds = 0;
  #isOver = false;
  readonly #redrives: Redrives = { underWay: 0, lastMs: 0, begun: 0 };
  /** It ended so, whatever comes late. */
  #isCancelled = false;
  #ending = 'stuck';

  constructor(seed: number, setting: Setting, keepTrace: boolean) {
    this.#seed = seed;
    this.#twist = drawTwist(seed, setting);
    setting = this.#twist?.setting ?? setting;
    this.#ambush = drawAmbush(seed, setting);
    setting = this.#ambush === undefined ? setting : withPatience(setting);
    this.#setting = setting;
    const random = seededRandom(seed).fork('scenario');
    this.#random = random;
    const rates = drawRates(random);
    this.#rates = this.#ambush === undefined ? rates : tamed(rates);
    this.#timeoutMs = random.pick([200, 600, 2_000]);
    this.#dayAtStep = random.chance(0.12) ? random.between(100, 700) : Number.POSITIVE_INFINITY;
    this.#flushBelowSlots = random.pick(this.#ambush === undefined ? [0, 1, 3, 64] : [3, 64]);
    const [most, long] = [[700, 1_200, 1_800, 4_000], this.#twist === undefined ? [1_800, 4_000] : [1_200, 1_800]];
    this.#faultySteps = random.pick(this.#ambush === undefined ? most : long);
    this.#chaos = new Chaos({ random, rates: this.#rates, counts: this.#counts, timeoutMs: this.#timeoutMs });
    this.#world = new World({
      seed,
      faults: this.#chaos,
      keepTrace,
      timeMsMax: 30 * 86_400_000,
      stepsMax: this.#faultySteps + boundedSteps,
    });
    this.#service = new FakeService();
    this.#shards = new ShardPlaces(this.#service);
    this.#turnKnobs();
    this.#targets = new Targets(this.#counts);
    this.#trouble = new Trouble(setting, this.#service, this.#counts);
    this.#throwRate = random.pick([0, 0, 0.01, 0.04]);
    const { spec } = setting;
    this.#auditors = new Auditors({ world: this.#world, service: this.#service, setting, targets: this.#targets, counts: this.#counts });
    watchOwners(this.#service, this.#counts);
    if (this.#twist !== undefined) this.#service.observers.push(watchTwists(this.#counts));
    this.#prepares = new PrepareWatch(this.#service);
    this.#targets.onPrepare = (process, id) => {
      const what = this.#prepares.prepared(process, id);
      if (what !== undefined) this.#auditors.fail(what);
    };
    if (this.#ambush !== undefined) this.#layAmbush(this.#ambush);
    this.#haste = new Map(
      spec.nodes.flatMap((n) =>
        n.op.kind === 'source' ? n.op.source.splits.map((s) => [s.id, random.pick([0.9, 1.1, 1.1, 3])] as const) : [],
      ),
    );
    this.#fleet = new Fleet({
      world: this.#world,
      chaos: this.#chaos,
      counts: this.#counts,
      random,
      seatsMax: random.pick([2, 3, 4, 6]),
      timeoutMs: this.#timeoutMs,
      affinity: random.pick([0, 0.5, 0.95]),
      start: (process) => this.#environment(process),
      onDefect: (error, invocation) => this.#meetError(error, `${invocation.kind} of ${invocation.subtask}`),
      onLost: (invocation) => this.#trouble.lost(invocation),
      onOverlap: (invocation) => this.#trouble.overlapped(invocation),
    });
  }

  async play(): Promise<void> {
    try {
      await this.#world.run(this.#drive());
      this.#ending = 'finished';
      await this.#judge();
    } catch (e) {
      if (!(e instanceof StuckWorld)) throw e;
      this.#auditors.fail(`I8: the job comes to no end: ${e.message}; ${this.#tellState()}`);
    }
  }

  outcome(): Outcome {
    return {
      seed: this.#seed,
      failures: this.#auditors.failures,
      traceHash: this.#world.traceHash,
      steps: this.#world.steps,
      ending: this.#ending,
      counts: this.#counts.toJSON(),
      trace: this.#world.trace,
      told: [this.#ambush?.name ?? 'no ambush', this.#twist?.name ?? 'no twist', ...tellSetting(this.#setting, this.#rates)],
    };
  }

  async #drive(): Promise<void> {
    const { world, random, setting } = { world: this.#world, random: this.#random, setting: this.#setting };
    await this.#create();
    const coordinator = new Coordinator({
      world,
      chaos: this.#chaos,
      counts: this.#counts,
      random,
      fleet: this.#fleet,
      mayRewind: setting.mayRewind,
      pulseMsMax: 3 * this.#timeoutMs,
      rates: {
        restMs: random.pick([30, 80, 200]),
        noPulseForLong: random.pick([0, 0, 0.02]),
        atOnce: random.pick([0, 0.1, 0.5]),
        tick: Math.max(random.pick([0.05, 0.2]), this.#twist?.tick ?? 0),
        lostBarrier: random.pick(this.#ambush === undefined ? [0, 0, 0.3, 0.8] : [0, 0, 0.1, 0.3]),
        restore: random.pick([0, 0.05, 0.15, 0.3]),
        pause: random.pick([0, 0, 0.02, 0.05]),
      },
      portsOf: (process) => this.#patient(process),
      planOf: (process) => this.#plan(process),
      item: () => this.#auditors.item,
      isOver: () => this.#isOver,
      onRewind: () => {
        this.#rewinds++;
        this.#targets.mayAbortCommitted = true;
      },
      onDefect: (error, what) => this.#meetError(error, what),
    });
    this.#coordinator = coordinator;
    const loops = [coordinator.runPulses(), coordinator.runPeople(), this.#wait(), ...this.#feeds().map((f) => f.run())];
    for (let i = random.pick([1, 2, 3]); i > 0; i--) {
      const restMs = random.pick([5, 20, 60]);
      loops.push(
        runCourier(String(i), {
          world,
          fleet: this.#fleet,
          chaos: this.#chaos,
          counts: this.#counts,
          random,
          service: this.#service,
          restMs,
          isOver: () => this.#isOver,
        }),
      );
    }
    if (this.#twist !== undefined) loops.push(...this.#twisted(this.#twist));
    await Promise.all(loops);
  }

  #twisted({ name, random }: Twist): readonly Promise<void>[] {
    const o: TwistOptions = {
      world: this.#world,
      chaos: this.#chaos,
      counts: this.#counts,
      random,
      item: () => this.#auditors.item,
      isOver: () => this.#isOver,
    };
    const reader = this.#world.process('reader of letters');
    if (name === 'records are redriven' || name === 'timers throw')
      return [
        redriveLetters({
          ...o,
          redrives: this.#redrives,
          letters: () => this.#letters(reader),
          invoke: (invocation) => this.#fleet.invoke(invocation),
          mend: (row) => this.#trouble.mend(row),
        }),
      ];
    if (name !== 'a restore is cancelled') return [];
    return [
      cancelRestore({
        ...o,
        fromStep: random.between(100, Math.floor(this.#faultySteps / 2)),
        portsOf: (process) => this.#patient(process),
        onDefect: (error, what) => this.#meetError(error, what),
      }),
    ];
  }

  #letters(process: SimulatedProcess): Promise<readonly ListedLetter[]> {
    return listLetters(createServices(this.#environmentOptions(process, fakePorts(this.#service))));
  }

  /** A creation that dies is made again. */
  async #create(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const process = this.#world.process(`creator-${tries}`);
      const plan = this.#plan(process);
      const splits = new Map(
        plan.stages.flatMap((stage) => {
          const node = this.#setting.spec.nodes.find((n) => n.uid === stage.operators[0]!.uid);
          return node?.op.kind === 'source' ? [[stage.id, enumerated(node.op.source)] as const] : [];
        }),
      );
      const done = createJob(this.#patient(process), {
        plan,
        splits,
        ringSlots: this.#setting.ringSlots,
        nowMs: process.ports.clock.now(),
      }).then(
        () => true,
        (error: unknown) => {
          this.#meetError(error, 'the creation of the job');
          return false;
        },
      );
      const isDone = await Promise.race([done, process.becomes('dead').then(() => false), pause(this.#world, 60_000).then(() => false)]);
      if (isDone) return;
    }
  }

  #feeds(): readonly Feed[] {
    const plan = this.#plan(this.#world.process('mapping'));
    return plan.stages.flatMap(({ id, operators }) => {
      const node = this.#setting.spec.nodes.find((n) => n.uid === operators[0]!.uid);
      if (node?.op.kind !== 'source') return [];
      const { splits, evolution } = node.op.source;
      const owners = this.#auditors.item?.owners.filter(({ stage }) => stage === id) ?? [];
      return splits.map((script, ordinal) => {
        const subtask = owners.find((owner) => owner.splits.includes(ordinal))?.subtask ?? '';
        return this.#feed(script, evolution === undefined ? () => ({ subtask, ordinal }) : () => this.#shards.of(id, script.id));
      });
    });
  }

  #feed(script: SplitScript, place: FeedOptions['place']): Feed {
    const random = this.#random;
    const rates = {
      restMs: random.pick([20, 60, 200]),
      batchMax: random.pick([1, 3, 6]),
      early: random.pick([0, 0.2, 0.5]),
      overlap: random.pick([0, 0.1, 0.3]),
    };
    return new Feed({
      world: this.#world,
      fleet: this.#fleet,
      chaos: this.#chaos,
      counts: this.#counts,
      random,
      arrivals: this.#arrivals,
      rates,
      place,
      script,
      isOver: () => this.#isOver,
    });
  }

  /** Faults for a number of steps, then none; then the end. */
  async #wait(): Promise<void> {
    const world = this.#world;
    while (world.steps < this.#faultySteps && this.#auditors.failures.length === 0) {
      await pause(world, 20);
      this.#service.table.expire();
      if (world.steps > this.#dayAtStep) await this.#passDay();
    }
    world.note('the last fault is over');
    this.#calm();
    while (!this.#hasEverything() && this.#auditors.failures.length === 0) await pause(world, 50);
    this.#isOver = true;
    this.#isCancelled = this.#auditors.item!.status === 'cancelled';
    // Nobody is asked for anything any more; what was left behind goes on, and what is late comes.
    await pause(world, 5 * this.#timeoutMs);
  }

  /** Nothing that was under way lives to see the next day; what is still on its way arrives before. */
  async #passDay(): Promise<void> {
    const world = this.#world;
    this.#dayAtStep = Number.POSITIVE_INFINITY;
    this.#counts.count('a day passes');
    this.#chaos.isHushed = true;
    await pause(world, 5 * this.#timeoutMs);
    for (const process of world.processes) process.lose();
    world.now += dayMs;
    world.note('a day passes');
    this.#service.table.expire();
    this.#chaos.isHushed = false;
  }

  #calm(): void {
    this.#chaos.quiet();
    Object.assign(this.#service.hooks, { leave: () => [], loose: () => false, lateDuplicate: () => undefined, visibilityMs: () => 2_000 });
    this.#fleet.thaw();
  }

  #hasEverything(): boolean {
    const item = this.#auditors.item!;
    if (item.status === 'cancelled') return true;
    if (this.#setting.isFinite) return item.status === 'finished';
    if (this.#setting.spec.nodes.every((n) => n.op.kind !== 'source' || n.op.source.splits.every((s) => s.rows.length === 0))) return true;
    // A job without an end has done all when a confirmed checkpoint covers its whole input.
    const newest = item.completed.at(-1);
    if (newest === undefined || item.confirmed < newest.checkpoint || item.restoring !== undefined) return false;
    if (!this.#hasEveryRedrive(newest.checkpoint)) return false;
    const metadata = this.#service.objects.peek(newest.metadata);
    if (metadata === undefined) return false;
    const splits = decodeHandles(metadata).flatMap((h) => decodeHead(h.head).splits);
    const read = new Map(splits.map(({ split, position }) => [split.id, position?.index ?? 0]));
    return this.#sources.every(({ splits: all, evolution }) => {
      const last = all.filter(({ id }) => evolution?.changes.some(({ parents }) => parents.includes(id)) !== true);
      return last.every(({ id, rows }) => read.get(id) === rows.length);
    });
  }

  /** What had no answer may come late, and one that changed nothing brings no checkpoint. */
  #hasEveryRedrive(checkpoint: number): boolean {
    const { underWay, lastMs, begun } = this.#redrives;
    if (lastMs === 0 && underWay === 0) return true;
    const since = this.#world.now - lastMs - 5 * this.#timeoutMs;
    return underWay === 0 && since > 0 && (checkpoint > begun || since > checkpointMsMax);
  }

  get #sources(): readonly SourceSpec[] {
    return this.#setting.spec.nodes.flatMap(({ op }) => (op.kind === 'source' ? [op.source] : []));
  }

  async #judge(): Promise<void> {
    const { spec } = this.#setting;
    if (this.#auditors.failures.length > 0) return;
    const ended = { rewinds: this.#rewinds, isCalm: false };
    const reader = this.#world.process('reader');
    const letters = this.#isCancelled ? [] : await this.#letters(reader);
    for (const what of this.#trouble.judged(letters)) this.#auditors.fail(what);
    const heads = new Map(this.#auditors.item!.owners.map((o) => [o.subtask, this.#plan(reader).stages[o.stage]!.operators[0]!.uid]));
    const uidOf = (subtask: string): string => heads.get(subtask)!;
    const parked = parkedRows(letters, uidOf);
    const neverRun = parkedRows(
      letters.filter(({ letter }) => !this.#trouble.isMended(letter.batch.values[0] as Row)),
      uidOf,
    );
    const held = heldRows({
      item: this.#auditors.item!,
      head: (generation, subtask) => this.#auditors.head(generation, subtask),
      object: (name) => this.#service.objects.peek(name),
    });
    for (const what of judged(spec, this.#targets, {
      ...ended,
      parked,
      neverRun,
      held,
      isCutOff: this.#isCancelled || hasParkedEnd(letters),
    }))
      this.#auditors.fail(what);
    for (const v of this.#targets.violations) this.#auditors.fail(v);
    for (const name of this.#targets.undecided()) this.#auditors.fail(`transaction ${name} is prepared and never decided`);
  }

  // What processes are made of

  readonly #arrivals: Arrivals = {
    arrived: (split) => {
      if (this.#chaos.isQuiet) return split.rows.length;
      const { places } = split;
      const source = places === undefined ? undefined : this.#sources.find(({ splits }) => splits.includes(split));
      if (places !== undefined && source !== undefined) {
        const place = this.#arrivals.placeOf(source);
        return places.filter((at) => at < place).length;
      }
      return Math.min(split.rows.length, Math.floor(split.rows.length * this.#part(split.id)));
    },
    hasEnded: () => this.#setting.isFinite,
    placeOf: ({ splits, evolution }) =>
      this.#chaos.isQuiet ? Number.POSITIVE_INFINITY : Math.floor(evolution!.length * this.#part(splits[0]!.id)),
  };

  /** How much of a split has come by now; more than 1 when all of it has. */
  #part(split: string): number {
    return (this.#world.steps / this.#faultySteps) * this.#haste.get(split)!;
  }

  #plan(process: SimulatedProcess): Plan {
    const { spec } = this.#setting;
    const job = buildJob(spec, {
      process,
      targets: this.#targets,
      arrivals: this.#arrivals,
      throwsNow: (row) => row !== undefined && this.#throwsNow(process, row),
      timerThrowsNow: () => this.#timerThrowsNow(),
      testify: () => {},
    });
    return compile(describe(job, new ParamValues(new Map()), {}), { keepsPartitions: true });
  }

  #ports(process: SimulatedProcess): InvocationPorts {
    const call: FakeCall = (method, place, effect) =>
      process.call(method, place, () => {
        const result = effect();
        this.#meetResult(method, result);
        if (method === 'objects.get') this.#prepares.read(process, place, result);
        return result;
      });
    return fakePorts(this.#service, call);
  }

  #patient(process: SimulatedProcess): InvocationPorts {
    return patient(this.#ports(process), { clock: process.ports.clock, random: process.ports.random });
  }

  #environment(process: SimulatedProcess): ReturnType<typeof createEnvironment> {
    return createEnvironment(this.#environmentOptions(process, this.#ports(process)));
  }

  #environmentOptions(process: SimulatedProcess, ports: InvocationPorts): EnvironmentOptions {
    const { limits, attemptsMax } = this.#setting;
    return {
      plan: this.#plan(process),
      ports,
      clock: process.ports.clock,
      random: process.ports.random,
      files: process.ports.files,
      report: () => {},
      print: () => {},
      limits: { ...limits, attemptsMax, flushBelowSlots: this.#flushBelowSlots },
    };
  }

  /** Asked by user code for each row: does it survive this one? */
  #throwsNow(process: SimulatedProcess, row: Row): boolean {
    const fate = this.#trouble.fateOf(row);
    if (fate === 'kills') {
      this.#trouble.hasKilled(row);
      this.#chaos.kill(process, this.#world);
      return true;
    }
    if (fate === undefined && !this.#chaos.happens(this.#throwRate)) return false;
    this.#trouble.hasThrown(row);
    return true;
  }

  #timerThrowsNow(): boolean {
    if (this.#twist?.name !== 'timers throw' || this.#chaos.isQuiet || !this.#twist.random.chance(0.8)) return false;
    this.#counts.count('a timer throws');
    return true;
  }

  #meetResult(method: string, result: unknown): void {
    if (method === 'changelog.put' && (result as { kind: string }).kind === 'conflict') this.#counts.count('append lost');
  }

  /** Errors of services that were made to fail are part of the game; anything else is a defect. */
  #meetError(error: unknown, what: string): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (isSluiceError(error) && (error.next === 'try-again' || error.next === 'retry-invocation' || error.next === 'recover-subtask'))
      return;
    // What a timer makes may fail behind it; the next tick fires it again.
    if (what.startsWith('tick') && text.includes('user code throws')) return;
    if (error instanceof Error && /^no answer from |^nobody answered |^transaction .* cannot be prepared again$/.test(error.message))
      return;
    this.#auditors.fail(`${what} failed: ${text}`);
  }

  #layAmbush(plan: AmbushPlan): void {
    const ambush = new Ambush({
      seed: this.#seed,
      plan,
      world: this.#world,
      counts: this.#counts,
      timeoutMs: this.#timeoutMs,
      item: () => this.#auditors.item,
      provoke: () => this.#coordinator?.provoke(),
    });
    this.#chaos.ambush = ambush;
    this.#service.observers.push((change) => ambush.see(change));
  }

  #turnKnobs(): void {
    const random = this.#random.fork('service');
    const { hooks } = this.#service;
    const left = random.pick([0, 0.02, 0.1]);
    const loose = random.pick([0, 0.1, 0.3]);
    const late = random.pick([0, 0.02]);
    const [impatient, long] = [random.pick([0, 0.3]), random.pick([400, 2_000, 8_000])];
    const happens = (p: number): boolean => !this.#chaos.isQuiet && random.chance(p);
    Object.assign(hooks, {
      now: () => this.#world.now,
      pageBytes: random.pick([200, 1_000, 1_048_576]),
      leave: (count: number) => {
        const indexes = Array.from({ length: count }, (_, i) => i).filter(() => happens(left));
        this.#counts.count('left over', indexes.length);
        return indexes;
      },
      groups: (names: readonly string[]) => random.shuffled(names),
      handOut: (max: number) => random.between(1, max),
      visibilityMs: () => (happens(impatient) ? random.skewed(200) : long),
      dedupMs: random.pick([50, 1_000, 300_000]),
      loose: () => {
        if (!happens(loose)) return false;
        this.#counts.count('group not blocked');
        return true;
      },
      lateDuplicate: (count: number) => (count > 0 && happens(late) ? random.below(count) : undefined),
      staleReceiptWorks: () => random.chance(0.5),
    });
  }

  #tellState(): string {
    const { item } = this.#auditors;
    if (item === undefined) return 'no job item';
    const heads = item.owners.map(({ subtask }) => {
      const head = this.#auditors.head(item.generation, subtask);
      return head === undefined
        ? `${subtask} without a ring`
        : `${subtask} ${head.kind} ${head.n} epoch ${head.epoch}${head.hasEnded ? ' ended' : ''}`;
    });
    const open = item.open.map((o) => o.checkpoint).join() || 'none';
    return `${item.status}, generation ${item.generation}, open ${open}, completed ${item.completed.map((c) => c.checkpoint).join() || 'none'}, confirmed ${item.confirmed}, restoring ${item.restoring?.checkpoint ?? 'no'}; ${heads.join('; ')}; ${this.#service.exchange.queued().length} messages`;
  }
}

/** A timer that was to put out what was held to the end. */
function hasParkedEnd(letters: readonly ListedLetter[]): boolean {
  return letters.some(({ letter }) => letter.timer?.domain === 'event');
}
