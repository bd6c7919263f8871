// The one item that says what a job is doing. Whatever changes it reads it, decides by a pure function and puts it back on the condition that
// nobody has changed it meanwhile; so a step that runs twice, or a coordinator that dies, does no harm.

import type { SplitRange } from '../api/source.ts';
import type { JobEnd } from '../checkpoint/decide/retention.ts';

/** A subtask that may commit. */
export interface Owner {
  /** Unique in the job for ever: `<stage>-<index>`, for a split of its own `<stage>-s<ordinal>`. */
  readonly subtask: string;
  readonly stage: number;
  /** Index in its stage, 0 to parallelism - 1. Of a split of its own, its ordinal: never used again. */
  readonly index: number;
  /** Ordinals of the splits that it reads; sources only. */
  readonly splits: readonly number[];
  /** Keys that belong to it, by their placement; behind a source that evolves and is partitioned by a key. */
  readonly range?: SplitRange | undefined;
}

export interface OpenCheckpoint {
  readonly checkpoint: number;
  readonly generation: number;
  readonly begunMs: number;
  /** As fixed when it began; see checkpoint/decide/timeout.ts. */
  readonly patienceMs: number;
  /** Subtasks that have to acknowledge. */
  readonly owners: readonly string[];
  readonly trigger: 'periodic' | 'final';
}

export interface CompletedCheckpoint {
  readonly checkpoint: number;
  readonly generation: number;
  readonly begunMs: number;
  readonly completedMs: number;
  readonly trigger: 'periodic' | 'final';
  readonly owners: readonly Owner[];
  /** Object that holds the handles of all owners: `_metadata`. */
  readonly metadata: string;
  readonly bytes: number;
}

/** A restore under way. Its presence voids everything that was open. */
export interface Restoring {
  readonly checkpoint: number;
  /** The generation that it will raise. */
  readonly generation: number;
  /** Epoch in which the new rings begin. */
  readonly epoch: number;
  readonly owners: readonly Owner[];
}

/** A change of owners under way: parents are sealed and fully materialised, then children begin. */
export interface Moving {
  readonly generation: number;
  readonly parents: readonly string[];
  readonly children: readonly Owner[];
  readonly epoch: number;
}

/** `resuming`: its rings are being opened. */
export type JobStatus = 'running' | 'pausing' | 'paused' | 'cancelling' | 'failing' | JobEnd | 'resuming';

export interface JobItem {
  readonly job: string;
  readonly planHash: string;
  readonly status: JobStatus;
  /** Why it failed. */
  readonly failure: string | undefined;
  readonly generation: number;
  readonly ringSlots: number;
  /** Highest checkpoint number ever used. */
  readonly begun: number;
  readonly open: readonly OpenCheckpoint[];
  /** Retained ones, oldest first. */
  readonly completed: readonly CompletedCheckpoint[];
  /** Newest checkpoint whose transactions are all committed. */
  readonly confirmed: number;
  readonly failuresInARow: number;
  readonly expiredInARow: number;
  readonly lastBegunMs: number;
  readonly lastEndedMs: number | undefined;
  /** Every restore so far: generation raised, checkpoint restored. */
  readonly restores: readonly RestorePoint[];
  readonly owners: readonly Owner[];
  readonly restoring: Restoring | undefined;
  readonly moving: Moving | undefined;
  /** How far a subtask's splits had been read when its ring was sealed, over all generations: `<subtask>/<ordinal>` → index. */
  readonly until: readonly (readonly [split: string, index: number])[];
  /**
   * The same by place, for sources whose events do not count their records: what lies behind it was not read. For the others, how many malformed records
   * had been read. Absent: none.
   */
  readonly places?: readonly (readonly [split: string, at: unknown])[] | undefined;
  /** When each generation began, ms, oldest first, those of restores that were given up among them; see begins.ts. Absent: an older version made the job. */
  readonly begins?: readonly (readonly [generation: number, ms: number])[] | undefined;
  /** Every ring that exists or is about to: `<generation>/<subtask>`. */
  readonly rings: readonly string[];
}

export interface RestorePoint {
  readonly generation: number;
  readonly checkpoint: number;
}

/** What one subtask contributes to a checkpoint. */
export interface SubtaskHandle {
  readonly generation: number;
  readonly subtask: string;
  /** The barrier entry. */
  readonly n: number;
  readonly flushedThrough: number;
  /** The head of the barrier entry, by `encodeHead`; the ring forgets the entry. */
  readonly head: Uint8Array;
}

/** Name of the job item among the items of a job. */
export const jobItemName = 'job';

export function acknowledgementName(checkpoint: number, subtask: string): string {
  return `ack/${String(checkpoint).padStart(10, '0')}/${subtask}`;
}
