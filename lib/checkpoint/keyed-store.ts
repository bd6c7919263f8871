// keyed-store.ts is the place of keyed state that lies in no file of a checkpoint: a table that keeps versions. A checkpoint of it is a name.

import type { KeyGroupRange } from '../core/key-group.ts';
import type { KeyedTableHandle } from './handles.ts';
import type { KeyGroupSnapshot, OperatorSnapshot, StateInfo } from './snapshot.ts';

/**
 * Guarantees: what was stored for a checkpoint is what `load` of its handle gives, for as long as the checkpoint is among the `points` of every later
 * `store`, and whatever processes that were left behind still write.
 */
export interface KeyedStore {
  /**
   * Reads everything as of a checkpoint, or nothing; changes nothing.
   * @throws SluiceError `CHECKPOINT_NOT_FOUND` when it does not hold that checkpoint any more
   */
  load(from: { readonly handle: KeyedTableHandle; readonly checkpoint: number } | undefined): Promise<void>;
  /** What one subtask gets of what was loaded. */
  read(p: {
    readonly uid: string;
    readonly subtask: number;
    readonly states: readonly StateInfo[];
    readonly groups: KeyGroupRange;
    readonly maxParallelism: number;
  }): readonly KeyGroupSnapshot[];
  /**
   * The attempt begins: what was stored behind the loaded checkpoint counts for nothing from here on.
   * @throws SluiceError `OWNER_LOST` when another run began meanwhile
   */
  begin(): Promise<void>;
  /**
   * Stores the keyed state of one operator of one subtask; durable when it resolves. Checkpoints of one subtask come in order.
   * @param p.points  checkpoints that a restore may go back to
   */
  store(p: {
    readonly uid: string;
    readonly subtask: number;
    readonly checkpoint: number;
    readonly keyed: NonNullable<OperatorSnapshot['keyed']>;
    readonly points: readonly number[];
  }): Promise<KeyedTableHandle>;
  close(): void;
}

export interface KeyedStoreRequest {
  readonly job: string;
  readonly table: string;
}
