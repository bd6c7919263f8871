// The invocation runtime over a strict fake, in the simplest order (what a source has, what the queue holds, a pulse, again), with a fate for every
// call that any of its processes makes. Whoever dies is replaced; whoever stands still is woken some rounds later. What must hold in every world is
// checked as it goes: one writer for each entry, none behind a seal.

import { expect } from 'vitest';
import { ParamValues } from '../../lib/api/params.ts';
import type { Source, Split } from '../../lib/api/source.ts';
import type { FileSystem } from '../../lib/core/ports.ts';
import { compile } from '../../lib/graph/compile.ts';
import type { Plan } from '../../lib/graph/plan.ts';
import type { Job } from '../../lib/index.ts';
import { createJob } from '../../lib/invocation/coordinator/create-job.ts';
import { type PulseEvent, type PulseOptions, pulse } from '../../lib/invocation/coordinator/pulse.ts';
import { readJob } from '../../lib/invocation/coordinator/read-job.ts';
import type { EntryHead } from '../../lib/invocation/entry.ts';
import { isClosedStub, unpackHead } from '../../lib/invocation/entry-codec.ts';
import { pollRecords } from '../../lib/invocation/event-records.ts';
import type { Answer, EventRecord, Invocation } from '../../lib/invocation/invocation.ts';
import { type JobItem, jobItemName } from '../../lib/invocation/job-item.ts';
import { decodeJobItem } from '../../lib/invocation/job-item-codec.ts';
import { patient } from '../../lib/invocation/patience.ts';
import type { Delivery, InvocationPorts } from '../../lib/invocation/ports.ts';
import { createContextOf } from '../../lib/invocation/sinks/planned-sinks.ts';
import { createSettler } from '../../lib/invocation/sinks/settler.ts';
import { createEnvironment, createServices, type EnvironmentOptions } from '../../lib/invocation/unit/create-environment.ts';
import type { Environment } from '../../lib/invocation/unit/environment.ts';
import { type ListedLetter, listLetters } from '../../lib/invocation/unit/look.ts';
import { describe as describeJob } from '../../lib/operators/describe.ts';
import { FakeService, fakePorts, type ServiceChange } from '../../lib/testing/index.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { type CallInfo, CaseProcess, type CaseTime, type Fate, hastyTime, type Says } from './case-process.ts';
import type { CaseTarget } from './case-targets.ts';

export interface CaseWorldOptions {
  readonly job: Job;
  readonly target?: CaseTarget;
  readonly environments?: number;
  readonly ringSlots?: number;
  /** Records of an event. */
  readonly batch?: number;
  readonly limits?: EnvironmentOptions['limits'];
  readonly patience?: EnvironmentOptions['patience'];
  /** Wrong clocks, by the name of a process. */
  readonly offsetMs?: (process: string) => number;
  /** Rounds that a frozen process sleeps. */
  readonly sleepsRounds?: number;
  /** One in which nobody waits when absent. */
  readonly time?: CaseTime;
  /** With which errors services refuse. */
  readonly says?: Says;
}

export interface Slot {
  readonly process: CaseProcess;
  readonly environment: Environment;
}

export const beginsAt = 1_700_000_000_000;
const roundMs = 1_000;

export class CaseWorld {
  readonly time: CaseTime;
  readonly plan: Plan;
  readonly service: FakeService;
  readonly slots: Slot[] = [];
  readonly events: PulseEvent[] = [];
  readonly answers: Answer[] = [];
  readonly errors: unknown[] = [];
  /** What the world saw that must not be. */
  readonly violations: string[] = [];
  /** Decides what becomes of a call; everything goes well by default. */
  fate: (call: CallInfo) => Fate = () => 'go';
  /** Of the source at the next feeds; nothing is delivered to subtasks for which it is false. */
  feeds: (subtask: string) => boolean = () => true;
  /** Of the queue; messages of other groups wait. */
  drains: (group: string) => boolean = () => true;
  /** Whether a direct invocation arrives. */
  reaches: (invocation: Invocation) => boolean = () => true;
  /** Newest checkpoint that was ever complete. */
  completed = 0;
  /** Every entry that was appended, in order. */
  readonly entries: { readonly ring: string; readonly n: number; readonly writer: string; readonly bytes: Uint8Array }[] = [];
  /** Every checkpoint that was ever complete. */
  readonly everCompleted: number[] = [];
  /** Checkpoints that are open. */
  open: readonly number[] = [];
  /** Most messages that waited for a barrier in one entry. */
  heldMost = 0;
  /** A restore has been asked for. */
  isRestored = false;
  sweeps = false;
  /** Begins the names of processes. */
  deployment = 'a';
  /** The fault of a sweep has fallen. */
  hasFallen = false;
  readonly #o: CaseWorldOptions;
  readonly #splits = new Map<number, readonly Split[]>();
  /** Where the event source mapping of each split is (it never goes back), and the generation that knows the end. */
  readonly #mapping = new Map<string, { at: number; endedIn: number | undefined }>();
  readonly #written = new Set<string>();
  readonly #sealed = new Set<string>();
  readonly #asleep: { readonly process: CaseProcess; rounds: number }[] = [];
  #coordinator: CaseProcess | undefined;
  #begun = 0;
  #next = 0;
  #processes = 0;

