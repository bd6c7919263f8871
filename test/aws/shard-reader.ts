// Hands out what a stream holds, as a mapping does: a shard's records in order, and none behind one that is not settled. It is one for all who read, since
// a stream knows no receivers; what it hands out comes again when its time is over.
import { GetRecordsCommand, GetShardIteratorCommand, type KinesisClient, ListShardsCommand } from '@aws-sdk/client-kinesis';
import { KinesisExchange } from '../../lib/adapters/aws/kinesis-exchange.ts';
import type { Delivery, Exchange } from '../../lib/invocation/ports.ts';
import { checkReceive } from '../../lib/invocation/request-limits.ts';

interface HandedOut {
  readonly group: string;
  readonly bytes: Uint8Array;
  readonly sequence: string;
  receipt: string;
  receives: number;
  visibleAtMs: number;
  isSettled: boolean;
}

export class ShardReader {
  readonly #client: KinesisClient;
  readonly #arn: string;
  readonly #visibilityMs: number;
  readonly #shards = new Map<string, HandedOut[]>();
  #receipts = 0;

  constructor(client: KinesisClient, arn: string, visibilityMs: number) {
    this.#client = client;
    this.#arn = arn;
    this.#visibilityMs = visibilityMs;
  }

  async receive({ max }: { readonly max: number }): Promise<readonly Delivery[]> {
    checkReceive(max);
    await this.#read();
    const now = Date.now();
    const ready = [...this.#shards.values()].map((records) => {
      const open = records.filter(({ isSettled }) => !isSettled);
      const blocked = open.findIndex(({ visibleAtMs }) => visibleAtMs > now);
      return blocked === -1 ? open : open.slice(0, blocked);
    });
    // A shard whose next record became visible first comes first, so that one that fails again and again lets others through.
    const byShard = ready.toSorted(([a], [b]) => (a?.visibleAtMs ?? 0) - (b?.visibleAtMs ?? 0));
    const next = byShard.flat().slice(0, max);
    return next.map((record) => {
      Object.assign(record, { receipt: `r${++this.#receipts}`, receives: record.receives + 1, visibleAtMs: now + this.#visibilityMs });
      const { group, bytes, receipt, receives } = record;
      return { group, bytes, receipt, receives };
    });
  }

  async settle(receipts: readonly string[]): Promise<void> {
    for (const record of this.#of(receipts)) record.isSettled = true;
  }

  async release({ receipts, delayMs }: Parameters<Exchange['release']>[0]): Promise<void> {
    for (const record of this.#of(receipts)) record.visibleAtMs = Date.now() + delayMs;
  }

  #of(receipts: readonly string[]): readonly HandedOut[] {
    return [...this.#shards.values()].flat().filter(({ receipt }) => receipt !== '' && receipts.includes(receipt));
  }

  async #read(): Promise<void> {
    const { Shards: shards = [] } = await this.#client.send(new ListShardsCommand({ StreamARN: this.#arn }));
    for (const { ShardId: id = '' } of shards) {
      const known = this.#shards.get(id) ?? [];
      this.#shards.set(id, known);
      const last = known.at(-1)?.sequence;
      const from =
        last === undefined
          ? { ShardIteratorType: 'TRIM_HORIZON' as const }
          : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER' as const, StartingSequenceNumber: last };
      const place = await this.#client.send(new GetShardIteratorCommand({ StreamARN: this.#arn, ShardId: id, ...from }));
      const { Records: records = [] } = await this.#client.send(
        new GetRecordsCommand({ StreamARN: this.#arn, ShardIterator: place.ShardIterator }),
      );
      for (const { PartitionKey: group = '', Data: bytes = new Uint8Array(), SequenceNumber: sequence = '' } of records) {
        known.push({ group, bytes, sequence, receipt: '', receives: 0, visibleAtMs: 0, isSettled: false });
      }
    }
  }
}

/** The exchange with its stream, and who hands out what it holds. */
export function readExchange(client: KinesisClient, arn: string, reader: ShardReader): Exchange {
  const sender = new KinesisExchange(client, { '': { stream: arn, targets: 4 } });
  return {
    send: (messages) => sender.send(messages),
    receive: (p) => reader.receive(p),
    settle: (receipts) => reader.settle(receipts),
    release: (p) => reader.release(p),
  };
}
