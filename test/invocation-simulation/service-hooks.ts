// How the services behave where they promise nothing: drawn once a world, and what each of their requests meets after that.

import type { FakeHooks, SeededRandom } from '../../lib/testing/index.ts';
import type { Chaos } from './chaos.ts';
import type { Counts } from './counts.ts';

export interface HookOptions {
  readonly now: () => number;
  readonly chaos: Chaos;
  readonly counts: Counts;
}

export function drawHooks(random: SeededRandom, { now, chaos, counts }: HookOptions): Partial<FakeHooks> {
  const left = random.pick([0, 0.02, 0.1]);
  const loose = random.pick([0, 0.1, 0.3]);
  const late = random.pick([0, 0.02]);
  const [impatient, long] = [random.pick([0, 0.3]), random.pick([400, 2_000, 8_000])];
  const happens = (p: number): boolean => !chaos.isQuiet && random.chance(p);
  return {
    now,
    pageBytes: random.pick([200, 1_000, 1_048_576]),
    leave: (count) => {
      const indexes = Array.from({ length: count }, (_, i) => i).filter(() => happens(left));
      counts.count('left over', indexes.length);
      return indexes;
    },
    groups: (names) => random.shuffled(names),
    handOut: (max) => random.between(1, max),
    visibilityMs: () => (happens(impatient) ? random.skewed(200) : long),
    dedupMs: random.pick([50, 1_000, 300_000]),
    loose: () => {
      if (!happens(loose)) return false;
      counts.count('group not blocked');
      return true;
    },
    lateDuplicate: (count) => (count > 0 && happens(late) ? random.below(count) : undefined),
    staleReceiptWorks: () => random.chance(0.5),
  };
}

/** After the last fault: whatever was drawn, nothing is left over, repeated or kept from anybody for long. */
export const quietHooks: Partial<FakeHooks> = {
  leave: () => [],
  loose: () => false,
  lateDuplicate: () => undefined,
  visibilityMs: () => 2_000,
};
