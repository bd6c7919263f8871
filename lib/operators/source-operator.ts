// The head of a source stage. Records are made by a split reader outside the host; here they enter the chain, and malformed ones leave on
// side outputs. The positions of the subtask's splits are its operator state, which the reader's owner reads and writes.

import type { OperatorRestore } from '../checkpoint/snapshot.ts';
import type { RecordBatch } from '../core/batch.ts';
import type { OperatorSnapshotInProgress } from './operator.ts';
import { OperatorState } from './operator-state.ts';
import { BatchOperator } from './stateless.ts';

const splitsName = 'splits';

export class SourceOperator extends BatchOperator {
  #state: OperatorState | undefined;
  /** Called at each barrier: the splits and positions to keep, plain data. */
  positions: () => readonly unknown[] = () => [];

  override open(restore: OperatorRestore | undefined): void {
    this.#state = new OperatorState(this.environment.uid, this.environment.subtask.index, restore);
  }

  /** What all old subtasks kept; empty when nothing is restored. */
  restoredPositions(): readonly unknown[] {
    return this.#state?.list(splitsName, 'union').get() ?? [];
  }

  transform(batch: RecordBatch): RecordBatch {
    return batch;
  }

  override snapshot(): OperatorSnapshotInProgress {
    this.#state?.list(splitsName, 'union').update(this.positions());
    return { lists: this.#state?.snapshot() ?? [], keyed: undefined };
  }
}
