// Materialise: what is committed moves from the ring to the state table, so that its slots can be used again. Nothing waits for it but a full ring.

import { headOf, versionView, type WarmSubtask } from './warm-subtask.ts';

/**
 * @returns whether everything committed so far is in the base. If not, `flushedThrough` stays where it is: a part that was stored does no harm,
 *   and the rest is still in the ring.
 */
export async function materialise(warm: WarmSubtask): Promise<boolean> {
  const through = headOf(warm).n;
  // Nothing was changed since the newest snapshot, whoever made it. Ours may be an older one with the same content, and gone by now.
  if (warm.state.unflushed === 0) {
    await warm.lane?.store(headOf(warm));
    warm.flushedThrough = through;
    return true;
  }
  const flushed = await warm.state.flush(versionView(warm));
  if (flushed.kind === 'incomplete') return false;
  await warm.lane?.store(headOf(warm));
  warm.flushedThrough = through;
  warm.storedThrough = through;
  warm.snapshot = flushed.snapshot ?? warm.snapshot;
  return true;
}
