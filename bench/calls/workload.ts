// workload.ts is what the job of bench:calls does: each record sets the state of its key to 100 random bytes, and nothing is emitted. Keys are drawn
// by Zipf's law, so that a few are in every batch and most come rarely. Records lie in four shards by their key; a shard's record is a function of
// its position, so that a shard can be read again from anywhere.

import type { Source, SplitPosition } from '../../lib/api/source.ts';
import { type Collector, defineJob, dynamoDbSink, type Env, idempotentSink, type Job, keyedProcess, valueState } from '../../lib/index.ts';

export interface CallRecord {
  readonly key: string;
  readonly value: Uint8Array;
}

export interface Workload {
  readonly shards: readonly Shard[];
  readonly keys: number;
}

export interface Shard {
  readonly count: number;
  at(index: number): CallRecord;
}

export interface WorkloadOptions {
  readonly records: number;
  readonly keys: number;
  readonly shards: number;
  readonly valueBytes: number;
}

export const keyName = (rank: number): string => `user-${rank}`;

/** A 32-bit mix of two numbers. */
function mix(a: number, b: number): number {
  let x = (Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35)) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x45d9f3b5);
  x = Math.imul(x ^ (x >>> 13), 0x2c1b3c6d);
  return (x ^ (x >>> 16)) >>> 0;
}

/** A shard gets its share of the records: the one with the most frequent key gets most. */
export function zipfWorkload({ records, keys, shards, valueBytes }: WorkloadOptions): Workload {
  const ranks: number[][] = Array.from({ length: shards }, () => []);
  for (let rank = 1; rank <= keys; rank++) ranks[mix(rank, 7) % shards]?.push(rank);
  const weights = ranks.map((own) => own.reduce((sum, rank) => sum + 1 / rank, 0));
  const all = weights.reduce((a, b) => a + b, 0);
  return {
    keys,
    shards: ranks.map((own, shard) => {
      const upTo = new Float64Array(own.length);
      let sum = 0;
      for (const [i, rank] of own.entries()) upTo[i] = sum += 1 / rank;
      const names = own.map(keyName);
      return {
        count: Math.round((records * (weights[shard] ?? 0)) / all),
        at: (index) => ({
          key: names[firstAbove(upTo, (mix(index, shard) / 2 ** 32) * sum)] as string,
          value: randomBytes(valueBytes, mix(index, shard + 1_000)),
        }),
      };
    }),
  };
}

/** Every key once, in turn. */
export function roundRobinWorkload({ records, keys, shards, valueBytes }: WorkloadOptions): Workload {
  const own = Math.ceil(keys / shards);
  return {
    keys,
    shards: Array.from({ length: shards }, (_, shard) => ({
      count: Math.ceil(records / shards),
      at: (index) => ({ key: keyName((index % own) * shards + shard), value: randomBytes(valueBytes, mix(index, shard)) }),
    })),
  };
}

function firstAbove(upTo: Float64Array, wanted: number): number {
  let low = 0;
  let high = upTo.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((upTo[middle] as number) > wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}

function randomBytes(count: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(count);
  let x = seed | 1;
  for (let i = 0; i < count; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    bytes[i] = x;
  }
  return bytes;
}

/** A stream of shards: it ends nowhere, there is just nothing more. */
export function shardSource({ shards }: Workload): Source<CallRecord> {
  return {
    kind: 'shards',
    isRereadable: true,
    isBounded: false,
    isEager: true,
    enumerate: async () => shards.map((_, shard) => ({ id: `shard-${shard}` })),
    open: (split, from) => {
      const shard = shards[Number(split.id.slice('shard-'.length))] as Shard;
      let index = from?.index ?? 0;
      return {
        poll: (out, max) => {
          const until = Math.min(index + max, shard.count);
          const count = until - index;
          for (; index < until; index++) out.values[out.count++] = shard.at(index);
          return count;
        },
        ready: () => undefined,
        hasEnded: false,
        position: () => positionOf(index),
        close: () => undefined,
      };
    },
  };
}

export const positionOf = (index: number): SplitPosition => ({ index, at: index });

const lastValue = keyedProcess({
  state: { last: valueState<Uint8Array>() },
  processElement(record: CallRecord, ctx) {
    ctx.state.last.update(record.value);
  },
});

const lastValueAsRow = keyedProcess({
  state: { last: valueState<Uint8Array>() },
  processElement(record: CallRecord, ctx, out: Collector<CallRecord>) {
    ctx.state.last.update(record.value);
    out.collect(record);
  },
});

export interface CallsJobOptions {
  readonly stages: 1 | 2;
  readonly checkpointSeconds: number;
  /** Each record is also a row of the table that `rows` is bound to. */
  readonly writesRows?: boolean | undefined;
}

export function callsJob(workload: Workload, o: CallsJobOptions): Job {
  const keyOf = (record: CallRecord): string => record.key;
  return defineJob('calls', (env: Env) => {
    env.setParallelism(workload.shards.length);
    env.enableCheckpointing(`${o.checkpointSeconds} s`);
    const keyed = env.fromSource(shardSource(workload), { uid: 'in', ...(o.stages === 1 ? { partitionedBy: keyOf } : {}) }).keyBy(keyOf);
    if (o.writesRows === true)
      keyed
        .process(lastValueAsRow)
        .uid('last')
        .sinkTo(dynamoDbSink('rows', { key: 'key', isKeyed: true }), { uid: 'out' });
    else
      keyed
        .process(lastValue)
        .uid('last')
        .sinkTo(idempotentSink({ write: () => undefined }), { uid: 'out' });
  });
}
