// fleet.ts runs the job of bench:calls over the strict fake: some environments, a pulse each minute of its clock, and an event for each shard each
// second. Everything is asked one after the other, so that what a call costs is the difference of two counts.

import { ParamValues } from '../../lib/api/params.ts';
import type { Clock, FileSystem } from '../../lib/core/ports.ts';
import { compile } from '../../lib/graph/compile.ts';
import type { Plan } from '../../lib/graph/plan.ts';
import type { Control } from '../../lib/invocation/control.ts';
import { createJob } from '../../lib/invocation/coordinator/create-job.ts';
import type { PulseMemory } from '../../lib/invocation/coordinator/facts.ts';
import { pulse } from '../../lib/invocation/coordinator/pulse.ts';
import { readJob } from '../../lib/invocation/coordinator/read-job.ts';
import type { Answer, EventRecord, Invocation } from '../../lib/invocation/invocation.ts';
import type { JobItem } from '../../lib/invocation/job-item.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import { createContextOf } from '../../lib/invocation/sinks/planned-sinks.ts';
import { createSettler } from '../../lib/invocation/sinks/settler.ts';
import { createEnvironment, type EnvironmentOptions } from '../../lib/invocation/unit/create-environment.ts';
import type { Environment } from '../../lib/invocation/unit/environment.ts';
import { describe } from '../../lib/operators/describe.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { type Counts, Meter, minus } from './meter.ts';
import { fakeStores, type OpenStores, type Stores } from './stores.ts';
import { callsJob, positionOf, type Workload } from './workload.ts';

export type Placement = 'affinity' | 'random';

export interface FleetOptions {
  readonly workload: Workload;
  readonly stages: 1 | 2;
  readonly batch: number;
  readonly placement: Placement;
  /** Among which random placement chooses. */
  readonly environments: number;
  readonly ringSlots: number;
  readonly secondsPerCheckpoint: number;
  readonly limits?: EnvironmentOptions['limits'];
  /** The strict fake when absent. */
  readonly stores?: OpenStores | undefined;
  /** Each record is also written to a table of rows. */
  readonly writesRows?: boolean | undefined;
  /** Messages of one event of the exchange. */
  readonly messagesPerEvent?: number | undefined;
  /** The exchange waits for what a second brings, as the mapping of a stream does; a queue hands out what there is. */
  readonly gathers?: boolean | undefined;
}

/** One invocation and what it asked for. */
export interface Call {
  readonly invocation: Invocation;
  readonly answer: Answer;
  readonly counts: Counts;
  /** The first of this subtask in its environment. */
  readonly isFirst: boolean;
  readonly cpuMs: number;
  readonly wallMs: number;
}

export type EventKind = 'records' | 'messages' | 'control' | 'pulse';

/** CPU time of this thread where that is told apart, ms. It grows by whole ticks of the system, so that only sums of many calls mean something. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1_000;
}

export interface SubtaskCost {
  readonly subtask: string;
  /** Invocations of it: the barriers of several senders may come one by one. */
  readonly calls: number;
  readonly inputs: number;
  readonly targets: number;
  readonly counts: Counts;
}

const startMs = 1_700_000_000_000;
const noFiles = {} as FileSystem;

export class Fleet {
  readonly plan: Plan;
  readonly stores: Stores;
  /** What subtasks ask for; the coordinator; the queue's poller, whose requests the service makes. */
  readonly unitMeter = new Meter();
  readonly coordinatorMeter = new Meter();
  readonly pollMeter = new Meter();
  /** Told of every call of an environment. */
  onCall: ((call: Call) => void) | undefined;
  /** Told of every call of a function, before the calls of environments that it makes. */
  onEvent: ((kind: EventKind) => void) | undefined;
  readonly #o: FleetOptions;
  readonly #environments = new Map<string, Environment>();
  readonly #seen = new Map<Environment, Set<string>>();
  readonly #random = seededRandom(1);
  readonly #pollPorts: InvocationPorts;
  #coordinatorPorts: InvocationPorts | undefined;
  readonly #memory: PulseMemory = { heads: new Map() };
  /** How far the event source of each shard is. */
  readonly #fed: number[];
  #nowMs = startMs;
  /** Records of an event. */
  batch: number;

