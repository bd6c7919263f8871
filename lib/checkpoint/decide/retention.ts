// Which complete checkpoints stay?

import type { ExternalizedCleanup } from '../../api/options.ts';

/** How a job's last attempt ended. `failed`: for good, no restart follows. */
export type JobEnd = 'cancelled' | 'failed' | 'finished';

export interface SubsumptionFacts {
  /** Complete ones, newest first. */
  readonly completed: readonly number[];
  readonly numRetained: number;
}

/** @returns the ones that stay while the job runs, newest first */
export function decideSubsumption(facts: SubsumptionFacts): readonly number[] {
  return facts.completed.slice(0, facts.numRetained);
}

export interface RetentionFacts extends SubsumptionFacts {
  readonly end: JobEnd;
  readonly cleanup: ExternalizedCleanup;
  /** Whether every sink has confirmed the newest. What was promised and is not yet visible must not be forgotten. */
  readonly isNewestConfirmed: boolean;
}

export type Retention = {
  readonly kind: 'keep';
  readonly checkpoints: readonly number[];
  readonly why: 'setting' | 'finished' | 'unconfirmed';
};

export function decideRetention(facts: RetentionFacts): Retention {
  const kept = decideSubsumption(facts);
  const newest = facts.completed.slice(0, 1);
  if (keepsAll(facts.end, facts.cleanup)) return { kind: 'keep', checkpoints: kept, why: 'setting' };
  // It says that the job is finished: run again, it has nothing to do.
  if (facts.end === 'finished') return { kind: 'keep', checkpoints: newest, why: 'finished' };
  if (!facts.isNewestConfirmed && newest.length > 0) return { kind: 'keep', checkpoints: newest, why: 'unconfirmed' };
  return { kind: 'keep', checkpoints: [], why: 'setting' };
}

function keepsAll(end: JobEnd, cleanup: ExternalizedCleanup): boolean {
  if (cleanup === 'RETAIN_ON_CANCELLATION') return true;
  return cleanup === 'DELETE_ON_CANCELLATION' && end === 'failed';
}
