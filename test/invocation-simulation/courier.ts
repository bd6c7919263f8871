// The mapping between the queue and the environments: takes messages, hands them over as an event that may mix targets, and deletes what was
// acknowledged. Several work at once.

import type { Answer, Invocation } from '../../lib/invocation/invocation.ts';
import type { Delivery } from '../../lib/invocation/ports.ts';
import type { FakeService, SeededRandom } from '../../lib/testing/index.ts';
import type { ActorOptions } from './actor.ts';
import { pause } from './fleet.ts';

export interface CourierOptions extends ActorOptions {
  readonly service: FakeService;
  readonly restMs: number;
}

export async function runCourier(name: string, o: CourierOptions): Promise<void> {
  const random = o.random.fork(`courier ${name}`);
  while (!o.isOver()) {
    await pause(o.world, random.skewed(o.restMs));
    const deliveries = o.service.exchange.receive({ max: random.between(1, 10) });
    if (deliveries.length === 0) {
      await pause(o.world, random.between(10, 40));
      continue;
    }
    const groups = [...Map.groupBy(deliveries, (d) => d.group)];
    if (groups.length > 1) o.counts.count('event of several subtasks');
    if (deliveries.some((d) => d.receives > 1)) o.counts.count('message redelivered');
    const parts = groups.map(
      ([subtask, list]): Invocation => ({
        kind: 'messages',
        subtask,
        messages: list.map((d) => d.bytes),
        isAgain: list.some((d) => d.receives > 1),
      }),
    );
    const answers = await o.fleet.event(parts);
    // The answer to the whole event is one: a part without one leaves all of it where it is, as far as it is not known to be done.
    groups.forEach(([, list], i) => {
      settle(o, random, list, answers[i]);
    });
  }
}

function settle(o: CourierOptions, random: SeededRandom, list: readonly Delivery[], answer: Answer | undefined): void {
  if (answer === undefined) return;
  const done = answer.kind === 'done' ? list.length : answer.kind === 'partial' ? answer.count : 0;
  if (answer.kind === 'refused') o.counts.count('event refused');
  if (answer.kind === 'partial') o.counts.count('part of an event acknowledged');
  const receipts = list.map((d) => d.receipt);
  o.world.alarm(random.skewed(5) - 1, () => {
    // An answer may be lost on its way, and everything comes again.
    if (o.chaos.happens(0.01)) return;
    o.service.exchange.settle(receipts.slice(0, done));
    o.service.exchange.release({ receipts: receipts.slice(done), delayMs: random.skewed(40) });
  });
}
