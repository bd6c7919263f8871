// When a subtask has a checkpoint's barrier on all its inputs, and what happens to an alignment that cannot be finished. Facts are the channels of
// an entry's head; nothing is remembered elsewhere, so whoever recovers the entry decides the same.
//   L1  A barrier counts when its number is neither behind the subtask's epoch nor known to be aborted; else it is passed over.
//   L2  A higher barrier on another channel says that the lower one will not come there any more: the lower alignment is given up. So does a known
//       abort. What waited behind it goes on, in order.
//   L3  An ended channel has every later barrier; at least one barrier must have arrived.
//   L4  Without alignment nothing waits. A channel's number is the highest barrier that has passed it, and the lowest of the channels is complete.

import type { ChannelProgress } from './entry.ts';
import type { JobItem } from './job-item.ts';

export type BarrierChannel = Pick<ChannelProgress, 'barrier' | 'hasEnded'>;

/** Highest barrier that has arrived and is awaited; 0: none. */
export function topBarrier(channels: readonly BarrierChannel[]): number {
  return channels.reduce((top, { barrier }) => Math.max(top, barrier), 0);
}

/** @param facts.epoch  of the entry that the subtask would append now (`nextEpoch` of its head) */
export function isBarrierNew(checkpoint: number, facts: { readonly epoch: number; readonly abortedThrough: number }): boolean {
  return checkpoint >= facts.epoch && checkpoint > facts.abortedThrough;
}

/** Under alignment: the barrier of a checkpoint that can no longer be taken here. */
function isOvertaken(barrier: number, top: number): boolean {
  return barrier < top;
}

/** What is awaited on a channel after L2; 0: what waited there goes on. */
export function settledBarrier(
  barrier: number,
  facts: { readonly top: number; readonly abortedThrough: number; readonly isAligned: boolean },
): number {
  if (barrier <= facts.abortedThrough) return 0;
  return facts.isAligned && isOvertaken(barrier, facts.top) ? 0 : barrier;
}

/** The checkpoint whose barrier entry is due; `undefined` while one is awaited, or none. */
export function completeBarrier(channels: readonly BarrierChannel[], isAligned: boolean): number | undefined {
  const top = topBarrier(channels);
  if (top === 0) return undefined;
  const awaited = channels.filter(({ hasEnded }) => !hasEnded);
  if (isAligned) return awaited.every(({ barrier }) => barrier > 0 && !isOvertaken(barrier, top)) ? top : undefined;
  const lowest = awaited.reduce((least, { barrier }) => Math.min(least, barrier), top);
  return lowest > 0 ? lowest : undefined;
}

/** What a channel awaits once the barrier entry of `checkpoint` is there. */
export function barrierAfter(barrier: number, checkpoint: number): number {
  return barrier <= checkpoint ? 0 : barrier;
}

/**
 * Whether the job item says that the checkpoint will never complete. A number above the highest one begun was not aborted: the item was read too early.
 * @param generation  of the subtask; an item of another generation says nothing
 */
export function isKnownAborted(
  checkpoint: number,
  generation: number,
  item: Pick<JobItem, 'generation' | 'begun' | 'open' | 'restoring'>,
): boolean {
  if (item.generation !== generation || item.restoring !== undefined || checkpoint > item.begun) return false;
  return !item.open.some((open) => open.checkpoint === checkpoint);
}
