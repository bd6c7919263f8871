// Somebody stands still where it hurts: whoever comes to a chosen place waits there until it has missed something, and then goes on as if nothing had
// been. Chance freezes anybody anywhere, for a while that has nothing to do with what happens meanwhile; a rule that matters only to who has slept
// through a restore in the middle of one step is out of its reach.
//   A1  A world has one ambush at most, drawn from a stream of its own: worlds without one are what they would be if there were none.
//   A2  Who waits is held by nobody else: it is neither ended nor given something else to do. It goes on when what it is to miss has happened, when
//       that takes too long, or with the last fault.
//   A3  Other faults are rarer there: where no checkpoint completes there is nothing to miss.

import { newestCompletedOf } from '../../lib/invocation/coordinator/read-job.ts';
import type { JobItem } from '../../lib/invocation/job-item.ts';
import {
  type Call,
  type SeededRandom,
  type ServiceChange,
  type SimulatedProcess,
  seededRandom,
  type World,
} from '../../lib/testing/index.ts';
import type { Rates } from './chaos.ts';
import type { AmbushName, Counts } from './counts.ts';
import type { Setting } from './random-job.ts';

interface Missed {
  readonly then: JobItem;
  readonly now: JobItem;
  /** Entries that were appended since, by anybody. */
  readonly entries: number;
}

export interface AmbushPlan {
  readonly name: AmbushName;
  /** Name of the process without its number. */
  readonly role: 'env' | 'coordinator';
  /** Whether this is a place to wait at. */
  readonly at: (call: Call, job: JobItem) => boolean;
  /** Whether enough has happened meanwhile. */
  readonly isMissed: (missed: Missed) => boolean;
  /** Somebody asks for a restore meanwhile. */
  readonly asks?: boolean;
  /** Places that are passed by before one is waited at, at most. */
  readonly passedMax: number;
  /** Jobs in which there are such places. */
  readonly suits?: (setting: Setting) => boolean;
}

const isRaised = ({ now, then }: Missed): boolean => now.generation > then.generation;
/** Something that began later than the wait has completed. */
const isCompletedAnew = ({ now, then }: Missed): boolean => newestCompletedOf(now) > then.begun;
const mayRestore = ({ completed, restoring }: JobItem): boolean => completed.length > 0 && restoring === undefined;
const isMoving = ({ moving }: JobItem): boolean => moving !== undefined && moving.parents.length > 0;
const evolves = ({ spec }: Setting): boolean => spec.nodes.some(({ op }) => op.kind === 'source' && op.source.evolution !== undefined);
const commits = ({ spec }: Setting): boolean =>
  spec.nodes.some(({ op }) => op.kind === 'sink' && (op.sink === 'two-phase' || op.sink === 'contract'));
const isTable = ({ spec }: Setting): boolean => spec.backend === 'table';

const plans: readonly AmbushPlan[] = [
  {
    name: 'waits before it completes a checkpoint',
    role: 'coordinator',
    at: ({ method, place }) => method === 'objects.putIfAbsent' && place.startsWith('checkpoint/'),
    isMissed: ({ now, then }) => then.open.some((o) => !now.open.some((n) => n.checkpoint === o.checkpoint)),
    passedMax: 2,
  },
  {
    name: 'waits in a change of owners',
    role: 'coordinator',
    at: ({ method }, job) => method !== 'control.answer' && isMoving(job) && mayRestore(job),
    isMissed: isRaised,
    asks: true,
    passedMax: 40,
    suits: evolves,
  },
  {
    name: 'waits between job item and ring',
    role: 'env',
    at: ({ method, place }) => method === 'changelog.readPage' && place.endsWith(' from 0'),
    // Whoever writes the ring learns of a completion with the next barrier.
    isMissed: (missed) =>
      (isCompletedAnew(missed) && missed.now.begun > newestCompletedOf(missed.now) && missed.entries > 30) || isRaised(missed),
    passedMax: 8,
  },
  {
    name: 'waits before it flushes',
    role: 'env',
    at: ({ method }) => method === 'table.putMany',
    isMissed: ({ entries }) => entries > 15,
    passedMax: 12,
    suits: isTable,
  },
  {
    name: 'waits before it prepares',
    role: 'env',
    at: ({ method, place }, job) => method === 'objects.get' && /^(decided|transaction)\//.test(place) && mayRestore(job),
    isMissed: isRaised,
    asks: true,
    passedMax: 3,
    suits: commits,
  },
  {
    name: 'waits before it appends',
    role: 'env',
    at: ({ method }, job) => method === 'changelog.put' && mayRestore(job),
    isMissed: isRaised,
    asks: true,
    passedMax: 20,
  },
];

