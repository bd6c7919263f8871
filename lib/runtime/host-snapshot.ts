// A snapshot of one subtask while its keyed state is still being encoded, slice by slice, between batches.

import type { OperatorSnapshot, SubtaskSnapshot } from '../checkpoint/snapshot.ts';
import type { OperatorSnapshotInProgress } from '../operators/operator.ts';

export interface OperatorPart {
  readonly uid: string;
  readonly inProgress: OperatorSnapshotInProgress;
  readonly accumulators: OperatorSnapshot['accumulators'];
}

export type SinkParts = ReadonlyMap<string, NonNullable<OperatorSnapshot['sink']>>;

export class HostSnapshot {
  readonly #stage: number;
  readonly #subtask: number;
  readonly #operators: readonly OperatorPart[];

  constructor(stage: number, subtask: number, operators: readonly OperatorPart[]) {
    this.#stage = stage;
    this.#subtask = subtask;
    this.#operators = operators;
  }

  /** True when everything is encoded. */
  advance(entries: number): boolean {
    for (const { inProgress } of this.#operators) {
      if (inProgress.keyed !== undefined && !inProgress.keyed.running.advance(entries)) return false;
    }
    return true;
  }

  finish(sinks: SinkParts): SubtaskSnapshot {
    const operators = this.#operators.map(
      ({ uid, inProgress, accumulators }): OperatorSnapshot => ({
        uid,
        lists: inProgress.lists,
        keyed: inProgress.keyed === undefined ? undefined : { states: inProgress.keyed.states, groups: inProgress.keyed.running.groups() },
        sink: sinks.get(uid),
        accumulators,
      }),
    );
    return { stage: this.#stage, subtask: this.#subtask, operators };
  }

  cancel(): void {
    for (const { inProgress } of this.#operators) inProgress.keyed?.running.cancel();
  }
}
