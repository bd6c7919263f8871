// An invocation world whose source is a topic, read by a mapping as Lambda documents it: offsets are committed by partition when the function has
// succeeded, an event may hold several partitions, and of what failed either the whole comes again or, in provisioned mode, each partition from the
// offset that the answer names.
import type { KafkaAnswer, KafkaEvent, KafkaRecord } from '../../lib/aws/kafka-event.ts';
import { handleStage } from '../../lib/aws/stage-handler.ts';
import { type PulseEvent, pulse } from '../../lib/invocation/coordinator/pulse.ts';
import type { FakeTopic } from './fake-topic.ts';
import { InvocationWorld, type InvocationWorldOptions } from './invocation-world.ts';

/** As long as Kafka lets a name be. */
export const longTopic: string = 'clicks.'.padEnd(249, 'x');

const context = { getRemainingTimeInMillis: () => 30_000 };

export class TopicWorld extends InvocationWorld {
  readonly topic: FakeTopic;
  readonly isProvisioned: boolean;
  readonly events: PulseEvent[] = [];
  /** By partition: the offset that the mapping reads next. It never goes back by itself. */
  readonly committed: number[] = [];
  /** Records of a partition in one event. */
  batch = 2;

  constructor(topic: FakeTopic, o: Omit<InvocationWorldOptions, 'targets'> & { readonly isProvisioned?: boolean }) {
    super({ ...o, targets: topic.targets });
    this.topic = topic;
    this.isProvisioned = o.isProvisioned ?? false;
  }

  override async pulse(): Promise<void> {
    this.now += 1_000;
    const { ports, plan, clock, random, settler, events } = this;
    const control = { invoke: (i: Parameters<InvocationWorld['invoke']>[0]) => this.invoke(i) };
    await pulse({ ports, plan, control, settler, clock, random, ticks: () => true, onEvent: (event) => events.push(event) });
  }

  /** The next event: records of every partition that has some. */
  event(): KafkaEvent {
    const records: Record<string, readonly KafkaRecord[]> = {};
    for (const [partition, all] of this.topic.all.entries()) {
      const next = all.filter(({ offset }) => offset >= (this.committed[partition] ?? 0)).slice(0, this.batch);
      if (next.length > 0)
        records[`${longTopic}-${partition}`] = next.map(({ offset, value, key }) => ({
          ...{ topic: longTopic, partition, offset, timestamp: 1_545_084_650_987, timestampType: 'CREATE_TIME', headers: [] },
          ...(key === undefined ? {} : { key: Buffer.from(key).toString('base64') }),
          ...(value === undefined ? {} : { value: Buffer.from(value).toString('base64') }),
        }));
    }
    return { eventSource: 'aws:kafka', records };
  }

  /** @returns the answer, or what the function threw */
  async handle(event: KafkaEvent): Promise<KafkaAnswer | Error> {
    const bind = { clicks: { kind: 'kafka', topic: longTopic, bootstrap: 'b:9092', reportsFailures: this.isProvisioned } };
    const deployed = {
      ...{ plan: this.plan, ports: this.ports, settings: { stage: 0, bind }, tally: { conflicts: 0 } },
      environment: { invoke: (invocation: Parameters<InvocationWorld['invoke']>[0]) => this.invoke(invocation) },
      exchangeStream: () => undefined,
    };
    try {
      return (await handleStage(deployed, event, context, this.clock)) as KafkaAnswer;
    } catch (error) {
      return error as Error;
    }
  }

  /** Delivers one event and commits what its answer allows. @returns whether there was one */
  override async feed(): Promise<boolean> {
    const event = this.event();
    if (Object.keys(event.records).length === 0) return false;
    const answer = await this.handle(event);
    if (answer instanceof Error) return true;
    const open = new Map(answer.batchItemFailures.map(({ itemIdentifier }) => [itemIdentifier.partition, itemIdentifier.offset]));
    for (const [name, records] of Object.entries(event.records)) {
      const last = records.at(-1)!;
      this.committed[last.partition] = open.get(name) ?? last.offset + 1;
    }
    return true;
  }

  async settle(rounds = 8): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      await this.feed();
      while (await this.drain());
      await this.pulse();
    }
  }
}
