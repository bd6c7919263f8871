// A job that is fed by a queue, over strict fakes: what the queue hands out goes to environments, what they answer goes back to the queue.

import type { Source } from '../../lib/api/source.ts';
import { type Collector, collect, defineJob, type Env, keyedProcess, valueState } from '../../lib/index.ts';
import type { Answer, QueueMessage } from '../../lib/invocation/invocation.ts';
import { laneSplits, queueOfStage, splitByLane } from '../../lib/invocation/lane/queues.ts';
import { createEnvironment, createServices, type EnvironmentOptions } from '../../lib/invocation/unit/create-environment.ts';
import type { Environment } from '../../lib/invocation/unit/environment.ts';
import { type ListedLetter, listLetters } from '../../lib/invocation/unit/look.ts';
import { FakeQueue, fakePorts, type QueueDelivered } from '../../lib/testing/index.ts';
import { InvocationWorld } from './invocation-world.ts';

export interface Parcel {
  readonly group: string;
  readonly id: number;
}

export function queueSource<T>(p: {
  readonly order: 'fifo' | 'standard';
  readonly lanes: number;
  readonly retentionMs: number;
  readonly read?: (body: unknown) => T;
}): Source<T> {
  const { order, lanes, retentionMs, read = (body) => body as T } = p;
  return {
    kind: 'test-queue',
    isRereadable: false,
    isBounded: false,
    isEager: true,
    enumerate: () => Promise.resolve(laneSplits({ lanes })),
    open: () => {
      throw new Error('a queue is only ever delivered');
    },
    queue: { order, lanes, retentionMs, read: (body, out) => void (out.values[out.count++] = read(body)) },
  };
}

export type Temper = (parcel: Parcel) => 'fine' | 'throws' | 'kills';

export interface LaneWorldOptions {
  readonly order: 'fifo' | 'standard';
  readonly lanes?: number;
  readonly retentionMs?: number;
  readonly temper?: Temper;
  readonly read?: (body: unknown) => Parcel;
  readonly mode?: 'EXACTLY_ONCE' | 'AT_MOST_ONCE';
  readonly limits?: EnvironmentOptions['limits'];
  readonly ringSlots?: number;
}

const second = 1_000;

/** Each row is `<group> <how many of the group, this one included> <id>`. */
export class LaneWorld {
  readonly out = collect<string>();
  readonly queue: FakeQueue;
  readonly world: InvocationWorld;
  readonly lost: QueueMessage[] = [];
  /** Times that each parcel was run. */
  readonly runs = new Map<number, number>();
  /** Messages that were older than what is remembered. */
  beyondHorizon = 0;
  temper: Temper;
  readonly #o: LaneWorldOptions;
  #die: (() => void) | undefined;

  constructor(o: LaneWorldOptions) {
    this.#o = o;
    this.temper = o.temper ?? (() => 'fine');
    const { order, lanes = 2, retentionMs = 3_600 * second } = o;
    const source = queueSource<Parcel>({ order, lanes, retentionMs, ...(o.read === undefined ? {} : { read: o.read }) });
    const count = keyedProcess({
      state: { seen: valueState({ default: () => 0 }) },
      processElement: (parcel: Parcel, ctx, out: Collector<string>) => {
        const seen = ctx.state.seen.value() + 1;
        ctx.state.seen.update(seen);
        this.#run(parcel);
        out.collect(`${parcel.group} ${seen} ${parcel.id}`);
      },
    });
    const job = defineJob('lanes', (env: Env) => {
      env.enableCheckpointing('5 s', { mode: o.mode ?? 'EXACTLY_ONCE', numRetained: 3 });
      env
        .fromSource(source, { uid: 'in', ...(order === 'fifo' ? { partitionedBy: (p: Parcel) => p.group } : {}) })
        .keyBy((p) => p.group)
        .process(count)
        .uid('count')
        .sinkTo(this.out, { uid: 'out' });
    });
    this.world = new InvocationWorld({ job, ringSlots: o.ringSlots ?? 64, ...(o.limits === undefined ? {} : { limits: o.limits }) });
    this.queue = new FakeQueue({
      order,
      retentionMs,
      hooks: { now: () => this.world.now, visibilityMs: () => 30 * second, lost: (message) => void this.lost.push(message) },
    });
  }

