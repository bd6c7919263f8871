// Materialise: what is committed moves from the ring to the state table, so that its slots can be used again. Nothing waits for it but a full ring.
//   M1  The newer half of the ring stays where it is: what is written again before its entry has to go never costs a write of the table. So keys
//       that come all the time stay in the ring, and rare ones are stored about once for each time that they come.

import { headOf, versionView, type WarmSubtask } from './warm-subtask.ts';

/**
 * @param keep  newest entries that may stay in the ring alone; half of its slots when absent
 * @returns whether what had to go is in the base. If not, `flushedThrough` stays where it is: a part that was stored does no harm, and the rest
 *   is still in the ring.
 */
export async function materialise(warm: WarmSubtask, keep: number = Math.floor(warm.item.ringSlots / 2)): Promise<boolean> {
  const through = headOf(warm).n;
  // Nothing was changed since the newest snapshot, whoever made it. Ours may be an older one with the same content, and gone by now.
  if (warm.state.unflushed === 0) {
    warm.flushedThrough = through;
    return true;
  }
  const target = Math.max(warm.flushedThrough, through - keep);
  const flushed = await warm.state.flush(versionView(warm), target);
  if (flushed.kind === 'incomplete') return false;
  warm.flushedThrough = flushed.through ?? through;
  warm.storedThrough = warm.flushedThrough;
  warm.snapshot = flushed.snapshot ?? warm.snapshot;
  return true;
}
