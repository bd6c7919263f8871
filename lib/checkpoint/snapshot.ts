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

/** What one operator of one new subtask gets back, after redistribution. */
export interface OperatorRestore {
  readonly uid: string;
  /** List states: `split` shares, `union` and `broadcast` lists whole. */
  readonly lists: readonly OperatorListSnapshot[];
  /** One element per old subtask that had keyed state in this subtask's range; groups outside the range are left out. */
  readonly keyed: readonly { readonly states: readonly StateInfo[]; readonly groups: readonly KeyGroupSnapshot[] }[];
  /** `Prepared.state` of every old subtask, in subtask order, encoded. */
  readonly sinkStates: readonly Uint8Array[];
  /** All accumulators of all old subtasks on subtask 0, none on the others; one name may occur several times. */
  readonly accumulators: readonly { readonly name: string; readonly value: Uint8Array }[];
}

export interface SubtaskRestore {
  readonly checkpoint: number;
  readonly operators: readonly OperatorRestore[];
}
