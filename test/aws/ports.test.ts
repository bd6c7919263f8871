// The AWS adapters pass the suites of their ports, over the real clients and real HTTP.
import { describe, test } from 'vitest';
import { openAwsPorts } from '../../lib/adapters/aws/aws-ports.ts';
import {
  changelogSuite,
  exchangeSuite,
  jobItemsSuite,
  type MakePorts,
  objectStoreSuite,
  stateTableSuite,
} from '../../lib/testing/index.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { queueMemorySeconds } from './emulator-setup.ts';
import { createPlace, emulatorClients } from './place.ts';

const visibilitySeconds = 2;

const make: MakePorts = async () => {
  const clients = emulatorClients();
  const { table, bucket, queue } = await createPlace(clients, { visibilitySeconds });
  const options = { table, bucket, queues: { '': queue }, clients };
  return {
    ports: openAwsPorts({ ...options, random: seededRandom(1) }),
    elsewhere: openAwsPorts({ ...options, random: seededRandom(2) }),
    visibilityMs: visibilitySeconds * 1_000,
    dedupMs: queueMemorySeconds * 1_000,
    // A service has its own clock: to live longer takes as long.
    elapse: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
};

for (const suite of [changelogSuite, stateTableSuite, jobItemsSuite, objectStoreSuite, exchangeSuite])
  suite('AWS', { describe, test }, make);
