// What a pulse says for the alarms, as a line of CloudWatch's embedded format. Pure.
//   W1  A checkpoint is owed while one is open, while the last one failed, while owners change, and while pulses fail: how long is its age. A job that
//       has nothing new, or that stands still because somebody said so, owes none; that is an age of 0, so that no line at all means that no
//       pulse came through.
//   W2  The age of the first one counts from when it was owed, not from a completed one that does not exist.

import type { JobItem } from '../invocation/job-item.ts';

export interface AgeFacts {
  readonly nowMs: number;
  /** The pulse threw: what it would have begun is not known. */
  readonly hasFailed: boolean;
  /** As the last pulse of this sandbox found it. */
  readonly owedSinceMs: number | undefined;
}

export interface CheckpointAge {
  readonly ageMs: number;
  readonly owedSinceMs: number | undefined;
}

type Watched = Pick<JobItem, 'status' | 'open' | 'completed' | 'failuresInARow' | 'moving' | 'restoring' | 'lastBegunMs'>;

export function checkpointAge(item: Watched, { nowMs, hasFailed, owedSinceMs }: AgeFacts): CheckpointAge {
  const { status, open, completed, failuresInARow, moving, restoring, lastBegunMs } = item;
  const isHeldUp = hasFailed || failuresInARow > 0 || moving !== undefined || restoring !== undefined;
  if (status !== 'running' || !(isHeldUp || open.length > 0)) return { ageMs: 0, owedSinceMs: undefined };
  const completedMs = completed.at(-1)?.completedMs;
  // A sandbox that has seen nothing before knows an open one's beginning, and else the last thing that went well.
  const seenMs = owedSinceMs ?? (isHeldUp ? (completedMs ?? lastBegunMs) : Math.min(...open.map(({ begunMs }) => begunMs)));
  const sinceMs = Math.min(nowMs, Math.max(seenMs, completedMs ?? seenMs));
  return { ageMs: nowMs - sinceMs, owedSinceMs: sinceMs };
}

export interface PulseFacts {
  readonly item: Pick<JobItem, 'job' | 'status'>;
  /** Parked records; `undefined`: not counted. */
  readonly letters: number | undefined;
  readonly checkpointAgeMs: number;
}

/** Names are those that the alarms look for (lib/cdk/metrics.ts). @param nowMs  ms since the epoch */
export function pulseMetricsLine({ item, letters, checkpointAgeMs }: PulseFacts, nowMs: number): string {
  const values = {
    JobFailed: item.status === 'failed' ? 1 : 0,
    ...(letters === undefined ? {} : { DeadLetters: letters }),
    CheckpointAge: checkpointAgeMs,
  };
  const names = Object.keys(values).map((Name) => ({ Name, Unit: Name === 'CheckpointAge' ? 'Milliseconds' : 'Count' }));
  return JSON.stringify({
    _aws: {
      Timestamp: Math.floor(nowMs),
      CloudWatchMetrics: [{ Namespace: 'Sluice', Dimensions: [['Job']], Metrics: names }],
    },
    Job: item.job,
    ...values,
  });
}