  constructor(o: CaseWorldOptions) {
    this.#o = o;
    this.time = o.time ?? hastyTime(beginsAt);
    this.plan = planOf(o.job);
    this.service = new FakeService({ now: () => this.time.now });
    this.service.observers.push((change) => this.#observe(change));
    for (let i = 0; i < (o.environments ?? 2); i++) this.slots.push(this.newSlot());
  }

  /** Ports of nobody in particular, to which nothing happens. */
  get ports(): InvocationPorts {
    return fakePorts(this.service);
  }

  newProcess(kind: string): CaseProcess {
    const name = `${this.deployment}.${kind}${++this.#processes}`;
    const offsetMs = (): number => this.#o.offsetMs?.(name) ?? 0;
    return new CaseProcess({ name, time: this.time, offsetMs, fate: (call) => this.#fateOf(call), says: this.#o.says });
  }

  newSlot(): Slot {
    const process = this.newProcess('e');
    return { process, environment: createEnvironment(this.optionsOf(process)) };
  }

  optionsOf({ clock, call }: CaseProcess): EnvironmentOptions {
    return {
      plan: this.plan,
      ports: fakePorts(this.service, call),
      clock,
      random: seededRandom(this.#processes),
      files: {} as FileSystem,
      report: () => undefined,
      print: () => undefined,
      limits: { flushBelowSlots: 2, ...this.#o.limits },
      patience: this.#o.patience ?? {},
    };
  }

  /** Parked records, as a tool sees them. */
  letters(): Promise<readonly ListedLetter[]> {
    const tool = new CaseProcess({ name: 'tool', time: this.time, fate: () => 'go' });
    return listLetters(createServices(this.optionsOf(tool)));
  }

  async create(): Promise<void> {
    for (const stage of this.plan.stages) {
      const source = this.sourceOf(stage.id);
      if (source !== undefined) this.#splits.set(stage.id, await source.enumerate(this.#context(stage.id)));
    }
    await createJob(this.ports, { plan: this.plan, splits: this.#splits, ringSlots: this.#o.ringSlots ?? 16, nowMs: this.time.now });
  }

  sourceOf(stage: number): Source<unknown> | undefined {
    const spec = this.plan.stages[stage]?.operators[0]?.node.operator;
    return spec?.kind === 'source' ? spec.source : undefined;
  }

  async item(): Promise<JobItem> {
    const job = await readJob(this.ports);
    if (job === undefined) throw new Error('no job');
    return job.item;
  }

  everBegun(checkpoint: number): boolean {
    return this.#begun >= checkpoint;
  }

  /** Newest entry of a subtask, as it lies in its ring. */
  async head(subtask: string, generation?: number): Promise<EntryHead> {
    const ring = { generation: generation ?? (await this.item()).generation, subtask };
    const entries = [...this.service.changelog.slotsOf(ring).values()].filter(({ bytes }) => !isClosedStub(bytes));
    const newest = entries.reduce((a, b) => (a.n > b.n ? a : b));
    return unpackHead(newest.bytes);
  }

  /** Round robin over the environments: no affinity. Whoever dies or stands still is replaced. */
  invoke(invocation: Invocation): Promise<Answer> {
    return this.invokeAt(this.#next++ % this.slots.length, invocation);
  }

  async invokeAt(at: number, invocation: Invocation): Promise<Answer> {
    const slot = this.slots[at] as Slot;
    try {
      const answer = await slot.process.within(() => slot.environment.invoke(invocation));
      this.answers.push(answer);
      return answer;
    } finally {
      if ((slot.process.isDead || slot.process.isFrozen) && this.slots[at] === slot) this.slots[at] = this.newSlot();
    }
  }

  /** All environments and the coordinator die, and others come. */
  killAll(): void {
    for (const { process } of this.slots) process.kill();
    this.slots.splice(0, this.slots.length, ...this.slots.map(() => this.newSlot()));
    this.#coordinator = undefined;
  }

  async pulse(more: Partial<PulseOptions> = {}): Promise<void> {
    this.time.now += roundMs;
    if (this.#coordinator === undefined || this.#coordinator.isDead || this.#coordinator.isFrozen) {
      this.#coordinator = this.newProcess('c');
    }
    await this.pulseBy(this.#coordinator, more);
  }

  async pulseBy(process: CaseProcess, more: Partial<PulseOptions> = {}): Promise<void> {
    const { plan } = this;
    const { clock, call } = process;
    const random = seededRandom(7);
    const ports = patient(fakePorts(this.service, call), { ...this.#o.patience, clock, random });
    const contextOf = createContextOf({ plan, clock, files: {} as FileSystem, report: () => undefined, print: () => undefined });
    const control: PulseOptions['control'] = {
      invoke: async (i) => {
        if (!this.reaches(i)) throw new Error(`${i.subtask} is not reached`);
        return this.invoke(i);
      },
    };
    const settler = createSettler({ plan, ports, contextOf });
    const options: PulseOptions = {
      ports,
      plan,
      control,
      settler,
      clock,
      random,
      ticks: () => true,
      sweeps: this.sweeps,
      onEvent: (event) => this.events.push(event),
      concurrency: 1,
      ...more,
    };
    await process.within(() => pulse(options));
  }

  /** Delivers the next event of every split, once. */
  async feed(): Promise<void> {
    for (const owner of (await this.item()).owners) {
      if (this.sourceOf(owner.stage) === undefined || !this.feeds(owner.subtask)) continue;
      for (const ordinal of owner.splits) await this.feedSplit(owner.subtask, ordinal);
    }
  }

  async feedSplit(subtask: string, ordinal: number): Promise<Answer | undefined> {
    const { generation } = await this.item();
    const mapping = this.#mapping.get(`${subtask}/${ordinal}`) ?? { at: 0, endedIn: undefined };
    this.#mapping.set(`${subtask}/${ordinal}`, mapping);
    const { records, isLast } = await this.read(subtask, ordinal, mapping.at, this.#o.batch ?? 3);
    if (records.length === 0 && (!isLast || mapping.endedIn === generation)) return undefined;
    const answer = await this.#tried(() => this.invoke({ kind: 'records', subtask, split: ordinal, records, isLast }));
    const count = answer?.kind === 'done' ? records.length : answer?.kind === 'partial' ? answer.count : 0;
    if (count > 0) mapping.at = records[count - 1]!.after.index;
    if (answer?.kind === 'done' && isLast) mapping.endedIn = generation;
    return answer;
  }

  /** What the source has from a position on. */
  async read(
    subtask: string,
    ordinal: number,
    from: number,
    recordsMax: number,
  ): Promise<{ readonly records: readonly EventRecord[]; readonly isLast: boolean }> {
    const stage = Number(subtask.split('-')[0]);
    const split = this.#splits.get(stage)?.[ordinal] as Split;
    const reader = this.sourceOf(stage)!.open(split, from === 0 ? undefined : { index: from, at: from }, this.#context(stage));
    return pollRecords(reader, { recordsMax, malformed: 0 });
  }

  /** Hands out what the queue has, once. @returns whether it had anything */
  async drain(): Promise<boolean> {
    const deliveries = (await this.ports.exchange.receive({ max: 10 })).filter((d) => this.#isDrained(d));
    for (const group of new Set(deliveries.map((d) => d.group))) await this.handOver(deliveries.filter((d) => d.group === group));
    return deliveries.length > 0;
  }

  async handOver(mine: readonly Delivery[]): Promise<Answer | undefined> {
    const subtask = mine[0]!.group;
    const isAgain = mine.some(({ receives }) => receives > 1);
    const answer = await this.#tried(() => this.invoke({ kind: 'messages', subtask, messages: mine.map(({ bytes }) => bytes), isAgain }));
    const count = answer?.kind === 'done' ? mine.length : answer?.kind === 'partial' ? answer.count : 0;
    await this.ports.exchange.settle(mine.slice(0, count).map(({ receipt }) => receipt));
    const left = mine.slice(count).map(({ receipt }) => receipt);
    if (left.length > 0) await this.ports.exchange.release({ receipts: left, delayMs: 500 });
    return answer;
  }

  async round(): Promise<void> {
    await this.feed();
    for (let i = 0; i < 10 && (await this.drain()); i++);
    await this.#tried(() => this.pulse());
    await this.wakeAfter(1);
  }

  async rounds(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.round();
  }

  async until(what: () => boolean | Promise<boolean>, roundsMax = 60): Promise<void> {
    for (let round = 0; round < roundsMax; round++) {
      if (await what()) return;
      await this.round();
    }
    throw new Error(
      `no progress in ${roundsMax} rounds: ${JSON.stringify(await this.item())}\n${this.errors.slice(-3).map(String).join('\n')}`,
    );
  }

  /** Until the job has finished, and nobody sleeps any more. */
  async finish(roundsMax = 80): Promise<void> {
    await this.until(async () => (await this.item()).status === 'finished', roundsMax);
    await this.wakeAfter(Number.POSITIVE_INFINITY);
    await this.rounds(2);
  }

  async run(roundsMax = 80): Promise<void> {
    await this.create();
    await this.finish(roundsMax);
  }

  /** Lets time pass for those who sleep. */
  async wakeAfter(rounds: number): Promise<void> {
    for (const one of [...this.#asleep]) {
      one.rounds -= rounds;
      if (one.rounds > 0) continue;
      this.#asleep.splice(this.#asleep.indexOf(one), 1);
      await one.process.thaw();
    }
  }

  /** What every world is held to. */
  check(expected: readonly string[]): void {
    expect(this.violations).toEqual([]);
    const { target } = this.#o;
    if (target === undefined) return;
    expect(target.violations).toEqual([]);
    expect([...target.visible].sort()).toEqual([...expected].sort());
  }

  #isDrained(delivery: Delivery): boolean {
    if (this.drains(delivery.group)) return true;
    this.service.exchange.release({ receipts: [delivery.receipt], delayMs: 0 });
    return false;
  }

  #fateOf(call: CallInfo): Fate {
    const fate = this.fate(call);
    if (fate === 'freeze' || fate === 'freeze-after') {
      this.#asleep.push({ process: call.process, rounds: this.#o.sleepsRounds ?? 4 });
    }
    return fate;
  }

  async #tried<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (e) {
      this.errors.push(e);
      return undefined;
    }
  }

  #observe(change: ServiceChange): void {
    if (change.kind === 'item' && change.name === jobItemName) {
      const { completed, open, begun, generation, restoring } = decodeJobItem(change.content.bytes);
      this.completed = Math.max(this.completed, completed.at(-1)?.checkpoint ?? 0);
      for (const c of completed) if (!this.everCompleted.includes(c.checkpoint)) this.everCompleted.push(c.checkpoint);
      this.#begun = Math.max(this.#begun, begun);
      this.open = open.map(({ checkpoint }) => checkpoint);
      this.isRestored ||= generation > 0 || restoring !== undefined;
      if (this.#o.target !== undefined) this.#o.target.completed = this.completed;
    }
    if (change.kind !== 'entry' || change.how === 'overwrite' || change.entry.writer === 'resume') return;
    const ring = `${change.ring.generation}/${change.ring.subtask}`;
    const entry = `${ring} ${change.entry.n}`;
    if (this.#written.has(entry)) this.violations.push(`entry ${entry} is written twice`);
    if (this.#sealed.has(ring)) this.violations.push(`entry ${entry} is written behind the seal`);
    this.#written.add(entry);
    this.entries.push({ ring, ...change.entry });
    const { kind, held } = unpackHead(change.entry.bytes);
    if (kind === 'seal') this.#sealed.add(ring);
    this.heldMost = Math.max(this.heldMost, held.length);
  }

  #context(stage: number): Parameters<Source<unknown>['enumerate']>[0] {
    const uid = this.plan.stages[stage]?.operators[0]?.uid as string;
    const clock = { now: () => this.time.now, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
    return { job: this.plan.job, uid, files: {} as FileSystem, clock, countSkipped: () => undefined };
  }
}

export function planOf(job: Job): Plan {
  return compile(describeJob(job, new ParamValues(new Map())), { keepsPartitions: true });
}
