// What the coordinator is given: the running attempt as it sees it, where its events go, and what outlives an attempt.

import type { CheckpointSettings } from '../api/options.ts';
import type { SluiceError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import type { CheckpointTrigger, OperatorParallelism } from './handles.ts';
import type { CheckpointStorage } from './storage.ts';

export interface SubtaskName {
  readonly stage: number;
  readonly subtask: number;
}

/** The running attempt, as the coordinator sees it. Nothing here may throw. */
export interface Participants {
  /** Everyone who has to acknowledge, finished ones included: somebody acknowledges for them. */
  readonly subtasks: readonly SubtaskName[];
  /** Hands the barrier to the sources. May be called between any two steps. */
  injectBarrier(checkpoint: number, trigger: CheckpointTrigger): void;
  /** Resolves when every sink has made checkpoint `n` visible. Called again after a rejection. */
  notifyCompleted(checkpoint: number): Promise<void>;
  notifyAborted(checkpoint: number): void;
  /** Grows with everything that would make a checkpoint differ from the last; without it every interval takes one. */
  news?(): number;
}

export type CoordinatorEvent =
  | { readonly kind: 'checkpoint-completed'; readonly checkpoint: number; readonly durationMs: number; readonly bytes: number }
  | { readonly kind: 'checkpoint-failed'; readonly checkpoint: number; readonly reason: string }
  | { readonly kind: 'notice'; readonly message: string };

/** What outlives an attempt: give the same object to the coordinator of every attempt of a job. */
export interface CoordinatorMemory {
  /** Checkpoints aborted for time since the last complete one. */
  expiredInARow: number;
}

export interface CoordinatorOptions {
  readonly clock: Clock;
  readonly storage: CheckpointStorage;
  readonly job: string;
  /** `undefined`: checkpointing is off, only `finish` takes one. */
  readonly settings: CheckpointSettings | undefined;
  readonly planHash: string;
  readonly operators: readonly OperatorParallelism[];
  readonly participants: Participants;
  readonly memory?: CoordinatorMemory;
  readonly onEvent: (event: CoordinatorEvent) => void;
  /** The attempt is to fail; called once at most. */
  readonly failJob: (error: SluiceError) => void;
  /** Something happened outside of a call: the run loop should call `tick`. */
  readonly wake?: () => void;
}

/** What holds when a job does not enable checkpointing and takes only its last one. */
export const settingsWhenOff: Omit<CheckpointSettings, 'intervalMs'> = {
  mode: 'EXACTLY_ONCE',
  timeoutMs: 600_000,
  minPauseMs: 0,
  maxConcurrent: 1,
  externalizedCleanup: 'NO_EXTERNALIZED_CHECKPOINTS',
  tolerableFailures: 0,
  preferCheckpointForRecovery: false,
  numRetained: 1,
};
