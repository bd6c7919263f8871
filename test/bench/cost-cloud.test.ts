// What answers in the place of AWS in `npm run bench:cost` passes the suites of the ports, under the adapters and clients that a deployed job has.

import { Meter } from '../../bench/calls/meter.ts';
import { Cloud } from '../../bench/cost/counting.ts';
import { openAwsPorts } from '../../lib/adapters/aws/aws-ports.ts';
import { createClients } from '../../lib/adapters/aws/clients.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { allSuites } from '../conformance/invocation/all-suites.ts';

allSuites('the stand-in for AWS', async () => {
  let now = 1_000_000;
  const cloud = new Cloud({ now: () => now, table: 'job', isEmulated: false });
  const clients = createClients();
  cloud.count(clients, new Meter());
  const options = { table: 'job', bucket: 'job', queues: { '': 'https://queue/1.fifo' }, clients };
  return {
    ports: openAwsPorts({ ...options, random: seededRandom(1) }),
    elsewhere: openAwsPorts({ ...options, random: seededRandom(2) }),
    visibilityMs: 45_000,
    dedupMs: 300_000,
    elapse: async (ms) => {
      now += ms;
    },
  };
});
