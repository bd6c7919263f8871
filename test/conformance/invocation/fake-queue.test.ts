// The strict fake of a queue is a queue.

import { describe, test } from 'vitest';
import { FakeQueue, queueSuite } from '../../../lib/testing/index.ts';

const visibilityMs = 2_000;
const retentionMs = 20_000;

queueSuite('the strict fake', { describe, test }, (order) => {
  let now = 1_000_000;
  return {
    queue: adapted(new FakeQueue({ order, retentionMs, hooks: { now: () => now, visibilityMs: () => visibilityMs } })),
    visibilityMs,
    retentionMs,
    elapse: (ms) => {
      now += ms;
    },
  };
});

queueSuite('the strict fake, which looks at groups in another order each time', { describe, test }, (order) => {
  let now = 1_000_000;
  let receives = 0;
  const turned = (names: readonly string[]): readonly string[] => (receives++ % 2 === 0 ? names : names.toReversed());
  return {
    queue: adapted(new FakeQueue({ order, retentionMs, hooks: { now: () => now, visibilityMs: () => visibilityMs, order: turned } })),
    visibilityMs,
    retentionMs,
    elapse: (ms) => {
      now += ms;
    },
  };
});

function adapted(queue: FakeQueue): FakeQueue & { send(p: { readonly group: string; readonly body: unknown }): void } {
  return queue as never;
}
