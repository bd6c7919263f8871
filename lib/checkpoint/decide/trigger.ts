// When does the next periodic checkpoint begin? (Flink's CheckpointCoordinator, with one rule more: nothing new, no checkpoint.)

/** Times are of the clock, which may jump: a time that lies ahead of now counts as now. */
export interface TriggerFacts {
  readonly nowMs: number;
  /** `undefined`: checkpointing is off. */
  readonly intervalMs: number | undefined;
  readonly minPauseMs: number;
  readonly maxConcurrent: number;
  /** When the last checkpoint began, or the attempt. */
  readonly lastBegunMs: number;
  /** When the last checkpoint ended, complete or not; `undefined` before the first. */
  readonly lastEndedMs: number | undefined;
  /** Checkpoints that have begun and not ended. */
  readonly pending: number;
  /** Whether anything happened since the last complete checkpoint. */
  readonly hasNews: boolean;
  /** The last checkpoint of the job has been asked for, or the job ends otherwise. */
  readonly isEnding: boolean;
}

export type Trigger =
  | { readonly kind: 'begin' }
  /** `ms`: when to ask again; `undefined`: only after something else has happened. */
  | { readonly kind: 'wait'; readonly why: WaitReason; readonly ms: number | undefined };

export type WaitReason = 'off' | 'ending' | 'interval' | 'too-many' | 'pause' | 'nothing-new';

export function decideTrigger(facts: TriggerFacts): Trigger {
  const { nowMs, intervalMs } = facts;
  if (intervalMs === undefined) return { kind: 'wait', why: 'off', ms: undefined };
  if (facts.isEnding) return { kind: 'wait', why: 'ending', ms: undefined };
  const untilInterval = remaining(facts.lastBegunMs, intervalMs, nowMs);
  if (untilInterval > 0) return { kind: 'wait', why: 'interval', ms: untilInterval };
  const limit = facts.minPauseMs > 0 ? 1 : facts.maxConcurrent;
  if (facts.pending >= limit) return { kind: 'wait', why: 'too-many', ms: undefined };
  const untilPause = facts.lastEndedMs === undefined ? 0 : remaining(facts.lastEndedMs, facts.minPauseMs, nowMs);
  if (untilPause > 0) return { kind: 'wait', why: 'pause', ms: untilPause };
  if (!facts.hasNews) return { kind: 'wait', why: 'nothing-new', ms: intervalMs };
  return { kind: 'begin' };
}

function remaining(sinceMs: number, lengthMs: number, nowMs: number): number {
  return Math.min(sinceMs, nowMs) + lengthMs - nowMs;
}
