// beside-emulator.ts runs a small job twice: over the stand-in, and over an emulator of AWS that is asked the same commands by HTTP. What is counted
// has to be the same, and so has each answer of the table and of the bucket.

import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { CreateQueueCommand } from '@aws-sdk/client-sqs';
import { createClients } from '../../lib/adapters/aws/clients.ts';
import { type Counts, type Kind, kinds, plus, requestsOf } from '../calls/meter.ts';
import { measureSteady, type SteadyOptions } from '../calls/steady.ts';
import { awsStores, type Place, requestMs } from './aws-stores.ts';
import type { Cloud } from './counting.ts';

export interface Beside {
  readonly requests: number;
  readonly differences: readonly string[];
  readonly unequal: readonly string[];
}

/** A ring that goes round, keys that come back, checkpoints, an exchange, rows: a little of everything. */
const runs: readonly Pick<SteadyOptions, 'stages' | 'batch' | 'placement' | 'writesRows' | 'messagesPerEvent'>[] = [
  { stages: 1, batch: 25, placement: 'random', writesRows: true },
  { stages: 2, batch: 50, placement: 'affinity', messagesPerEvent: 1 },
];
const size = { records: 1_200, keys: 100, ringSlots: 16, secondsPerCheckpoint: 3 };

/** How many messages a queue hands out at once is its own affair, so it is asked for one; that it has no more is told by asking again. */
const comparedKinds: readonly Kind[] = kinds.filter((kind) => kind !== 'receive' && kind !== 'settle');

/** @param endpoint  of the emulator, whose credentials are in the environment */
export async function besideEmulator(endpoint: string): Promise<Beside> {
  let requests = 0;
  const differences: string[] = [];
  const unequal: string[] = [];
  for (const [i, run] of runs.entries()) {
    const place = await createPlace(endpoint, `cost-${process.pid}-${i}`);
    const clouds: Cloud[] = [];
    const counted: Counts[] = [];
    // The job's record holds the table's name, so both have one.
    for (const where of [place, { ...place, endpoint }]) {
      const stores = awsStores(where, (cloud) => clouds.push(cloud));
      const { units, coordinator } = await measureSteady({ ...size, ...run, stores });
      counted.push(plus(units, coordinator));
    }
    const [stand, emulated] = counted as [Counts, Counts];
    requests += requestsOf(emulated);
    differences.push(...clouds.flatMap((cloud) => cloud.differences));
    unequal.push(...unequalCounts(stand, emulated, comparedKinds));
  }
  return { requests, differences, unequal };
}

/** Kinds of requests whose counts differ. */
function unequalCounts(a: Counts, b: Counts, of: readonly Kind[]): readonly string[] {
  const isEqual = (kind: Kind): boolean => JSON.stringify(a[kind]) === JSON.stringify(b[kind]);
  return of.filter((kind) => !isEqual(kind)).map((kind) => `${kind}: ${JSON.stringify(a[kind])} and ${JSON.stringify(b[kind])}`);
}

async function createPlace(endpoint: string, name: string): Promise<Place> {
  const { dynamodb, s3, sqs } = createClients({ endpoint, requestMs });
  await dynamodb.send(tableOf(`${name}-job`, ['p', 's']));
  await dynamodb.send(tableOf(`${name}-rows`, ['key']));
  await s3.send(new CreateBucketCommand({ Bucket: name }));
  const { QueueUrl: queue = '' } = await sqs.send(
    new CreateQueueCommand({ QueueName: `${name}.fifo`, Attributes: { FifoQueue: 'true', VisibilityTimeout: '45' } }),
  );
  return { table: `${name}-job`, bucket: name, queues: { 1: queue }, rows: `${name}-rows` };
}

function tableOf(name: string, key: readonly string[]): CreateTableCommand {
  return new CreateTableCommand({
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: key.map((one, i) => ({ AttributeName: one, KeyType: i === 0 ? 'HASH' : 'RANGE' })),
    AttributeDefinitions: key.map((one) => ({ AttributeName: one, AttributeType: 'S' })),
  });
}
