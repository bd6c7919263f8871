// One environment, or several, over a strict fake, driven in the simplest order: what a source has, what the queue holds, a pulse, again. For tests
// of the unit of work; disorder is the simulation's part.

import { ParamValues } from '../../lib/api/params.ts';
import type { Source, Split } from '../../lib/api/source.ts';
import type { Targets } from '../../lib/api/targets.ts';
import type { Clock, FileSystem } from '../../lib/core/ports.ts';
import { compile } from '../../lib/graph/compile.ts';
import type { Plan } from '../../lib/graph/plan.ts';
import type { Job } from '../../lib/index.ts';
import type { TransactionSettler } from '../../lib/invocation/control.ts';
import { createJob } from '../../lib/invocation/coordinator/create-job.ts';
import { pulse } from '../../lib/invocation/coordinator/pulse.ts';
import { readJob } from '../../lib/invocation/coordinator/read-job.ts';
import { pollRecords } from '../../lib/invocation/event-records.ts';
import type { Answer, Invocation } from '../../lib/invocation/invocation.ts';
import type { JobItem } from '../../lib/invocation/job-item.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import { createContextOf } from '../../lib/invocation/sinks/planned-sinks.ts';
import { createSettler } from '../../lib/invocation/sinks/settler.ts';
import { createEnvironment, type EnvironmentOptions } from '../../lib/invocation/unit/create-environment.ts';
import type { Environment } from '../../lib/invocation/unit/environment.ts';
import { describe as describeJob } from '../../lib/operators/describe.ts';
import { FakeService, fakePorts } from '../../lib/testing/invocation/index.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';

export interface InvocationWorldOptions {
  readonly job: Job;
  readonly environments?: number;
  readonly ringSlots?: number;
  /** Records of an event. */
  readonly batch?: number;
  readonly limits?: EnvironmentOptions['limits'];
  readonly files?: FileSystem;
  readonly wrap?: (ports: InvocationPorts) => InvocationPorts;
  readonly targets?: Targets;
}

export class InvocationWorld {
  now = 1_700_000_000_000;
  readonly plan: Plan;
  readonly service: FakeService;
  readonly ports: InvocationPorts;
  readonly printed: string[] = [];
  readonly environments: Environment[] = [];
  readonly settler: TransactionSettler;
  readonly clock: Clock = {
    now: () => this.now,
    sleep: (ms) => {
      this.now += ms;
      return { done: Promise.resolve(), cancel: () => undefined };
    },
  };
  readonly random = seededRandom(1);
  readonly #o: InvocationWorldOptions;
  readonly #splits = new Map<number, readonly Split[]>();
  /** Where the event source mapping of each split is: it never goes back. */
  readonly #mapping = new Map<string, number>();
  #next = 0;

  constructor(o: InvocationWorldOptions) {
    this.#o = o;
    this.plan = compile(describeJob(o.job, new ParamValues(new Map())), { keepsPartitions: true });
    this.service = new FakeService({ now: () => this.now });
    const ports = fakePorts(this.service);
    this.ports = o.wrap?.(ports) ?? ports;
    for (let i = 0; i < (o.environments ?? 1); i++) this.environments.push(this.newEnvironment());
    const { plan, clock } = this;
    const contextOf = createContextOf({ plan, clock, files: o.files as FileSystem, report: () => undefined, print: this.#print });
    this.settler = createSettler({ plan, ports: this.ports, contextOf });
  }

  readonly #print = (line: string): void => void this.printed.push(line);

  newEnvironment(): Environment {
    const { plan, ports, clock, random } = this;
    const limits = { flushBelowSlots: 2, ...this.#o.limits };
    const files = this.#o.files as FileSystem;
    const { targets } = this.#o;
    return createEnvironment({ plan, ports, clock, random, files, targets, report: () => undefined, print: this.#print, limits });
  }

  async create(): Promise<void> {
    for (const stage of this.plan.stages) {
      const source = this.sourceOf(stage.id);
      if (source !== undefined) this.#splits.set(stage.id, await source.enumerate(this.#context(stage.id)));
    }
    await createJob(this.ports, { plan: this.plan, splits: this.#splits, ringSlots: this.#o.ringSlots ?? 16, nowMs: this.now });
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

  /** Round robin over the environments: no affinity. */
  invoke(invocation: Invocation): Promise<Answer> {
    const environment = this.environments[this.#next++ % this.environments.length] as Environment;
    return environment.invoke(invocation);
  }

  async pulse(): Promise<void> {
    this.now += 1_000;
    const { ports, plan, clock, random, settler } = this;
    await pulse({ ports, plan, control: { invoke: (i) => this.invoke(i) }, settler, clock, random, ticks: () => true });
  }

  /** Delivers the next event of every split. @returns whether anything was delivered */
  async feed(): Promise<boolean> {
    let hasFed = false;
    for (const owner of (await this.item()).owners) {
      const source = this.sourceOf(owner.stage);
      if (source === undefined) continue;
      for (const ordinal of owner.splits) {
        const name = `${owner.subtask}/${ordinal}`;
        const at = this.#mapping.get(name) ?? 0;
        if (at === Number.POSITIVE_INFINITY) continue;
        const split = this.#splits.get(owner.stage)?.[ordinal] as Split;
        const reader = source.open(split, at === 0 ? undefined : { index: at, at }, this.#context(owner.stage));
        const { records, isLast } = pollRecords(reader, { recordsMax: this.#o.batch ?? 3, malformed: 0 });
        const answer = await this.invoke({ kind: 'records', subtask: owner.subtask, split: ordinal, records, isLast });
        hasFed = true;
        if (answer.kind === 'done') this.#mapping.set(name, isLast ? Number.POSITIVE_INFINITY : (records.at(-1)?.after.index ?? at));
      }
    }
    return hasFed;
  }

  async drain(): Promise<boolean> {
    const deliveries = await this.ports.exchange.receive({ max: 10 });
    for (const group of new Set(deliveries.map((d) => d.group))) {
      const mine = deliveries.filter((d) => d.group === group);
      const answer = await this.invoke({ kind: 'messages', subtask: group, messages: mine.map(({ bytes }) => bytes) });
      const count = answer.kind === 'done' ? mine.length : answer.kind === 'partial' ? answer.count : 0;
      await this.ports.exchange.settle(mine.slice(0, count).map(({ receipt }) => receipt));
      const left = mine.slice(count).map(({ receipt }) => receipt);
      if (left.length > 0) await this.ports.exchange.release({ receipts: left, delayMs: 0 });
    }
    return deliveries.length > 0;
  }

  /** Until the job has finished. */
  async run(roundsMax = 500): Promise<void> {
    await this.create();
    for (let round = 0; round < roundsMax; round++) {
      await this.feed();
      while (await this.drain());
      await this.pulse();
      if ((await this.item()).status === 'finished') return;
    }
    throw new Error(`not finished after ${roundsMax} rounds: ${JSON.stringify(await this.item())}`);
  }

  #context(stage: number): Parameters<Source<unknown>['enumerate']>[0] {
    const uid = this.plan.stages[stage]?.operators[0]?.uid as string;
    const { files, targets } = this.#o;
    return { job: this.plan.job, uid, files: files as FileSystem, clock: this.clock, targets, countSkipped: () => undefined };
  }
}
