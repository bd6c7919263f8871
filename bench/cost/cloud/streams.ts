// streams.ts answers requests to Kinesis: records in shards, and what mappings hand out of them.
//   W1  A shard is found by the explicit hash key, as the service does for shards that share all keys evenly.
//   W2  A mapping reads shard by shard, waits for a second's records, and its requests cost nothing, so that they are not counted.

import type { PutRecordsCommandInput } from '@aws-sdk/client-kinesis';
import { exchangeStreamBatch } from '../../../lib/cdk/defaults.ts';
import type { Delivery, Exchange } from '../../../lib/invocation/ports.ts';
import { putUnits } from './sizes.ts';

export interface StreamAnswer {
  readonly output: Readonly<Record<string, unknown>>;
  readonly items: number;
  readonly bytes: number;
  readonly putUnits: number;
}

interface Held {
  readonly group: string;
  readonly bytes: Uint8Array;
}

const hashKeys = 2n ** 128n;

export class Streams {
  readonly #shards: Held[][];
  #accepted = 0;

  /** @param shards  of all that is put, whatever the stream's name: a job here has one exchange */
  constructor(shards: number) {
    this.#shards = Array.from({ length: shards }, () => []);
  }

  execute(command: string, input: object): StreamAnswer {
    if (command !== 'PutRecords') throw new Error(`the stand-in of the stream does not know ${command}`);
    const { Records: records = [] } = input as PutRecordsCommandInput;
    let [bytes, units] = [0, 0];
    const accepted = records.map(({ Data: data = new Uint8Array(0), PartitionKey: group = '', ExplicitHashKey: key = '' }) => {
      const shard = Number((BigInt(key) * BigInt(this.#shards.length)) / hashKeys);
      this.#shards[shard]?.push({ group, bytes: data });
      bytes += data.length;
      units += putUnits(data.length + Buffer.byteLength(group));
      return { ShardId: `shardId-${shard}`, SequenceNumber: String(++this.#accepted) };
    });
    return { output: { FailedRecordCount: 0, Records: accepted }, items: records.length, bytes, putUnits: units };
  }

  /** What its mappings take: an event is of one shard. */
  mapped(sender: Exchange): Exchange {
    return {
      send: (messages) => sender.send(messages),
      receive: ({ max }) => Promise.resolve(this.#next(Math.max(max, exchangeStreamBatch))),
      settle: (receipts) => Promise.resolve(this.#take(receipts)),
      release: () => Promise.resolve(),
    };
  }

  #next(max: number): readonly Delivery[] {
    const shard = this.#shards.findIndex((held) => held.length > 0);
    return (this.#shards[shard] ?? []).slice(0, max).map((held) => ({ ...held, receipt: String(shard), receives: 1 }));
  }

  #take(receipts: readonly string[]): void {
    const [shard] = receipts;
    this.#shards[Number(shard)]?.splice(0, receipts.length);
  }
}