/** Seeds below are worlds of chance alone. */
const firstSeed = 1_001;
/** Times that a world's ambush is laid. */
const timesMax = 8;

/** What lies in ambush in the world of a seed. */
export function drawAmbush(seed: number, setting: Setting): AmbushPlan | undefined {
  if (seed < firstSeed) return undefined;
  return seededRandom(seed)
    .fork('ambush')
    .pick(plans.filter(({ suits }) => suits === undefined || suits(setting)));
}

/** The job of a world with an ambush. */
export function withPatience(setting: Setting): Setting {
  const { spec } = setting;
  return { ...setting, spec: { ...spec, checkpoints: { ...spec.checkpoints, timeoutMs: Math.max(spec.checkpoints.timeoutMs, 1_000) } } };
}

/** What goes wrong there besides. */
export function tamed(rates: Rates): Rates {
  return Object.fromEntries(Object.entries(rates).map(([fault, rate]) => [fault, rate / 4])) as Rates;
}

export interface AmbushOptions {
  readonly seed: number;
  readonly plan: AmbushPlan;
  readonly world: World;
  readonly counts: Counts;
  /** After this an event is given up, ms. */
  readonly timeoutMs: number;
  /** As the auditors saw it last. */
  readonly item: () => JobItem | undefined;
  /** Asks for a restore. */
  readonly provoke: () => void;
}

interface Waiting {
  readonly process: SimulatedProcess;
  readonly then: JobItem;
  entries: number;
}

export class Ambush {
  readonly #o: AmbushOptions;
  readonly #random: SeededRandom;
  #passes: number;
  #times = 0;
  #waiting: Waiting | undefined;

  constructor(options: AmbushOptions) {
    this.#o = options;
    this.#random = seededRandom(options.seed).fork('places of the ambush');
    this.#passes = this.#random.below(options.plan.passedMax + 1);
  }

  /** It waits, and is left alone. */
  holds(process: SimulatedProcess): boolean {
    return this.#waiting?.process === process;
  }

  /** Asked of each call: whether its process waits here. */
  strikes(call: Call): boolean {
    const { plan, item } = this.#o;
    const job = item();
    if (job === undefined || this.#waiting !== undefined || this.#times >= timesMax) return false;
    const { process } = call;
    if (process.state !== 'running' || !process.name.startsWith(`${plan.role}-`) || !plan.at(call, job)) return false;
    if (this.#passes-- > 0) return false;
    this.#times++;
    this.#passes = this.#random.below(plan.passedMax + 1);
    this.#lay(process, job);
    return true;
  }

  /** Something durable has changed. */
  see({ kind }: ServiceChange): void {
    const waiting = this.#waiting;
    if (waiting === undefined || (kind !== 'item' && kind !== 'entry')) return;
    if (kind === 'entry') waiting.entries++;
    const { plan, item, counts } = this.#o;
    if (!plan.isMissed({ ...waiting, now: item()! })) return;
    counts.count(plan.name);
    this.#letGo();
  }

  #lay(process: SimulatedProcess, then: JobItem): void {
    const { world, timeoutMs, provoke, plan } = this.#o;
    const waiting = { process, then, entries: 0 };
    this.#waiting = waiting;
    world.note(`${process.name} waits in ambush`);
    process.stop();
    void process.becomes('dead').then(() => this.#end(waiting));
    world.alarm(40 * timeoutMs, () => this.#end(waiting));
    if (plan.asks === true) world.alarm(this.#random.skewed(timeoutMs), () => this.holds(process) && provoke());
  }

  #end(waiting: Waiting): void {
    if (this.#waiting === waiting) this.#letGo();
  }

  #letGo(): void {
    const process = this.#waiting?.process;
    this.#waiting = undefined;
    process?.continue();
  }
}
