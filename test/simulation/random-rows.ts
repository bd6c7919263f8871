// Draws the rows of a split.

import type { SeededRandom } from '../../lib/testing/index.ts';
import type { Row } from './spec.ts';

const eventTimeBegins = 1_600_000_000_000;

export function rowsOf(random: SeededRandom, split: string, count: number, keys: number, disorderMs: number): readonly Row[] {
  const stepMs = random.pick([1, 7]);
  return Array.from({ length: count }, (_, i) => ({
    id: `${split}.${i}`,
    k: `k${random.below(keys)}`,
    s: split,
    v: random.below(1_000),
    t: eventTimeBegins + i * stepMs - random.below(disorderMs + 1),
  }));
}
