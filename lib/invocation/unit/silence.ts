// When a split of a source stops holding event time back (`withIdleness`). Nothing tells an invocation that no record came, so ticks find out.
//   I1  Silence is committed: the first tick that finds a split without a record since the last one writes down its clock, whichever environment
//       has the next tick goes by that, and the entry that takes a record ends it. So environments need no memory of their own.
//   I2  A split is idle when a tick finds that its time is over; that mark, the event time that follows from it and what fires by it are one entry.
//   I3  Time in which nobody could have read is no silence: none is counted while a replay is due, nor over a pause or a restore. What was idle
//       stays idle until its next record.

import type { WatermarkStrategy } from '../../api/watermark.ts';
import type { PlannedOperator } from '../../graph/plan.ts';
import { sourceWatermark } from '../../runtime/source-progress.ts';
import type { EntryHead, SplitProgress } from '../entry.ts';
import { isKeptDue } from '../lane/kept-input.ts';
import { isReplayDue, type ReplayEnds } from '../replay-end.ts';

export interface Silenced {
  readonly splits: readonly SplitProgress[];
  /** Event time as it is without the idle splits; `undefined`: it does not advance. */
  readonly watermark: number | undefined;
  /** With this entry nobody is left who could move event time. */
  readonly isIdleNow: boolean;
}

/** Pure. @returns `undefined`: nothing is to be written down */
export function decideSilence(
  head: Pick<EntryHead, 'splits' | 'watermark' | 'hasEnded' | 'lane'>,
  facts: { readonly strategy: WatermarkStrategy<unknown> | undefined; readonly nowMs: number; readonly replayEnds: ReplayEnds },
): Silenced | undefined {
  const { strategy, nowMs, replayEnds } = facts;
  const idlenessMs = strategy?.idlenessMs;
  if (idlenessMs === undefined || head.hasEnded || isKeptDue(head)) return undefined;
  if (head.splits.some((split) => isReplayDue(split, replayEnds))) return undefined;
  const splits = head.splits.map((split) => silenced(split, { idlenessMs, nowMs }));
  if (splits.every((split, at) => split === head.splits[at])) return undefined;
  return {
    splits,
    watermark: sourceWatermark(splits, strategy, head.watermark),
    isIdleNow: areIdle(splits) && !areIdle(head.splits),
  };
}

function silenced(split: SplitProgress, facts: { readonly idlenessMs: number; readonly nowMs: number }): SplitProgress {
  const { silence, hasEnded } = split;
  const { idlenessMs, nowMs } = facts;
  if (hasEnded || silence?.isIdle === true) return split;
  // A clock that was set back would make it wait for ever.
  if (silence === undefined || silence.sinceMs > nowMs) return { ...split, silence: { sinceMs: nowMs, isIdle: false } };
  return nowMs - silence.sinceMs >= idlenessMs ? { ...split, silence: { ...silence, isIdle: true } } : split;
}

function areIdle(splits: readonly SplitProgress[]): boolean {
  const open = splits.filter(({ hasEnded }) => !hasEnded);
  return open.length > 0 && open.every(({ silence }) => silence?.isIdle === true);
}

export function strategyOf(operator: PlannedOperator | undefined): WatermarkStrategy<unknown> | undefined {
  const spec = operator?.node.operator;
  return spec?.kind === 'source' ? spec.watermarks : undefined;
}

/** I3. Pure. */
export function withoutCountedSilence(splits: readonly SplitProgress[]): readonly SplitProgress[] {
  return splits.map((split) => (split.silence === undefined || split.silence.isIdle ? split : { ...split, silence: undefined }));
}
