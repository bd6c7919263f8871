// What is known of a checkpoint without reading its state: where the state of each subtask lies, and what the checkpoint is. All of it is
// in `_metadata`; paths in it are names within the checkpoint's own directory, so a checkpoint can be moved or copied as a directory.

import type { CheckpointMode } from '../api/options.ts';
import type { Redistribution, StateInfo } from './snapshot.ts';

/** A run of bytes of a state file, with the checksum that tells whether it is still what was written. */
export interface Section {
  readonly offset: number;
  readonly length: number;
  readonly crc: number;
}

export interface KeyGroupSection extends Section {
  readonly group: number;
}

export interface ListSection extends Section {
  readonly name: string;
  readonly redistribution: Redistribution;
  /** Number of elements; each is its length (4 bytes, little-endian) and its bytes. */
  readonly count: number;
}

/** Where state bytes lie: in a file of the checkpoint's directory, or with the handle itself (and then in `_metadata`). */
export type StatePlace =
  | { readonly kind: 'none' }
  | { readonly kind: 'file'; readonly name: string; readonly length: number }
  | { readonly kind: 'inline'; readonly bytes: Uint8Array };

/** Keyed state as of a checkpoint, in a table that keeps versions. */
export interface KeyedTableHandle {
  /** Name of the table. */
  readonly table: string;
  /** As the table counts them. */
  readonly generation: number;
  readonly isEmpty: boolean;
}

export interface OperatorHandle {
  readonly uid: string;
  readonly place: StatePlace;
  /** Keyed state in ascending order of group; `undefined` for an operator without. */
  readonly keyed:
    | {
        readonly states: readonly StateInfo[];
        readonly groups: readonly KeyGroupSection[];
        /** It lies there instead, and `groups` is empty. */
        readonly table?: KeyedTableHandle;
      }
    | undefined;
  readonly lists: readonly ListSection[];
  readonly sink: { readonly state: Uint8Array; readonly transactions: readonly Uint8Array[] } | undefined;
  readonly accumulators: readonly { readonly name: string; readonly value: Uint8Array }[];
}

/** What one subtask contributed to a checkpoint. */
export interface SubtaskHandle {
  readonly stage: number;
  readonly subtask: number;
  readonly operators: readonly OperatorHandle[];
  /** State bytes, for reports. */
  readonly bytes: number;
}

/** The parallelism that took part, for one operator; it also named the operator's transactions. */
export interface OperatorParallelism {
  readonly uid: string;
  readonly name: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
}

/** Why a checkpoint was taken: by the interval, or as the last one of a job that reached the end of its input. */
export type CheckpointTrigger = 'interval' | 'end-of-input';

export interface CheckpointMetadata {
  readonly job: string;
  readonly checkpoint: number;
  readonly generation: number;
  /** Clock when it was triggered, ms since the epoch. */
  readonly timestamp: number;
  readonly trigger: CheckpointTrigger;
  /** From trigger to the last acknowledgement. */
  readonly durationMs: number;
  readonly mode: CheckpointMode;
  readonly backend: BackendKind;
  readonly planHash: string;
  /** The job reached its end; nothing is left to run. */
  readonly isFinished: boolean;
  readonly operators: readonly OperatorParallelism[];
  readonly subtasks: readonly SubtaskHandle[];
}

export type BackendKind = 'memory' | 'filesystem' | 'dynamodb';

/** State bytes of a whole checkpoint, for reports. */
export function stateBytesOf(subtasks: readonly SubtaskHandle[]): number {
  return subtasks.reduce((sum, s) => sum + s.bytes, 0);
}
