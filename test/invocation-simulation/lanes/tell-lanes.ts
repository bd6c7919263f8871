// How far the lanes have come, for whoever reads why a world came to no end.

import type { FakeQueue } from '../../../lib/testing/index.ts';
import type { KeptWatch } from './kept-watch.ts';

export function tellLanes(watch: KeptWatch, queue: FakeQueue): string {
  const { status, generation, owners } = watch.item!;
  const lanes = owners.map(({ subtask }) => {
    const head = watch.head(subtask);
    const { replay, kept } = head?.lane ?? {};
    return `${subtask} ${head?.kind} ${head?.n}, kept ${kept}, replayed ${replay?.taken ?? 0} of ${replay?.count ?? 0}`;
  });
  const left = queue.unsettled.map(({ id, receives }) => `${id}×${receives}`);
  return `${status}, generation ${generation}; ${lanes.join('; ')}; left: ${left.join(' ')}`;
}
