// What one subtask contributes to a checkpoint, and what it gets back on a restore. Plain data and bytes: the storage decides where they lie.

/** How list state is handed out on a restore (Flink's even-split, union and broadcast). */
export type Redistribution = 'split' | 'union' | 'broadcast';

/** Operator state of one operator of one subtask: encoded elements, in order. */
export interface OperatorListSnapshot {
  readonly name: string;
  readonly redistribution: Redistribution;
  /** Each made by `encodeValue`. */
  readonly elements: readonly Uint8Array[];
}

/** Keyed state (with timers) of one key group; empty groups are left out. */
export interface KeyGroupSnapshot {
  readonly group: number;
  readonly bytes: Uint8Array;
}

/** What is known of a keyed state without reading it. */
export interface StateInfo {
  readonly name: string;
  readonly kind: string;
  readonly version: number;
}

export interface OperatorSnapshot {
  readonly uid: string;
  readonly lists: readonly OperatorListSnapshot[];
  /** Keyed state, in order of group; `undefined` for an operator without. */
  readonly keyed: { readonly states: readonly StateInfo[]; readonly groups: readonly KeyGroupSnapshot[] } | undefined;
  /** Sinks: what `SinkWriter.prepare` gave. */
  readonly sink: { readonly state: Uint8Array; readonly transactions: readonly Uint8Array[] } | undefined;
  /** Accumulators by name, encoded. */
  readonly accumulators: readonly { readonly name: string; readonly value: Uint8Array }[];
}

export interface SubtaskSnapshot {
  readonly stage: number;
  readonly subtask: number;
  readonly operators: readonly OperatorSnapshot[];
}
