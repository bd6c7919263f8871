// What lies under the changes of a subtask: the versioned table, or a snapshot. It knows addresses and bytes; keys and cells are above it.

import type { StateAddress } from '../entry.ts';
import type { VersionTag, VersionView } from './contract.ts';
import type { NotKnown } from './not-resident.ts';
import type { UnflushedPiece } from './overlay.ts';

/** All pieces of one key of one state: a value, the chunks of a list, the entries of a map. */
export type Partition = Omit<StateAddress, 'sub'>;

/** Rows that wait, dead letters, positions of a queue: under names that no uid has. They are state of no operator, and no bound of one is theirs. */
export function isOfEngine({ operator }: Pick<Partition, 'operator'>): boolean {
  return operator.startsWith('#');
}

export interface StateBase {
  /** Bytes of keyed state that one operator may have here; `undefined`: no bound. */
  readonly operatorBytesMax: number | undefined;
  /** Bytes of values of operators, timers not counted; `undefined`: not known, or not asked for. */
  bytesByOperator(): ReadonlyMap<string, number> | undefined;
  /** Whether it answers `peek` and `peekAll` from memory, once it has read anything. */
  readonly isWholeInMemory: boolean;
  /** What is known without asking; `undefined`: nothing lies there. */
  peek(address: StateAddress): Uint8Array | undefined | NotKnown;
  /** By `sub`. */
  peekAll(partition: Partition): ReadonlyMap<string, Uint8Array> | NotKnown;
  /** One answer for each address, in order. Not a snapshot: whoever goes on from it has to find out whether somebody else wrote meanwhile. */
  read(addresses: readonly StateAddress[]): Promise<readonly (Uint8Array | undefined)[]>;
  /** By `sub`. Not a snapshot either. */
  readAll(partition: Partition): Promise<ReadonlyMap<string, Uint8Array>>;
  /** @throws SluiceError `STATE_TOO_LARGE`: nothing can lie at such an address */
  checkAddress(address: StateAddress): void;
  /**
   * Stores what is unflushed.
   * @param through  the newest entry that is in it
   * @returns the pieces that are stored now
   */
  flush(pieces: readonly UnflushedPiece[], view: VersionView, through: VersionTag): Promise<ReadonlySet<UnflushedPiece>>;
  /** The object that holds what has been flushed, for bases that have one. */
  readonly snapshot: string | undefined;
  /** Writes everything, with what is given, as one object; `undefined` where the table is the state, and then nothing is written. */
  writeSnapshot(name: string, pieces: readonly UnflushedPiece[]): Promise<string | undefined>;
}
