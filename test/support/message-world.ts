// An invocation world whose source is one stream or topic of messages, each of several records, good and malformed. Its events begin and end where a test
// says, again and overlapping; what was answered as done is not asked for by itself again.
import type { SourceContext } from '../../lib/api/source.ts';
import type { AppendedRow, StreamPage, StreamRecord, StreamShard, StreamTarget, Targets } from '../../lib/api/targets.ts';
import { readEvents } from '../../lib/aws/read-events.ts';
import { knownSplits } from '../../lib/invocation/coordinator/changes.ts';
import { type PulseEvent, pulse } from '../../lib/invocation/coordinator/pulse.ts';
import { FakeTopic } from './fake-topic.ts';
import { InvocationWorld, type InvocationWorldOptions } from './invocation-world.ts';

const pageMax = 3;
const hashMax = 2n ** 128n - 1n;

/** Shards in memory, of which each takes the place of the one before it. */
export class FakeMessages implements StreamTarget {
  readonly all: string[][] = [[]];
  #reads = 0;

  static numberOf(at: number): string {
    return String(10n ** 55n + BigInt(at * 7));
  }

  shards(): Promise<readonly StreamShard[]> {
    return Promise.resolve(
      this.all.map((_, i) => {
        const parents = i === 0 ? [] : [`shard-${i - 1}`];
        return { id: `shard-${i}`, parents, hashes: { from: 0n, to: hashMax }, isClosed: i < this.all.length - 1 };
      }),
    );
  }

  begin(shard: string, at: string | undefined): Promise<string> {
    const index = at === undefined ? 0 : Number((BigInt(at) - 10n ** 55n) / 7n);
    return Promise.resolve(`${shard.slice('shard-'.length)} ${index}`);
  }

  read(cursor: string): Promise<StreamPage> {
    const [shard = 0, from = 0] = cursor.split(' ').map(Number);
    const own = this.all[shard]!;
    const isEmpty = this.#reads++ % 3 === 1;
    const to = isEmpty ? from : Math.min(from + pageMax, own.length);
    const records = own
      .slice(from, to)
      .map((text, i): StreamRecord => ({ sequence: FakeMessages.numberOf(from + i), data: Buffer.from(text) }));
    const isOver = shard < this.all.length - 1 && to === own.length;
    return Promise.resolve({ records, next: isOver ? undefined : `${shard} ${to}` });
  }

  append(_rows: readonly AppendedRow[]): Promise<readonly []> {
    return Promise.resolve([]);
  }
}

export interface MessageWorldOptions extends Omit<InvocationWorldOptions, 'targets'> {
  readonly kind: 'kinesis' | 'kafka';
}

export class MessageWorld extends InvocationWorld {
  /** Messages of each shard; of a topic, which has one partition here, those of its first. */
  readonly messages: string[][];
  /** By shard: how many of its messages were answered for. */
  readonly taken: number[] = [0];
  readonly events: PulseEvent[] = [];
  replayRecordsMax = 1_000;
  readonly #kind: 'kinesis' | 'kafka';
  readonly #targets: Targets;
  readonly #topic = new FakeTopic(1);

  constructor(o: MessageWorldOptions) {
    const stream = new FakeMessages();
    const topic = new FakeTopic(1);
    const targets = { stream: () => stream, topic: () => topic } as unknown as Targets;
    super({ ...o, targets });
    this.#kind = o.kind;
    this.#targets = targets;
    this.#topic = topic;
    this.messages = stream.all;
  }

  put(...texts: readonly string[]): void {
    this.messages.at(-1)!.push(...texts);
    if (this.#kind === 'kafka') for (const text of texts) this.#topic.put(0, text);
  }

  /** The shard is closed, and another goes on in its place. */
  reshard(): void {
    this.messages.push([]);
    this.taken.push(0);
  }

  override async pulse(): Promise<void> {
    this.now += 1_000;
    const { ports, plan, clock, random, settler, events, replayRecordsMax } = this;
    const context = { job: plan.job, uid: 'in', clock, targets: this.#targets, countSkipped: () => undefined } as unknown as SourceContext;
    await pulse({
      ...{ ports, plan, settler, clock, random, replayRecordsMax },
      control: { invoke: (i) => this.invoke(i) },
      sourceContext: () => context,
      ticks: () => true,
      onEvent: (event) => events.push(event),
    });
  }

  /** Delivers the messages from a place to another as one event. @returns whether all of them were taken */
  async deliver(shard: number, from: number, to: number): Promise<boolean> {
    const ordinal = await this.#ordinalOf(shard);
    if (ordinal === undefined || from === to) return false;
    const numberOf = (at: number): string => (this.#kind === 'kafka' ? String(at) : FakeMessages.numberOf(at));
    const delivered = this.messages[shard]!.slice(from, to).map((text, i) => ({ number: numberOf(from + i), data: Buffer.from(text) }));
    const { events, numbers } = readEvents(this.sourceOf(0)!, delivered);
    const subtask = this.#kind === 'kafka' ? '0-0' : `0-s${ordinal}`;
    const answer =
      events.length === 0
        ? { kind: 'done' as const }
        : await this.invoke({ kind: 'records', subtask, split: ordinal, records: events, isLast: false });
    const left = answer.kind === 'done' ? undefined : numbers[answer.kind === 'partial' ? answer.count : 0];
    const end = left === undefined ? to : from + delivered.findIndex(({ number }) => number === left);
    if (from <= this.taken[shard]!) this.taken[shard] = Math.max(this.taken[shard]!, end);
    return end === to;
  }

  /** Delivers what has not been answered for. @returns whether there was something, and all of it was taken */
  override async feed(): Promise<boolean> {
    let hasFed = false;
    for (const [shard, { length }] of this.messages.entries()) if (await this.deliver(shard, this.taken[shard]!, length)) hasFed = true;
    return hasFed;
  }

  async #ordinalOf(shard: number): Promise<number | undefined> {
    if (this.#kind === 'kafka') return 0;
    for (const [ordinal, { id }] of await knownSplits(this.ports, 0)) if (id === `shard-${shard}`) return ordinal;
    return undefined;
  }
}
