// The AWS adapters pass the suites of their ports, over the real clients and real HTTP: once against the emulator as it is, and once, behind
// patience, against one that throttles, conflicts, leaves parts and gives short pages.
import { CreateStreamCommand, DeleteStreamCommand, DescribeStreamSummaryCommand, KinesisClient } from '@aws-sdk/client-kinesis';
import { describe, expect, inject, test } from 'vitest';
import { openAwsPorts } from '../../lib/adapters/aws/aws-ports.ts';
import { type AwsClients, clientSettings } from '../../lib/adapters/aws/clients.ts';
import type { Clock } from '../../lib/core/ports.ts';
import { patient } from '../../lib/invocation/patience.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import { FakeService, fakePorts, type PortsUnderTest, streamExchangeSuite } from '../../lib/testing/index.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { allSuites } from '../conformance/invocation/all-suites.ts';
import { queueMemorySeconds } from './emulator-setup.ts';
import { createPlace, emulatorClients } from './place.ts';
import { readExchange, ShardReader } from './shard-reader.ts';
import { everything, type Happened, makeStrict } from './strict-middleware.ts';

const visibilitySeconds = 2;

async function world(clients: AwsClients, wrap: (ports: InvocationPorts) => InvocationPorts): Promise<PortsUnderTest> {
  const { table, bucket, queue } = await createPlace(emulatorClients(), { visibilitySeconds });
  const options = { table, bucket, queues: { '': queue }, clients };
  return {
    ports: wrap(openAwsPorts({ ...options, random: seededRandom(1) })),
    elsewhere: wrap(openAwsPorts({ ...options, random: seededRandom(2) })),
    visibilityMs: visibilitySeconds * 1_000,
    dedupMs: queueMemorySeconds * 1_000,
    // A service has its own clock: to live longer takes as long.
    elapse: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}

allSuites('AWS', () => world(emulatorClients(), (ports) => ports));

const streamNames = { count: 0 };

/** The exchange over a stream of two shards; the rest of the world is of no matter to its suite. */
async function streamWorld(client: KinesisClient, wrap: (ports: InvocationPorts) => InvocationPorts): Promise<PortsUnderTest> {
  const reading = streamsOf();
  const name = `exchange-${process.pid}-${++streamNames.count}`;
  await reading.send(new CreateStreamCommand({ StreamName: name, ShardCount: 2 }));
  const { StreamDescriptionSummary: summary } = await reading.send(new DescribeStreamSummaryCommand({ StreamName: name }));
  const arn = summary?.StreamARN ?? '';
  const reader = new ShardReader(reading, arn, visibilitySeconds * 1_000);
  const portsOf = (): InvocationPorts => wrap({ ...fakePorts(new FakeService()), exchange: readExchange(client, arn, reader) });
  return {
    ...{ ports: portsOf(), elsewhere: portsOf(), visibilityMs: visibilitySeconds * 1_000, dedupMs: 0 },
    elapse: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    cleanUp: async () => void (await reading.send(new DeleteStreamCommand({ StreamName: name }))),
  };
}

function streamsOf(): KinesisClient {
  const { endpoint, variables } = inject('emulator');
  Object.assign(process.env, variables);
  return new KinesisClient(clientSettings({ endpoint }));
}

streamExchangeSuite('Kinesis', { describe, test }, () => streamWorld(streamsOf(), (ports) => ports));

const happened: Happened = new Map();
const impatientClock: Clock = { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
let seed = 0;

allSuites('AWS that throttles, conflicts and leaves parts, behind patience', () => {
  const clients = emulatorClients();
  makeStrict(clients, seededRandom(++seed), happened);
  return world(clients, (ports) => patient(ports, { clock: impatientClock, random: seededRandom(seed), triesMax: 100 }));
});

streamExchangeSuite('Kinesis that throttles and accepts parts, behind patience', { describe, test }, () => {
  const kinesis = streamsOf();
  makeStrict({ ...emulatorClients(), kinesis }, seededRandom(++seed), happened);
  return streamWorld(kinesis, (ports) => patient(ports, { clock: impatientClock, random: seededRandom(seed), triesMax: 100 }));
});

describe('the strict middleware', () => {
  test('did each of the things that it does', () => {
    expect([...happened.keys()].sort()).toEqual([...new Set(everything)].sort());
  });
});
