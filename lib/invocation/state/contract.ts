// The keyed state of one subtask in one environment, as the unit of work sees it. Three layers lie behind it: cells that user code reads and writes,
// the changes that are committed and not yet materialised, and the base (the versioned table, or a snapshot) that materialising writes to.
//   S1  User code reads synchronously. What is not resident makes the run suspended: its reads are worth nothing, it is abandoned, what it missed
//       is loaded in as few calls as possible, and the unit runs again.
//   S2  Until `commitUnit` nothing of a unit is anything but the unit's; `abandonUnit` leaves no trace of it.
//   S3  A change stays unflushed until the base has it, whatever happens between.

import type { KeyedStateFactory } from '../../state/backend.ts';
import type { StateAddress, StateDelta } from '../entry.ts';
import type { RestorePoint } from '../job-item.ts';

/** Tag of a version: the entry that wrote it, and the epoch of that entry. */
export interface VersionTag {
  readonly generation: number;
  readonly epoch: number;
  readonly n: number;
}

/** What decides which versions of an item a writer sees and which it keeps (design of versions: versions.ts). */
export interface VersionView {
  readonly generation: number;
  readonly restores: readonly RestorePoint[];
  /** Checkpoints that a restore may still go to: retained and open ones of the job item as read after the ring, and barriers passed since. */
  readonly points: readonly number[];
  /** Epoch that the writer is in. */
  readonly epoch: number;
}

export type Flushed =
  /**
   * `through`: every entry up to this is in the base; `undefined`: everything committed so far is. `snapshot`: the object that the next entries
   * name, for backends that have one.
   */
  | { readonly kind: 'flushed'; readonly snapshot: string | undefined; readonly through: number | undefined }
  /** Something is left: `flushedThrough` stays where it is. */
  | { readonly kind: 'incomplete' };

/** Rows that wait for a barrier: appended without being read, read whole, dropped whole. */
export interface RowBuffer {
  append(bytes: Uint8Array): void;
  /** In order of appending; `undefined` when not all are resident: then the run is suspended. */
  all(): readonly Uint8Array[] | undefined;
  clear(): void;
}

export interface SubtaskState {
  /** For `OperatorHost`. A host that is built anew over the same state gets new handles of the same cells. */
  readonly createKeyedState: KeyedStateFactory;
  beginUnit(): void;
  /** Something that is not resident was touched since `beginUnit`. */
  readonly isSuspended: boolean;
  abandonUnit(): void;
  /** Loads what the abandoned run missed. Rejects with what the ports reject with, and then the next run is suspended again. */
  loadMissing(): Promise<void>;
  /**
   * What the unit changed, encoded.
   * @throws SluiceError `STATE_TOO_LARGE` … naming operator and state; the unit is to be abandoned
   */
  takeDelta(): StateDelta;
  /** The unit's entry has been appended. */
  commitUnit(tag: VersionTag, delta: StateDelta): void;
  /** An entry that another writer appended, oldest first; cells that it changed are forgotten or brought up to date. Outside of units only. */
  catchUp(tag: VersionTag, delta: StateDelta): void;
  /** Rows of a sink; `name` is its uid. */
  buffer(name: string): RowBuffer;
  readonly unflushed: number;
  /**
   * Conditional, so that a writer that lost its subtask long ago does no harm.
   * @param view  as known now
   * @param through  entries above this may stay where they are; a backend that snapshots takes them all the same
   */
  flush(view: VersionView, through?: number): Promise<Flushed>;
  /**
   * Everything committed as one object, for backends that snapshot; `undefined` where the table is the state. It is the base afterwards, so a
   * flush finds nothing left. Outside of units only.
   * @param name  of the object, unique for (generation, subtask, n)
   * @throws SluiceError `STATE_TOO_LARGE` above the backend's limit
   */
  snapshotAtBarrier(name: string): Promise<string | undefined>;
  /** Bytes and keys resident, for metrics and for dropping caches. */
  readonly residentKeys: number;
  /** Forgets keys until about `keysMax` are resident. Outside of units only. */
  evict(keysMax: number): void;
  /** What is committed at an address, whoever it belongs to. */
  read(address: StateAddress): Promise<Uint8Array | undefined>;
  /** The same of several, one answer each, in order. */
  readMany(addresses: readonly StateAddress[]): Promise<readonly (Uint8Array | undefined)[]>;
  /** Something in this partition is committed and not yet in the base: what is read here is newer than what others read of the base. */
  hasUnflushed(partition: Omit<StateAddress, 'sub'>): boolean;
  /** Everything that is committed in a partition, in order of `sub`. */
  list(partition: Omit<StateAddress, 'sub'>): Promise<readonly (readonly [sub: string, value: Uint8Array])[]>;
}
