// A topic, read again for a restore: no group is joined and nothing is committed, so the mapping that delivers it is not disturbed.
//   T1  Brokers are asked for the oldest offset and the end before each page: a page that is empty does not tell which of both it was.
//   T2  Records are read as brokers have them, those of transactions that were given up too. So does a consumer by default, and with it the mapping.
//   T3  A batch of the log may begin before the offset that was asked for, and may hold marks of transactions, which are no records.

import type { Consumer, FetchedBatch } from '@platformatic/kafka';
import type { StreamRecord, TopicPage, TopicTarget } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import { MiB } from '../../core/limits.ts';
import { type TopicLogin, tlsOf } from './login.ts';
import { topicError } from './topic-errors.ts';

export interface TopicPlace {
  readonly topic: string;
  /** `host:port` of brokers, with commas between. */
  readonly bootstrap: string;
  readonly login: TopicLogin;
}

const connectMs = 2_000;
const requestMs = 8_000;
const fetchWaitMs = 500;
/** A page; one record that is larger comes all the same. */
const pageBytesMax = 4 * MiB;
const latest = -1n;
const earliest = -2n;
const readUncommitted = 0;
const controlBatch = 0x20;

export class KafkaTopic implements TopicTarget {
  readonly #place: TopicPlace;
  #consumer: Promise<Consumer> | undefined;

  constructor(place: TopicPlace) {
    this.#place = place;
  }

  partitions(): Promise<number> {
    return this.#ask('Metadata', async (consumer) => (await this.#topicIn(consumer, { forceUpdate: true })).partitionsCount);
  }

  read(partition: number, from: bigint | undefined, recordsMax: number): Promise<TopicPage> {
    return this.#ask('Fetch', async (consumer) => {
      const [oldest, end] = [await this.#offsetOf(consumer, partition, earliest), await this.#offsetOf(consumer, partition, latest)];
      const start = from ?? oldest;
      if (start < oldest || start >= end) return { records: [], next: start, oldest, end };
      const batches = await this.#fetch(consumer, partition, start);
      return { ...recordsOf(batches, start, recordsMax), oldest, end };
    });
  }

  async close(): Promise<void> {
    await (await this.#consumer)?.close(true);
  }

  async #topicIn(consumer: Consumer, { forceUpdate }: { readonly forceUpdate: boolean }) {
    const { topic } = this.#place;
    const { topics } = await consumer.metadata({ topics: [topic], forceUpdate });
    return topics.get(topic)!; // the client rejects where there is none
  }

  async #offsetOf(consumer: Consumer, partition: number, timestamp: bigint): Promise<bigint> {
    const { topic } = this.#place;
    const request = { topics: [topic], partitions: { [topic]: [partition] }, timestamp, isolationLevel: readUncommitted };
    return (await consumer.listOffsets(request)).get(topic)![partition]!;
  }

  async #fetch(consumer: Consumer, partition: number, fetchOffset: bigint): Promise<readonly FetchedBatch[]> {
    const { id: topicId, partitions } = await this.#topicIn(consumer, { forceUpdate: false });
    const wanted = { partition, fetchOffset, currentLeaderEpoch: -1, lastFetchedEpoch: -1, partitionMaxBytes: pageBytesMax };
    const { responses } = await consumer.fetch({
      node: partitions[partition]!.leader,
      topics: [{ topicId, partitions: [wanted] }],
      ...{ minBytes: 1, maxBytes: pageBytesMax, maxWaitTime: fetchWaitMs, isolationLevel: readUncommitted },
    });
    return responses.flatMap((response) =>
      response.partitions.flatMap(({ partitionIndex, records }) => (partitionIndex === partition ? (records ?? []) : [])),
    );
  }

  async #ask<T>(action: string, request: (consumer: Consumer) => Promise<T>): Promise<T> {
    const { topic, bootstrap } = this.#place;
    try {
      this.#consumer ??= connect(this.#place);
      return await request(await this.#consumer);
    } catch (error) {
      this.#consumer = undefined; // what failed may be a connection that a frozen environment has lost, or a secret that was changed
      throw topicError(error, `kafka:${action} of topic ${topic} at ${bootstrap}`);
    }
  }
}

async function connect({ bootstrap, login }: TopicPlace): Promise<Consumer> {
  const { Consumer: Client } = await load();
  const tls = tlsOf(login.auth);
  const sasl = await login.sasl();
  return new Client({
    clientId: 'sluice',
    groupId: 'sluice-restore', // is never joined
    bootstrapBrokers: bootstrap.split(','),
    ...{ connectTimeout: connectMs, timeout: requestMs, requestTimeout: requestMs, retries: 2 },
    ...(tls === undefined ? {} : { tls }),
    ...(sasl === undefined ? {} : { sasl }),
  });
}

async function load(): Promise<typeof import('@platformatic/kafka')> {
  try {
    return await import('@platformatic/kafka');
  } catch (cause) {
    throw new SluiceError('PACKAGE_MISSING', {
      message: 'reading a topic needs @platformatic/kafka, which is not installed',
      next: 'fix-the-command',
      advice: 'npm install @platformatic/kafka, and deploy again',
      cause,
    });
  }
}

/** Pure: the records of a partition from an offset on, and where the next page begins. */
export function recordsOf(batches: readonly FetchedBatch[], from: bigint, recordsMax: number): Pick<TopicPage, 'records' | 'next'> {
  const records: StreamRecord[] = [];
  let next = from;
  for (const { firstOffset, attributes, lastOffsetDelta, records: own } of batches) {
    for (const { offsetDelta, key, value } of (attributes & controlBatch) === 0 ? own : []) {
      const offset = firstOffset + BigInt(offsetDelta);
      if (offset < from) continue;
      if (records.length === recordsMax) return { records, next };
      records.push({ sequence: String(offset), data: value ?? undefined, ...(key === null ? {} : { key }) });
      next = offset + 1n;
    }
    const behind = firstOffset + BigInt(lastOffsetDelta) + 1n;
    if (behind > next) next = behind;
  }
  return { records, next };
}
