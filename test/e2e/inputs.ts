// What visits are sent through, and what may happen to them on the way.
import {
  CreateStreamCommand,
  DescribeStreamSummaryCommand,
  KinesisClient,
  ListShardsCommand,
  MergeShardsCommand,
  PutRecordsCommand,
  type Shard,
  SplitShardCommand,
} from '@aws-sdk/client-kinesis';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { expect } from 'vitest';
import { eventually } from './cloud.ts';
import { EventSourceRunner } from './event-source-runner.ts';
import type { Visit } from './jobs/visits.ts';

export interface VisitInput {
  send(visits: readonly Visit[]): Promise<void>;
  /** What an input does to whoever reads it, beside delivering. @returns visits that it brought along */
  upset(visits: readonly Visit[]): Promise<void>;
  stop(): Promise<void>;
}

const numbersOf = (visits: readonly Visit[], max: number): readonly (readonly Visit[])[] =>
  Array.from({ length: Math.ceil(visits.length / max) }, (_, i) => visits.slice(i * max, (i + 1) * max));

export class QueueInput implements VisitInput {
  readonly #sqs = new SQSClient({});
  readonly #lambda = new LambdaClient({});
  readonly #url: string;
  readonly #functionName: string;
  readonly #isFifo: boolean;

  constructor(o: { readonly url: string; readonly functionName: string }) {
    this.#url = o.url;
    this.#functionName = o.functionName;
    this.#isFifo = o.url.endsWith('.fifo');
  }

  async send(visits: readonly Visit[]): Promise<void> {
    for (const part of numbersOf(visits, 10)) {
      const entries = part.map((visit, i) => ({
        Id: String(i),
        MessageBody: JSON.stringify(visit),
        ...(this.#isFifo ? { MessageGroupId: visit.user, MessageDeduplicationId: visit.id } : {}),
      }));
      const { Failed: failed = [] } = await this.#sqs.send(new SendMessageBatchCommand({ QueueUrl: this.#url, Entries: entries }));
      expect(failed).toEqual([]);
    }
  }

  /** One event three times, twice of them at once. */
  async upset(visits: readonly Visit[]): Promise<void> {
    const event = {
      Records: visits.map((visit, i) => ({
        messageId: visit.id,
        receiptHandle: visit.id,
        body: JSON.stringify(visit),
        attributes: {
          ApproximateReceiveCount: '1',
          SentTimestamp: String(Date.now()),
          ...(this.#isFifo ? { SequenceNumber: String(i + 1).padStart(20, '0'), MessageGroupId: visit.user } : {}),
        },
        eventSource: 'aws:sqs',
        eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:${this.#url.split('/').at(-1)}`,
      })),
    };
    const deliver = async () => {
      const payload = Buffer.from(JSON.stringify(event));
      const answer = await this.#lambda.send(new InvokeCommand({ FunctionName: this.#functionName, Payload: payload }));
      return { error: answer.FunctionError, said: Buffer.from(answer.Payload ?? []).toString() };
    };
    await Promise.all([deliver(), deliver()]);
    // What lost to the other one may have been refused; it is done when an answer says so.
    await eventually('the event is taken', async () => (/"batchItemFailures": ?\[\]/.test((await deliver()).said) ? true : undefined));
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

export class StreamInput implements VisitInput {
  static readonly #pauseMs = 500;
  readonly name: string;
  readonly #kinesis = new KinesisClient({ requestHandler: new NodeHttpHandler() });
  #runner: EventSourceRunner | undefined;
  #isOver = false;
  #running: Promise<void> = Promise.resolve();
  arn = '';

  constructor(name: string) {
    this.name = name;
  }

  async create(shards: number): Promise<void> {
    await this.#kinesis.send(new CreateStreamCommand({ StreamName: this.name, ShardCount: shards }));
    await this.#settled();
  }

  attach(): Promise<void> {
    return this.#settled();
  }
  /** Hands out what comes, and some of it again. */
  read(o: { readonly functionName: string; readonly mapping: string; readonly random: () => number }): void {
    const trouble = { random: o.random, again: 0.2, overlap: 0.2 };
    const runner = new EventSourceRunner({
      ...o,
      kinesis: this.#kinesis,
      lambda: new LambdaClient({}),
      stream: this.name,
      batchSize: 25,
      trouble,
    });
    this.#runner = runner;
    const run = async (): Promise<void> => {
      while (!this.#isOver) if (!(await runner.step())) await new Promise((resolve) => setTimeout(resolve, StreamInput.#pauseMs));
    };
    this.#running = run();
    this.#running.catch(() => undefined); // `stop` tells it
  }

  get counts(): EventSourceRunner['counts'] {
    return this.#runner!.counts;
  }

  async send(visits: readonly Visit[]): Promise<void> {
    for (const part of numbersOf(visits, 100)) {
      const records = part.map((visit) => ({ PartitionKey: visit.user, Data: Buffer.from(JSON.stringify(visit)) }));
      const { FailedRecordCount: failed } = await this.#kinesis.send(new PutRecordsCommand({ StreamName: this.name, Records: records }));
      expect(failed).toBe(0);
    }
  }

  /** Its runner does that all the time. */
  upset(visits: readonly Visit[]): Promise<void> {
    return this.send(visits);
  }

  async split(): Promise<void> {
    const [shard] = await this.#openShards();
    const { StartingHashKey: from = '0', EndingHashKey: to = '0' } = shard?.HashKeyRange ?? {};
    const middle = (BigInt(from) + BigInt(to)) / 2n;
    const command = new SplitShardCommand({ StreamName: this.name, ShardToSplit: shard?.ShardId, NewStartingHashKey: String(middle) });
    await this.#kinesis.send(command);
    await this.#settled();
  }

  async merge(): Promise<void> {
    const [first, second] = await this.#openShards();
    const command = new MergeShardsCommand({
      StreamName: this.name,
      ShardToMerge: first?.ShardId,
      AdjacentShardToMerge: second?.ShardId,
    });
    await this.#kinesis.send(command);
    await this.#settled();
  }

  /** By their ranges, so that neighbours are adjacent. */
  async #openShards(): Promise<readonly Shard[]> {
    const { Shards: shards = [] } = await this.#kinesis.send(new ListShardsCommand({ StreamName: this.name }));
    const from = ({ HashKeyRange: range }: Shard): bigint => BigInt(range?.StartingHashKey ?? 0);
    const open = shards.filter(({ SequenceNumberRange: range }) => (range?.EndingSequenceNumber ?? null) === null);
    return open.sort((a, b) => (from(a) < from(b) ? -1 : 1));
  }

  async #settled(): Promise<void> {
    await eventually(`stream ${this.name} is active`, async () => {
      const command = new DescribeStreamSummaryCommand({ StreamName: this.name });
      const { StreamDescriptionSummary: summary } = await this.#kinesis.send(command);
      this.arn = summary?.StreamARN ?? '';
      return summary?.StreamStatus === 'ACTIVE' ? true : undefined;
    });
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }
}