  readonly #observer = {
    opened: () => undefined,
    committed: () => undefined,
    beyondHorizon: (messages: number) => {
      this.beyondHorizon += messages;
    },
  };

  #run(parcel: Parcel): void {
    this.runs.set(parcel.id, (this.runs.get(parcel.id) ?? 0) + 1);
    const temper = this.temper(parcel);
    if (temper === 'kills') this.#die?.();
    if (temper !== 'fine') throw new Error(`no to ${parcel.id}`);
  }

  send(...parcels: readonly Parcel[]): void {
    for (const body of parcels) this.queue.send({ group: body.group, body });
  }

  /** An environment that a parcel can kill: from then on none of its requests gets an answer. */
  mortal(): Environment {
    let isDead = false;
    const ports = fakePorts(this.world.service, (_method, _place, effect) =>
      isDead ? new Promise(() => undefined) : Promise.resolve().then(effect),
    );
    const environment = createEnvironment({ ...this.#options(), ports });
    const invoke = environment.invoke.bind(environment);
    environment.invoke = (invocation, options) => {
      const death = new Promise<Answer>((_, reject) => {
        this.#die = () => {
          isDead = true;
          reject(new Error('the process died'));
        };
      });
      return Promise.race([invoke(invocation, options), death]);
    };
    return environment;
  }

  receive(max = 10): readonly QueueDelivered[] {
    return this.queue.receive({ max });
  }

  /** One event, a part for each lane; the queue is told the answers unless `isLost`. @returns the answers by subtask */
  async give(
    given: readonly QueueDelivered[],
    p: { readonly to?: Environment; readonly isLost?: boolean } = {},
  ): Promise<ReadonlyMap<string, Answer | undefined>> {
    const of = queueOfStage(this.world.plan, 0)!;
    const answers = new Map<string, Answer | undefined>();
    for (const part of splitByLane(
      given.map(({ message }) => message),
      of,
    )) {
      const answer = await (p.to ?? this.world.environments[0]!).invoke(part).catch(() => undefined);
      answers.set(part.subtask, answer);
      if (p.isLost === true || answer === undefined) continue;
      const settled = settledOf(part.messages, answer);
      this.queue.settle(given.filter(({ message }) => settled.has(message.id)).map(({ receipt }) => receipt));
    }
    return answers;
  }

  /** Until the queue has nothing to give; what failed is given again when its time in flight is over. */
  async drain(to?: () => Environment, roundsMax = 200): Promise<void> {
    for (let round = 0; this.queue.unsettled.length > 0; round++) {
      if (round === roundsMax) throw new Error(`${this.queue.unsettled.length} messages are left after ${round} rounds`);
      const given = this.receive();
      if (given.length === 0) this.world.now += 31 * second;
      else await this.give(given, to === undefined ? {} : { to: to() });
      await this.#drainExchange();
    }
  }

  async #drainExchange(): Promise<void> {
    while (await this.world.drain());
  }

  /** Pulses until a checkpoint that holds everything so far is complete and visible. */
  async checkpoint(): Promise<number> {
    const { begun } = await this.world.item();
    for (let pulses = 0; pulses < 30; pulses++) {
      await this.world.pulse();
      await this.#drainExchange();
      const { completed, confirmed } = await this.world.item();
      const newest = completed.at(-1)?.checkpoint ?? 0;
      const isNew = newest > begun || (pulses > 10 && newest > 0); // nothing new since the last one: none begins
      if (isNew && confirmed === newest) return newest;
    }
    throw new Error(`no checkpoint above ${begun} is complete: ${JSON.stringify(await this.world.item())}`);
  }

  letters(): Promise<readonly ListedLetter[]> {
    return listLetters(createServices(this.#options()));
  }

  /** Rows by group, in the order in which they were made. */
  get rows(): readonly string[] {
    return [...this.out.rows].sort(byGroupAndCount);
  }

  #options(): EnvironmentOptions {
    const { plan, ports, clock, random } = this.world;
    const files = undefined as unknown as EnvironmentOptions['files'];
    const limits = this.#o.limits === undefined ? {} : { limits: this.#o.limits };
    return { plan, ports, clock, random, files, report: () => undefined, print: () => undefined, observer: this.#observer, ...limits };
  }
}

export function settledOf(messages: readonly QueueMessage[], answer: Answer): ReadonlySet<string> {
  if (answer.kind === 'done') return new Set(messages.map(({ id }) => id));
  return new Set(answer.kind === 'partial' ? answer.settled : []);
}

function byGroupAndCount(a: string, b: string): number {
  const [groupA = '', countA = ''] = a.split(' ');
  const [groupB = '', countB = ''] = b.split(' ');
  return groupA === groupB ? Number(countA) - Number(countB) : groupA < groupB ? -1 : 1;
}
