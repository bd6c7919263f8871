// Whose timers a subtask holds. Everyone who opens the state of a subtask has to come to the same answer, since it decides where timers lie.

import { type KeyGroupRange, keyGroupRange } from '../../core/key-group.ts';
import type { Stage } from '../../graph/plan.ts';

export interface KeyShare {
  readonly groups: KeyGroupRange;
  /** Other subtasks of the stage have keys of the same groups: behind a source that is partitioned by the key, it is the source that deals them out. */
  readonly sharesGroups: boolean;
}

export function keyShareOf({ inputs, maxParallelism, parallelism }: Stage, index: number): KeyShare {
  if (inputs.length === 0) return { groups: { first: 0, last: maxParallelism - 1 }, sharesGroups: true };
  return { groups: keyGroupRange(index, maxParallelism, parallelism), sharesGroups: false };
}
