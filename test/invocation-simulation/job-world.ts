// One job on the fakes of the services, whoever acts in its world and whatever goes wrong there: targets, auditors, environments, what each process is
// made of, the creation of the job and the mappings that feed it.

import type { Plan } from '../../lib/graph/plan.ts';
import { createJob } from '../../lib/invocation/coordinator/create-job.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import { createEnvironment, createServices, type EnvironmentOptions } from '../../lib/invocation/unit/create-environment.ts';
import { type ListedLetter, listLetters } from '../../lib/invocation/unit/look.ts';
import { type FakeService, fakePorts, type SeededRandom, type SimulatedProcess, type World } from '../../lib/testing/index.ts';
import { type ActorOptions, attempt } from './actor.ts';
import { Auditors } from './audit.ts';
import { buildJob } from './build.ts';
import type { Chaos } from './chaos.ts';
import type { CoordinatorOptions } from './coordinator.ts';
import type { Counts } from './counts.ts';
import { isPassing, textOf } from './defects.ts';
import { Feed, type FeedRates } from './feed.ts';
import { Fleet, type FleetOptions } from './fleet.ts';
import { watchOwners } from './owner-watch.ts';
import { hostOf, patientPorts, planOf } from './processes.ts';
import type { Setting } from './random-job.ts';
import { ShardPlaces } from './shard-places.ts';
import { type Arrivals, enumerated, sourcesOf } from './source.ts';
import { Targets } from './targets.ts';
import { Trouble } from './trouble.ts';
import type { UserFunctions } from './user-functions.ts';

export interface JobWorldOptions {
  readonly world: World;
  readonly service: FakeService;
  readonly chaos: Chaos;
  readonly counts: Counts;
  readonly random: SeededRandom;
  readonly setting: Setting;
  readonly flushBelowSlots: number;
  readonly arrivals: Arrivals;
  readonly fleet: Pick<FleetOptions, 'seatsMax' | 'timeoutMs' | 'affinity' | 'isLeftBehind'>;
  /** Of user code in one process. */
  readonly functionsOf: (process: SimulatedProcess) => UserFunctions;
  /** Told of every result at the instant of its effect. */
  readonly onResult?: (process: SimulatedProcess, method: string, place: string, result: unknown) => void;
}

export class JobWorld {
  readonly service: FakeService;
  readonly setting: Setting;
  readonly targets: Targets;
  readonly trouble: Trouble;
  readonly auditors: Auditors;
  isOver = false;
  /** For whoever acts in it. */
  readonly actor: ActorOptions;
  readonly #o: JobWorldOptions;
  readonly #shards: ShardPlaces;

  constructor(options: JobWorldOptions) {
    this.#o = options;
    const { world, service, chaos, counts, random, setting } = options;
    this.service = service;
    this.setting = setting;
    this.#shards = new ShardPlaces(service);
    this.targets = new Targets(counts);
    this.trouble = new Trouble(setting, service, counts);
    this.auditors = new Auditors({ world, service, setting, targets: this.targets, counts });
    watchOwners(service, counts);
    const fleet = new Fleet({
      ...options.fleet,
      world,
      chaos,
      counts,
      random,
      start: (process) => createEnvironment(this.#environment(process, this.#ports(process))),
      onDefect: (error, invocation) => this.meetError(error, `${invocation.kind} of ${invocation.subtask}`),
      onLost: (invocation) => this.trouble.lost(invocation),
      onOverlap: (invocation) => this.trouble.overlapped(invocation),
    });
    this.actor = { world, fleet, chaos, counts, random, isOver: () => this.isOver };
  }

  /** For whoever coordinates the job. */
  get coordinated(): ActorOptions & Pick<CoordinatorOptions, 'portsOf' | 'planOf' | 'item' | 'onDefect'> {
    return {
      ...this.actor,
      portsOf: (process) => this.portsOf(process),
      planOf: (process) => this.plan(process),
      item: () => this.auditors.item,
      onDefect: (error, what) => this.meetError(error, what),
    };
  }

  /** A creation that fails, or dies, or takes longer than this is made again. */
  async create(waitMsMax: number): Promise<void> {
    const { world } = this.actor;
    for (let tries = 1; ; tries++) {
      const process = world.process(`creator-${tries}`);
      const plan = this.plan(process);
      const splits = new Map(sourcesOf(plan, this.setting.spec).map(({ stage, source }) => [stage, enumerated(source)]));
      const { ringSlots } = this.setting;
      const work = createJob(this.portsOf(process), { plan, splits, ringSlots, nowMs: process.ports.clock.now() });
      const onFailure = (error: unknown): void => this.meetError(error, 'the creation of the job');
      if ((await attempt(work, { world, process, waitMsMax, onFailure })) === 'done') return;
    }
  }

  /** The mappings of all splits, once the job is there. */
  feeds(rates: () => FeedRates): readonly Feed[] {
    const plan = this.plan(this.actor.world.process('mapping'));
    const owners = this.auditors.item?.owners ?? [];
    return sourcesOf(plan, this.setting.spec).flatMap(({ stage, source: { splits, evolution } }) =>
      splits.map((script, ordinal) => {
        const owner = owners.find((o) => o.stage === stage && o.splits.includes(ordinal));
        const fixed = { subtask: owner?.subtask ?? '', ordinal };
        const place = evolution === undefined ? () => fixed : () => this.#shards.of(stage, script.id);
        return new Feed({ ...this.actor, arrivals: this.#o.arrivals, rates: rates(), place, script });
      }),
    );
  }

  plan(process: SimulatedProcess): Plan {
    const { targets } = this;
    const { arrivals, functionsOf } = this.#o;
    return planOf(buildJob(this.setting.spec, { process, targets, arrivals, ...functionsOf(process), testify: () => {} }));
  }

  /** Ports of whoever is no environment. */
  portsOf(process: SimulatedProcess): InvocationPorts {
    return patientPorts(process, this.#ports(process));
  }

  /** As they lie there at this instant. */
  letters(process: SimulatedProcess): Promise<readonly ListedLetter[]> {
    return listLetters(createServices(this.#environment(process, fakePorts(this.service))));
  }

  meetError(error: unknown, what: string): void {
    if (isPassing(error)) return;
    if (error instanceof Error && /^transaction .* cannot be prepared again$/.test(error.message)) return;
    const text = textOf(error);
    // What a timer makes may fail behind it; the next tick fires it again.
    if (what.startsWith('tick') && text.includes('user code throws')) return;
    this.auditors.fail(`${what} failed: ${text}`);
  }

  #ports(process: SimulatedProcess): InvocationPorts {
    const { onResult } = this.#o;
    if (onResult === undefined) return fakePorts(this.service, (method, place, effect) => process.call(method, place, effect));
    return fakePorts(this.service, (method, place, effect) =>
      process.call(method, place, () => {
        const result = effect();
        onResult(process, method, place, result);
        return result;
      }),
    );
  }

  #environment(process: SimulatedProcess, ports: InvocationPorts): EnvironmentOptions {
    const { limits, attemptsMax } = this.setting;
    const { flushBelowSlots } = this.#o;
    return { ...hostOf(process), plan: this.plan(process), ports, limits: { ...limits, attemptsMax, flushBelowSlots } };
  }
}
