// The port between an operator and the place where its keyed state lives. An operator resolves a whole batch of keys to slots first, then
// selects one slot per record; between the two nothing awaits and nothing is looked up by key again.
//   B1  A slot stands for one key from `resolve` to `endBatch`; handles read and write the selected slot.
//   B2  A running snapshot gives the state as it was when it began, whatever is written meanwhile. Several may run at once.
//   B3  Values belong to the state: what is stored never changes afterwards, so a snapshot may keep references.
//   B4  A key all of whose states are empty takes no place after `endBatch`.

import type { StateShape } from '../api/state.ts';
import type { KeyGroupSnapshot, StateInfo } from '../checkpoint/snapshot.ts';
import type { StateKey } from '../core/key-codec.ts';
import type { Timers } from './timers.ts';

/** A snapshot under way; encodes in slices so that records go on flowing between them. */
export interface RunningSnapshot {
  /** Encodes about `entries` entries more. True when nothing is left to encode. */
  advance(entries: number): boolean;
  /** Key groups in ascending order, empty ones left out. Only after `advance` returned true. */
  groups(): readonly KeyGroupSnapshot[];
  /** Gives up; what it holds is freed. */
  cancel(): void;
}

export interface KeyedStateBackend {
  readonly states: readonly StateInfo[];
  /** The handles by property name of the declaration. */
  readonly handles: Readonly<Record<string, unknown>>;
  readonly timers: Timers;
  /**
   * Something that is not in memory was touched: what this run does counts for nothing, errors included, and goes on only to learn what else is
   * missing. Absent where all state is in memory.
   */
  readonly isSuspended?: boolean;
  /** Finds or makes the slot of each key. `slots` has room for `count`. */
  resolve(keys: readonly StateKey[], count: number, slots: Int32Array): void;
  select(slot: number): void;
  /** One key outside a batch: a timer, or a look-up. */
  selectKey(key: StateKey): void;
  currentKey(): StateKey;
  endBatch(): void;
  startSnapshot(): RunningSnapshot;
  /** Adds the entries of these groups; before the first record only. */
  restore(states: readonly StateInfo[], groups: readonly KeyGroupSnapshot[]): void;
  keyCount(): number;
}

export interface KeyedStateRequest {
  readonly shape: StateShape;
  readonly operator: string;
  readonly maxParallelism: number;
  /** False when the operator can not have timers; absent: it may. */
  readonly hasTimers?: boolean;
}

export type KeyedStateFactory = (request: KeyedStateRequest) => KeyedStateBackend;
