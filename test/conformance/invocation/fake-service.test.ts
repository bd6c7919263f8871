// The strict fake passes the suites of its ports: calm, at its nastiest, and behind patience while it throttles.

import { SluiceError } from '../../../lib/core/errors.ts';
import type { Clock } from '../../../lib/core/ports.ts';
import { patient } from '../../../lib/invocation/patience.ts';
import { type FakeCall, FakeService, fakePorts, type PortsUnderTest, promptCall, seededRandom } from '../../../lib/testing/index.ts';
import { allSuites } from './all-suites.ts';

const visibilityMs = 2_000;
const dedupMs = 20_000;

function world(service: FakeService, elapse: (ms: number) => void, call?: FakeCall): PortsUnderTest {
  return {
    ports: fakePorts(service, call),
    elsewhere: fakePorts(service, call),
    visibilityMs,
    dedupMs,
    elapse: async (ms) => elapse(ms),
  };
}

function calm(): { readonly service: FakeService; readonly elapse: (ms: number) => void; readonly clock: Clock } {
  let now = 1_000_000;
  const elapse = (ms: number): void => {
    now += ms;
  };
  const clock: Clock = { now: () => now, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
  return { service: new FakeService({ now: () => now, visibilityMs: () => visibilityMs, dedupMs }), elapse, clock };
}

allSuites('strict fake', async () => {
  const { service, elapse } = calm();
  return world(service, elapse);
});

let seed = 0;
allSuites('strict fake that leaves parts of batches and gives small pages', async () => {
  const { service, elapse } = calm();
  const random = seededRandom(++seed);
  service.hooks.leave = (count) => Array.from({ length: count }, (_, i) => i).filter(() => random.chance(0.4));
  service.hooks.pageBytes = 10;
  service.hooks.groups = (names) => random.shuffled(names);
  service.hooks.staleReceiptWorks = () => random.chance(0.5);
  return world(service, elapse);
});

allSuites('strict fake that throttles two of three requests, behind patience', async () => {
  const { service, elapse, clock } = calm();
  let asked = 0;
  const { ports, ...rest } = world(service, elapse, (method, place, effect) => {
    if (asked++ % 3 < 2) throw new SluiceError('STORE_THROTTLED', { message: `${method} was throttled`, next: 'try-again' });
    return promptCall(method, place, effect);
  });
  const behind = patient(ports, { clock, random: seededRandom(1), triesMax: 100 });
  return { ...rest, ports: behind, elsewhere: behind };
});