  constructor(o: FleetOptions) {
    this.#o = o;
    this.batch = o.batch;
    const { stages, writesRows, secondsPerCheckpoint: checkpointSeconds } = o;
    const job = callsJob(o.workload, { stages, writesRows, checkpointSeconds });
    this.plan = compile(describe(job, new ParamValues(new Map())), { keepsPartitions: true });
    this.stores = (o.stores ?? fakeStores)({ plan: this.plan, clock: this.#clock, random: this.#random });
    this.#pollPorts = this.stores.ports(this.pollMeter);
    this.#fed = o.workload.shards.map(() => 0);
  }

  readonly #clock: Clock = {
    now: () => this.#nowMs,
    sleep: (ms) => {
      this.#nowMs += ms;
      return { done: Promise.resolve(), cancel: () => undefined };
    },
  };

  async create(): Promise<void> {
    const splits = new Map([[0, this.#o.workload.shards.map((_, shard) => ({ id: `shard-${shard}` }))]]);
    await createJob(this.coordinatorPorts(), { plan: this.plan, splits, ringSlots: this.#o.ringSlots, nowMs: this.#nowMs });
  }

  async item(): Promise<JobItem> {
    const job = await readJob(this.stores.ports(new Meter()));
    if (job === undefined) throw new Error('there is no job');
    return job.item;
  }

  /** A new environment, which knows nothing. */
  environment(limits?: EnvironmentOptions['limits']): Environment {
    const { ports, targets } = this.stores.forUnits(this.unitMeter);
    const quiet = { report: () => undefined, print: () => undefined };
    return createEnvironment({
      ...{ plan: this.plan, ports, targets, clock: this.#clock, random: this.#random, files: noFiles, ...quiet },
      limits: { ...this.#o.limits, ...limits },
    });
  }

  /** Carries an invocation out where placement says, or in the environment given. */
  async invoke(invocation: Invocation, where?: Environment): Promise<Answer> {
    const environment = where ?? this.#placed(invocation.subtask);
    const known = this.#seen.get(environment) ?? new Set();
    this.#seen.set(environment, known);
    const isFirst = !known.has(invocation.subtask);
    known.add(invocation.subtask);
    const before = this.unitMeter.counts;
    const [cpuBefore, wallBefore] = [cpuMs(), performance.now()];
    const answer = await environment.invoke(invocation);
    const took = { wallMs: performance.now() - wallBefore, cpuMs: cpuMs() - cpuBefore };
    this.onCall?.({ invocation, answer, counts: minus(this.unitMeter.counts, before), isFirst, ...took });
    return answer;
  }

  #placed(subtask: string): Environment {
    const name = this.#o.placement === 'affinity' ? subtask : `${this.#random.below(this.#o.environments)}`;
    const known = this.#environments.get(name) ?? this.environment();
    this.#environments.set(name, known);
    return known;
  }

  /** What the shard has next; empty when there is nothing more. */
  next(shard: number): Extract<Invocation, { kind: 'records' }> {
    const { batch } = this;
    const { workload } = this.#o;
    const from = this.#fed[shard] as number;
    const records: EventRecord[] = [];
    const source = workload.shards[shard];
    for (let i = from; i < Math.min(from + batch, source?.count ?? 0); i++)
      records.push({ value: source?.at(i), after: positionOf(i + 1) });
    return { kind: 'records', subtask: `0-${shard}`, split: shard, records, isLast: false, isAgain: false };
  }

  async feed(shard: number): Promise<boolean> {
    const event = this.next(shard);
    if (event.records.length === 0) return false;
    this.onEvent?.('records');
    await this.#insist(event);
    this.#fed[shard] = (this.#fed[shard] as number) + event.records.length;
    if (this.#o.gathers !== true) await this.drain();
    return true;
  }

  /** Again until it is done, as an event source does. */
  async #insist(invocation: Invocation): Promise<void> {
    for (let tries = 0; tries < 20; tries++) if ((await this.invoke(invocation)).kind === 'done') return;
    throw new Error(`subtask ${invocation.subtask} refuses its input`);
  }

  async drain(): Promise<void> {
    if (this.#o.stages === 1) return;
    const { exchange } = this.#pollPorts;
    const max = this.#o.messagesPerEvent ?? 10;
    for (;;) {
      const deliveries = await exchange.receive({ max });
      if (deliveries.length === 0) return;
      this.onEvent?.('messages');
      for (const [group, own] of Map.groupBy(deliveries, (d) => d.group)) {
        await this.#insist({ kind: 'messages', subtask: group, messages: own.map(({ bytes }) => bytes), isAgain: false });
      }
      await exchange.settle(deliveries.map(({ receipt }) => receipt));
    }
  }

  /** @returns what the coordinator asked for, apart from the calls that it made */
  async pulse(): Promise<Counts> {
    const before = this.coordinatorMeter.counts;
    this.onEvent?.('pulse');
    // One after the other, whatever the pulse's own concurrency.
    let line: Promise<unknown> = Promise.resolve();
    const ask = (invocation: Invocation): Promise<Answer> => {
      this.onEvent?.('control');
      return this.invoke(invocation);
    };
    const control: Control = {
      invoke: (invocation) => {
        const answer = line.then(() => ask(invocation));
        line = answer.catch(() => undefined);
        return answer;
      },
    };
    if (this.stores.pulse === undefined) await this.#pulseHere(control);
    else await this.stores.pulse({ meter: this.coordinatorMeter, control });
    await this.drain();
    return minus(this.coordinatorMeter.counts, before);
  }

  async #pulseHere(control: Control): Promise<void> {
    const [plan, clock, ports] = [this.plan, this.#clock, this.coordinatorPorts()];
    const contextOf = createContextOf({ plan, clock, files: noFiles, report: () => undefined, print: () => undefined });
    const settler = createSettler({ plan, ports, contextOf });
    await pulse({ plan, ports, clock, random: this.#random, memory: this.#memory, concurrency: 1, control, settler });
  }

  coordinatorPorts(): InvocationPorts {
    return (this.#coordinatorPorts ??= this.stores.ports(this.coordinatorMeter));
  }

  /** The next invocations find environments that know nothing. */
  forget(): void {
    this.#environments.clear();
  }

  get elapsedSeconds(): number {
    return (this.#nowMs - startMs) / 1_000;
  }

  pass(seconds: number): void {
    this.#nowMs += seconds * 1_000;
  }

  /** What asked, with the channels into and out of each subtask. A source has one input. */
  described(costs: ReadonlyMap<string, Pick<SubtaskCost, 'calls' | 'counts'>>): readonly SubtaskCost[] {
    const width = this.#o.workload.shards.length;
    const isLast = (subtask: string): boolean => Number(subtask.split('-')[0]) === this.#o.stages - 1;
    return [...costs].map(([subtask, own]) => ({
      subtask,
      inputs: subtask.startsWith('0-') ? 1 : width,
      targets: isLast(subtask) ? 0 : width,
      ...own,
    }));
  }

  /**
   * An event of each shard each second, a checkpoint when it is due, until everything is taken.
   * @param o.reserve  events of each shard that are kept back
   */
  async run(o: { readonly reserve?: number } = {}): Promise<void> {
    const { workload, secondsPerCheckpoint } = this.#o;
    const reserve = (o.reserve ?? 0) * this.batch;
    for (let second = 1, isFed = true; isFed; second++) {
      isFed = false;
      for (const [shard, { count }] of workload.shards.entries()) {
        if ((this.#fed[shard] as number) < count - reserve) isFed = (await this.feed(shard)) || isFed;
      }
      this.pass(1);
      if (this.#o.gathers === true) await this.drain();
      if (second % secondsPerCheckpoint !== 0) continue;
      await this.pulse(); // begins
      await this.pulse(); // completes
    }
  }
}
