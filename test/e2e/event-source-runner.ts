// Reads a Kinesis stream and calls a function with its records, as an event source mapping of AWS does. The emulator's own mapping counts a batch
// as done whatever the answer says, and reads the children of a split shard from their end, so that it would lose records; this one keeps to what
// the service's guide says:
//   M1  One batch of a shard at a time, in order. A shard's child is read when its parent is read to its end.
//   M2  A function that throws, or answers something that names no record of the batch, gets the same batch again, halved when it has more than one
//       record. `batchItemFailures` moves the position to the lowest number that it names, and everything from there comes again.
//   M3  A mapping that is switched off hands out nothing, and goes on where it was.
//   M4  At least once: with `trouble`, a batch is handed out a second time, or to two calls at once, whatever the first one answered.

import {
  DescribeStreamSummaryCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type KinesisClient,
  ListShardsCommand,
  type Shard,
  type _Record as StreamRecord,
} from '@aws-sdk/client-kinesis';
import { GetEventSourceMappingCommand, InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';

export interface EventSourceOptions {
  readonly kinesis: KinesisClient;
  readonly lambda: LambdaClient;
  readonly stream: string;
  readonly functionName: string;
  /** Its UUID: whether it is switched on. */
  readonly mapping: string;
  readonly batchSize: number;
  /** Chance of what an event source may do and a happy test never sees; nothing when absent. */
  readonly trouble?: { readonly random: () => number; readonly again: number; readonly overlap: number };
}

export interface EventSourceCounts {
  calls: number;
  /** Calls that failed, or answered with a record to be handed out again. */
  failed: number;
  again: number;
  overlapping: number;
  shardsEnded: number;
}

interface KinesisEvent {
  readonly Records: readonly Readonly<Record<string, unknown>>[];
}

type Outcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'from'; readonly index: number }
  | { readonly kind: 'failed'; readonly what: string };

/** Pure: what an answer means for a batch. */
export function outcomeOf(numbers: readonly string[], answer: unknown): Outcome {
  const failures = (answer as { readonly batchItemFailures?: readonly { readonly itemIdentifier?: unknown }[] } | null)?.batchItemFailures;
  if (failures === undefined || failures.length === 0) return { kind: 'taken' };
  const places = failures.map(({ itemIdentifier }) => numbers.indexOf(String(itemIdentifier)));
  if (places.includes(-1)) return { kind: 'failed', what: `names a record that is not in the batch: ${JSON.stringify(failures)}` };
  return { kind: 'from', index: Math.min(...places) };
}

export class EventSourceRunner {
  readonly #o: EventSourceOptions;
  /** Number of the last record that was taken, by shard. */
  readonly #positions = new Map<string, string>();
  readonly #ended = new Set<string>();
  readonly counts: EventSourceCounts = { calls: 0, failed: 0, again: 0, overlapping: 0, shardsEnded: 0 };
  /** What the last failed call said. */
  lastFailure = '';
  #arn = '';

  constructor(o: EventSourceOptions) {
    this.#o = o;
  }

  /**
   * One batch of each shard that has some.
   * @returns whether anything was handed out
   */
  async step(): Promise<boolean> {
    const { kinesis, stream, lambda, mapping } = this.#o;
    const { State: state } = await lambda.send(new GetEventSourceMappingCommand({ UUID: mapping }));
    if (state !== 'Enabled') return false;
    if (this.#arn === '') {
      const { StreamDescriptionSummary: summary } = await kinesis.send(new DescribeStreamSummaryCommand({ StreamName: stream }));
      this.#arn = summary?.StreamARN ?? '';
    }
    const { Shards: shards = [] } = await kinesis.send(new ListShardsCommand({ StreamName: stream }));
    const listed = new Set(shards.map(({ ShardId }) => ShardId));
    const isReadable = (shard: Shard): boolean => {
      const parents = [shard.ParentShardId, shard.AdjacentParentShardId].filter((id): id is string => id !== undefined && listed.has(id));
      return !this.#ended.has(shard.ShardId ?? '') && parents.every((id) => this.#ended.has(id));
    };
    const moved = await Promise.all(shards.filter(isReadable).map(({ ShardId }) => this.#stepShard(ShardId ?? '')));
    return moved.includes(true);
  }

  async #stepShard(shard: string): Promise<boolean> {
    const { kinesis, stream, batchSize } = this.#o;
    const after = this.#positions.get(shard);
    const { ShardIterator: iterator } = await kinesis.send(
      new GetShardIteratorCommand({
        StreamName: stream,
        ShardId: shard,
        ...(after === undefined
          ? { ShardIteratorType: 'TRIM_HORIZON' }
          : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', StartingSequenceNumber: after }),
      }),
    );
    const { Records: records = [], NextShardIterator: next } = await kinesis.send(
      new GetRecordsCommand({ ShardIterator: iterator, Limit: batchSize }),
    );
    if (records.length > 0) return await this.#handOut(shard, records);
    if (next === undefined || next === null) {
      this.#ended.add(shard);
      this.counts.shardsEnded++;
    }
    return false;
  }

  async #handOut(shard: string, records: readonly StreamRecord[]): Promise<boolean> {
    const { trouble } = this.#o;
    const numbers = records.map(({ SequenceNumber }) => SequenceNumber ?? '');
    const event = this.#eventOf(shard, records);
    const overlaps = trouble !== undefined && trouble.random() < trouble.overlap;
    if (overlaps) this.counts.overlapping++;
    const [outcome] = await Promise.all([this.#call(event, numbers), overlaps ? this.#call(event, numbers) : undefined]);
    if (outcome.kind === 'failed') {
      if (records.length === 1) return true; // the same one again
      return await this.#handOut(shard, records.slice(0, Math.ceil(records.length / 2)));
    }
    if (trouble !== undefined && trouble.random() < trouble.again) {
      this.counts.again++;
      return true;
    }
    const taken = outcome.kind === 'taken' ? numbers.length : outcome.index;
    if (taken > 0) this.#positions.set(shard, numbers[taken - 1] as string);
    return true;
  }

  async #call(event: KinesisEvent, numbers: readonly string[]): Promise<Outcome> {
    this.counts.calls++;
    const { lambda, functionName } = this.#o;
    const { FunctionError: failed, Payload: payload } = await lambda.send(
      new InvokeCommand({ FunctionName: functionName, Payload: Buffer.from(JSON.stringify(event)) }),
    );
    const text = Buffer.from(payload ?? []).toString('utf8');
    const outcome: Outcome =
      failed === undefined ? outcomeOf(numbers, text === '' ? undefined : JSON.parse(text)) : { kind: 'failed', what: text };
    if (outcome.kind !== 'taken') this.counts.failed++;
    if (outcome.kind === 'failed') this.lastFailure = outcome.what;
    return outcome;
  }

  #eventOf(shard: string, records: readonly StreamRecord[]): KinesisEvent {
    return {
      Records: records.map((r) => ({
        eventSource: 'aws:kinesis',
        eventVersion: '1.0',
        eventID: `${shard}:${r.SequenceNumber}`,
        eventName: 'aws:kinesis:record',
        awsRegion: 'us-east-1',
        eventSourceARN: this.#arn,
        kinesis: {
          kinesisSchemaVersion: '1.0',
          partitionKey: r.PartitionKey,
          sequenceNumber: r.SequenceNumber,
          data: Buffer.from(r.Data ?? []).toString('base64'),
          approximateArrivalTimestamp: (r.ApproximateArrivalTimestamp?.getTime() ?? 0) / 1_000,
        },
      })),
    };
  }
}
