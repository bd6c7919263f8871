// What is drawn of a world before it begins: the job, its bounds, and how its services behave.

import type { QueueMessage } from '../../../lib/invocation/invocation.ts';
import type { FakeHooks, FakeQueueHooks, SeededRandom } from '../../../lib/testing/index.ts';
import type { Chaos } from '../chaos.ts';
import type { CoordinatorOptions } from '../coordinator.ts';
import type { LaneSetting } from './job.ts';

export interface Drawn {
  readonly setting: LaneSetting;
  readonly timeoutMs: number;
  readonly faultySteps: number;
  /** Step at which the code of buggy messages is mended. */
  readonly fixedAtStep: number;
  readonly ringSlots: number;
  readonly flushBelowSlots: number;
  readonly messagesMax: number;
  /** Of an environment that has put a marker: that it dies in front of its append, and behind it. */
  readonly risk: { readonly before: number; readonly after: number };
}

export function drawn(seed: number, random: SeededRandom): Drawn {
  const timeoutMs = random.pick([100, 300, 600]);
  const faultySteps = random.pick([2_000, 4_000]);
  return {
    timeoutMs,
    faultySteps,
    fixedAtStep: random.below(faultySteps),
    ringSlots: random.pick([8, 16, 64]),
    flushBelowSlots: random.pick([1, 3, 6]),
    messagesMax: random.between(20, 50),
    risk: { before: random.pick([0, 0, 0.2, 0.5]), after: random.pick([0, 0, 0.3]) },
    setting: {
      order: seed % 2 === 0 ? 'fifo' : 'standard',
      lanes: random.pick([1, 2, 2]),
      retentionMs: timeoutMs * random.pick([5, 12, 1_000, 1_000]),
      intervalMs: random.pick([100, 400, 1_000]),
      numRetained: random.pick([1, 2, 3]),
    },
  };
}

/** Of whoever coordinates the job, when it has been created. */
export function drawCoordinator(random: SeededRandom): Pick<CoordinatorOptions, 'mayRewind' | 'rates'> {
  return {
    mayRewind: random.chance(0.5),
    rates: {
      restMs: random.pick([20, 60, 200]),
      noPulseForLong: 0,
      lostBarrier: random.pick([0, 0.1]),
      atOnce: random.pick([0, 0.1, 0.5]),
      tick: random.pick([0.2, 0.5]),
      restore: random.pick([0, 0.05, 0.2]),
      pause: random.pick([0, 0, 0.02]),
    },
  };
}

export function serviceHooks(random: SeededRandom, chaos: Chaos, now: () => number): Partial<FakeHooks> {
  const left = random.pick([0, 0.02, 0.1]);
  const long = random.pick([400, 2_000]);
  const happens = (p: number): boolean => !chaos.isQuiet && random.chance(p);
  return {
    now,
    pageBytes: random.pick([200, 1_000, 1_048_576]),
    leave: (count) => Array.from({ length: count }, (_, i) => i).filter(() => happens(left)),
    groups: (names) => random.shuffled([...names]),
    handOut: (max) => random.between(1, max),
    visibilityMs: () => (happens(0.2) ? random.skewed(200) : long),
    dedupMs: random.pick([50, 1_000, 300_000]),
  };
}

export function queueHooks(
  random: SeededRandom,
  chaos: Chaos,
  p: { readonly now: () => number; readonly timeoutMs: number; readonly lost: (message: QueueMessage) => void },
): Partial<FakeQueueHooks> {
  const { now, timeoutMs, lost } = p;
  const impatient = random.pick([0, 0.1, 0.4]);
  const long = timeoutMs * random.pick([1, 3]);
  const happens = (probability: number): boolean => !chaos.isQuiet && random.chance(probability);
  return {
    now,
    lost,
    visibilityMs: () => (happens(impatient) ? random.skewed(timeoutMs) : long),
    order: (names) => random.shuffled([...names]),
    handOut: (max) => random.between(1, max),
    duplicate: (count) => (count > 0 && happens(0.05) ? random.below(count) : undefined),
    staleReceiptWorks: () => random.chance(0.5),
  };
}
