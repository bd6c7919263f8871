// What heads of entries say of one another: nothing is taken back within a ring, and the barrier entries of a checkpoint are one cut through all
// channels.

import type { EntryHead } from '../../lib/invocation/entry.ts';
import type { SubtaskHandle } from '../../lib/invocation/job-item.ts';
import { headOfHandle, messageOf } from './decoded.ts';

/** What the entry takes back of what the one before it said; `undefined`: nothing. */
export function progressLost(before: EntryHead, after: EntryHead): string | undefined {
  if (after.base !== before.base) return `base ${before.base}`;
  // A resume puts back the barrier that a seal had taken the place of.
  const epochMin = before.epoch + (after.n > before.n ? (before.kind === 'barrier' ? 1 : 0) : after.kind === 'barrier' ? -1 : 0);
  if (after.epoch < epochMin) return `epoch ${before.epoch}`;
  if (after.flushedThrough < before.flushedThrough) return `flushedThrough ${before.flushedThrough}`;
  if (after.lastCompleted < before.lastCompleted) return `lastCompleted ${before.lastCompleted}`;
  if (after.watermark < before.watermark) return `watermark ${before.watermark}`;
  if (before.hasEnded && !after.hasEnded) return 'its end';
  for (const split of before.splits) {
    const now = after.splits.find((s) => s.ordinal === split.ordinal);
    if (now === undefined || (now.position?.index ?? 0) < (split.position?.index ?? 0))
      return `position ${split.position?.index} of ${split.split.id}`;
    if (split.hasEnded && !now.hasEnded) return `the end of ${split.split.id}`;
  }
  for (const channel of before.channels) {
    const now = after.channels.find((c) => c.sender === channel.sender && c.exchange === channel.exchange);
    if (now === undefined || now.sequence < channel.sequence) return `message ${channel.sequence} of ${channel.sender}`;
  }
  const sent = new Map(after.sent);
  for (const [target, sequence] of before.sent) if ((sent.get(target) ?? 0) < sequence) return `message ${sequence} to ${target}`;
  return undefined;
}

/** What acknowledges a checkpoint besides the entry of its own barrier, and the seal of who gives way to others; `undefined`: nothing else. */
export function wrongHandle(handle: SubtaskHandle, checkpoint: number): string | undefined {
  const { kind, epoch, lastBarrier } = headOfHandle(handle);
  if (kind === 'seal' || (kind === 'barrier' && epoch === checkpoint && lastBarrier?.checkpoint === checkpoint)) return undefined;
  return `entry ${handle.n}, a ${kind} of epoch ${epoch} behind barrier ${lastBarrier?.checkpoint ?? 'none'}`;
}

/** Each channel of which the sender has sent another message than the receiver has taken, as far as the two stand before the barrier. */
export function* consistentCut(handles: readonly SubtaskHandle[]): Generator<string> {
  const heads = handles.map(headOfHandle);
  const bySubtask = new Map(heads.map((h) => [h.subtask, h]));
  for (const receiver of heads) {
    for (const { sender, exchange, sequence } of receiver.channels) {
      const from = bySubtask.get(sender);
      if (from === undefined) continue;
      const sent = new Map(from.sent).get(`${exchange}/${receiver.subtask}`) ?? 0;
      // What waits lies behind the barrier, and is counted as taken.
      const waiting = receiver.held.filter((h) => h.sender === sender && h.exchange === exchange);
      if (sequence - waiting.length === sent) continue;
      const first = waiting[0]?.bytes === undefined ? undefined : messageOf(waiting[0].bytes).sequence;
      if (first === sent + 1) continue;
      yield `${sender} has sent ${sent} messages to ${receiver.subtask}, which has taken ${sequence}, ${waiting.length} of them waiting`;
    }
  }
}
