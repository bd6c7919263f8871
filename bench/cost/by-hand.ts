// by-hand.ts does the same job as people write it without us: a handler that gets the same events and keeps the last value of each key in a table, on
// the condition that what is there is older. Real commands of the SDK, counted like ours.
//   a  one conditional update for each record
//   b  the same, each record under the idempotency of Powertools: a conditional put before it, and an update that notes its end
//   c  one conditional update for each key of a batch

import { type DynamoDBClient, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { createClients } from '../../lib/adapters/aws/clients.ts';
import { Meter } from '../calls/meter.ts';
import type { CallRecord, Workload } from '../calls/workload.ts';
import { Cloud } from './counting.ts';
import { cpuMs, type FunctionUse, latencyMs } from './functions.ts';

export const ways = {
  a: 'one conditional update a record',
  b: 'the same with the idempotency of Powertools',
  c: 'one conditional update a key and batch',
} as const;
export type Way = keyof typeof ways;

export interface ByHand {
  readonly way: Way;
  readonly batch: number;
  readonly records: number;
  readonly requests: number;
  readonly writeUnits: number;
  readonly use: FunctionUse;
}

/** What the SDK opens to one host by default. */
const socketsMax = 50;
const idempotencyDaySeconds = 86_400;

export async function runByHand(way: Way, batch: number, workload: Workload): Promise<ByHand> {
  const meter = new Meter();
  const cloud = new Cloud({ now: () => 0, table: 'job', isEmulated: false });
  cloud.tables.create('rows', ['key']);
  cloud.tables.create('idempotency', ['id']);
  const clients = createClients();
  cloud.count(clients, meter);
  let [calls, ms, records] = [0, 0, 0];
  for (const [shard, source] of workload.shards.entries()) {
    for (let from = 0; from < source.count; from += batch) {
      const event = Array.from({ length: Math.min(batch, source.count - from) }, (_, i) => source.at(from + i));
      const chains = chainsOf(way, event, `${shard}`, from);
      for (const chain of chains) for (const request of chain) await request(clients.dynamodb);
      calls++;
      records += event.length;
      ms += callMs(chains, event.length);
    }
    // A marker lives for an hour or a day and is never asked for again; here it would only fill the memory.
    cloud.tables.create('idempotency', ['id']);
  }
  const { requests, writeUnits } = meter.counts['row write'];
  const use = { calls: { records: calls, messages: 0, control: 0, pulse: 0 }, gbSeconds: ms / 1_000 };
  return { way, batch, records, requests, writeUnits, use };
}

type Request = (client: DynamoDBClient) => Promise<unknown>;

/** What has to happen one after the other: the updates of a key. Different keys are updated side by side. */
function chainsOf(way: Way, event: readonly CallRecord[], shard: string, from: number): readonly (readonly Request[])[] {
  const byKey = Map.groupBy(
    event.map((record, i) => ({ record, position: from + i })),
    ({ record }) => record.key,
  );
  return [...byKey.values()].map((own) => {
    const last = own.at(-1) as (typeof own)[number];
    if (way === 'c') return [update(last.record, last.position)];
    return own.flatMap(({ record, position }) => {
      if (way === 'a') return [update(record, position)];
      const id = `handler#${`${shard}-${position}`.padStart(32, '0')}`; // as long as a digest
      return [begun(id), update(record, position), finished(id)];
    });
  });
}

function callMs(chains: readonly (readonly Request[])[], records: number): number {
  const requests = chains.reduce((sum, chain) => sum + chain.length, 0);
  const rounds = Math.max(...chains.map((chain) => chain.length), Math.ceil(requests / socketsMax));
  return cpuMs.call + records * cpuMs.record + requests * cpuMs.request + rounds * latencyMs.table;
}

function update({ key, value }: CallRecord, position: number): Request {
  const command = new UpdateItemCommand({
    TableName: 'rows',
    Key: { key: { S: key } },
    UpdateExpression: 'SET v = :v, n = :n',
    ConditionExpression: 'attribute_not_exists(n) OR n < :n',
    ExpressionAttributeValues: { ':v': { B: value }, ':n': { N: String(position) } },
  });
  return (client) => client.send(command);
}

function begun(id: string): Request {
  const command = new PutItemCommand({
    TableName: 'idempotency',
    Item: {
      id: { S: id },
      expiration: { N: String(1_700_000_000 + idempotencyDaySeconds) },
      in_progress_expiration: { N: '1700000030000' },
      status: { S: 'INPROGRESS' },
    },
    ConditionExpression: 'attribute_not_exists(id) OR expiration < :now',
    ExpressionAttributeValues: { ':now': { N: '1700000000' } },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  return (client) => client.send(command);
}

function finished(id: string): Request {
  const command = new UpdateItemCommand({
    TableName: 'idempotency',
    Key: { id: { S: id } },
    UpdateExpression: 'SET #data = :data, #expiration = :expiration, #status = :status',
    ExpressionAttributeNames: { '#data': 'data', '#expiration': 'expiration', '#status': 'status' },
    ExpressionAttributeValues: {
      ':data': { S: 'true' },
      ':expiration': { N: String(1_700_000_000 + idempotencyDaySeconds) },
      ':status': { S: 'COMPLETED' },
    },
  });
  return (client) => client.send(command);
}
