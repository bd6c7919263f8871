// Does a checkpoint that did not complete fail the job? Flink's CheckpointFailureManager: failures in a row are counted, each
// checkpoint once, and a complete one starts the count again.

/** Why a checkpoint ended without being complete. */
export type AbortReason =
  /** Its state could not be stored, or a participant refused. */
  | 'declined'
  /** It could not begin: its number could not be made durable. */
  | 'not-begun'
  /** Acknowledged by all, but its metadata could not be written. */
  | 'not-completed'
  | 'expired'
  /** The directory has gone to another run: no later checkpoint can do better, whatever is tolerated. */
  | 'owner-lost'
  /** A higher one completed first. Nobody's fault. */
  | 'subsumed'
  /** The job ended, restarts, or was cancelled. */
  | 'stopped';

export interface FailureFacts {
  readonly reason: AbortReason;
  /** Failures since the last complete checkpoint, without this one. */
  readonly failuresInARow: number;
  readonly tolerable: number;
}

export type FailureOutcome =
  | { readonly kind: 'ignored' }
  | { readonly kind: 'tolerated'; readonly failuresInARow: number }
  | { readonly kind: 'fail-job'; readonly failuresInARow: number };

export function decideFailure(facts: FailureFacts): FailureOutcome {
  if (facts.reason === 'subsumed' || facts.reason === 'stopped') return { kind: 'ignored' };
  const failuresInARow = facts.failuresInARow + 1;
  if (facts.reason === 'owner-lost') return { kind: 'fail-job', failuresInARow };
  return { kind: failuresInARow > facts.tolerable ? 'fail-job' : 'tolerated', failuresInARow };
}
