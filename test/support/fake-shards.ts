// The stream in front of a stage, as strict as Kinesis may be: a request is accepted in parts, what is put in quick succession may lie the other way
// round, nobody can take a record out, and a shard that is split or merged leaves its records behind for whoever comes to read them.
import { hashKeyOf } from '../../lib/adapters/aws/kinesis-exchange.ts';
import { sendInOrder } from '../../lib/adapters/aws/send-in-order.ts';
import type { StreamTarget } from '../../lib/api/targets.ts';
import type { KinesisEvent } from '../../lib/aws/kinesis-event.ts';
import type { OutgoingMessage } from '../../lib/invocation/ports.ts';
import { checkMessages } from '../../lib/invocation/request-limits.ts';

interface ShardRecord {
  readonly key: string;
  readonly data: Uint8Array;
}

export interface FakeShard {
  readonly id: string;
  /** Parts of all hash keys that are its own: from `from` of `of` on, one. */
  readonly at: number;
  readonly of: number;
  readonly records: (ShardRecord | undefined)[];
  /** How many its mapping has come past. */
  position: number;
  /** How many were ever handed out, or looked at: their order is settled. */
  seen: number;
  isClosed: boolean;
}

export interface FakeShardsOptions {
  readonly stage: number;
  readonly targets: number;
  readonly shards: number;
  /** How many of those before it a record comes in front of, of those that nobody has seen. */
  readonly overtakes?: () => number;
  /** Whether a record of a request is not accepted. */
  readonly isLeft?: () => boolean;
}

const firstNumber = 49_590_338_271_490_256_608_559_692_538_361_571_095n;
const hashKeys = 2n ** 128n;

export class FakeShards {
  readonly all: FakeShard[] = [];
  /** Records that others came in front of, that were not accepted, and looks ahead. */
  readonly counts = { overtaken: 0, left: 0, ahead: 0 };
  readonly #o: FakeShardsOptions;

  constructor(o: FakeShardsOptions) {
    this.#o = o;
    this.reshard(o.shards);
  }

  /** From now on so many. */
  reshard(shards: number): void {
    for (const shard of this.all) shard.isClosed = true;
    for (let at = 0; at < shards; at++) {
      const id = `shardId-${String(this.all.length).padStart(12, '0')}`;
      this.all.push({ id, at, of: shards, records: [], position: 0, seen: 0, isClosed: false });
    }
  }

  async send(messages: readonly OutgoingMessage[]): Promise<{ readonly left: readonly number[] }> {
    checkMessages(messages);
    return await sendInOrder(messages, async (indexes) => {
      const left = indexes.filter(() => this.#o.isLeft?.() === true);
      this.counts.left += left.length;
      for (const i of indexes) if (!left.includes(i)) this.put({ key: messages[i]!.group, data: messages[i]!.bytes });
      return left;
    });
  }

  put(record: ShardRecord): void {
    const { targets, overtakes } = this.#o;
    const hash = BigInt(hashKeyOf(record.key, targets) ?? 0);
    const shard = this.all.find(({ isClosed, at, of }) => !isClosed && (hash * BigInt(of)) / hashKeys === BigInt(at))!;
    const { records, seen } = shard;
    const overtaken = Math.min(overtakes?.() ?? 0, records.length - seen);
    if (overtaken > 0) this.counts.overtaken++;
    records.splice(records.length - overtaken, 0, record);
  }

  /** The next records of a shard, as its mapping hands them out. @returns `undefined`: there are none */
  event(shard: FakeShard, batch: number): KinesisEvent | undefined {
    const end = Math.min(shard.position + batch, shard.records.length);
    shard.seen = Math.max(shard.seen, end);
    const records = shard.records.slice(shard.position, end).flatMap((record, i) => {
      if (record === undefined) return []; // it was kept for too long
      const number = numberOf(shard.position + i);
      const data = Buffer.from(record.data).toString('base64');
      const common = { eventSource: 'aws:kinesis', eventSourceARN: `arn:aws:kinesis:us-east-1:123456789012:stream/${this.#o.stage}` };
      return [{ ...common, eventID: `${shard.id}:${number}`, kinesis: { data, partitionKey: record.key, sequenceNumber: number } }];
    });
    if (records.length > 0) return { Records: records };
    shard.position = end;
    return undefined;
  }

  /** Moves a mapping to what an answer names, or to behind the event. */
  taken(shard: FakeShard, event: KinesisEvent, failed: string | undefined): void {
    shard.position = failed === undefined ? placeOf(event.Records.at(-1)!.kinesis.sequenceNumber) + 1 : placeOf(failed);
  }

  /** For who looks ahead. */
  get target(): StreamTarget {
    const none = (): Promise<never> => Promise.reject(new Error('nobody asks that of an exchange'));
    return {
      shards: none,
      append: none,
      begin: async (shard, at) => `${shard} ${at === undefined ? 0 : placeOf(at)}`,
      read: async (cursor, recordsMax) => {
        this.counts.ahead++;
        const [id, from] = cursor.split(' ');
        const shard = this.all.find((one) => one.id === id)!;
        const start = Number(from);
        const end = Math.min(start + recordsMax, shard.records.length);
        shard.seen = Math.max(shard.seen, end);
        const records = shard.records.slice(start, end).flatMap((record, i) => {
          return record === undefined ? [] : [{ sequence: numberOf(start + i), data: record.data }];
        });
        return { records, next: shard.isClosed && end === shard.records.length ? undefined : `${id} ${end}` };
      },
    };
  }
}

function numberOf(place: number): string {
  return String(firstNumber + BigInt(place));
}

function placeOf(number: string): number {
  return Number(BigInt(number) - firstNumber);
}
