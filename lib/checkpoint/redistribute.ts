// redistribute.ts decides what one subtask of the new run gets of a checkpoint, at whatever parallelism either was taken. Pure: it works
// on handles and says which bytes are wanted; restore.ts reads them.
//   R1  A key group goes to the subtask that owns it now; each goes to exactly one.
//   R2  Split lists: all elements in order of old subtasks; the new subtasks get consecutive shares whose sizes differ by at most one. At
//       an unchanged parallelism each keeps its own, as in Flink: nothing moves without a reason.
//   R3  Union lists go whole to everyone. Broadcast lists were the same everywhere; everyone gets that of the lowest old subtask that has it.
//   R4  Sink states go to everyone, accumulators to subtask 0.

import { keyGroupRange } from '../core/key-group.ts';
import type { CheckpointMetadata, KeyGroupSection, ListSection, OperatorHandle } from './handles.ts';
import type { Redistribution, StateInfo } from './snapshot.ts';

/** One operator of one subtask of the new run. */
export interface RestoreTarget {
  readonly uid: string;
  readonly subtask: number;
  readonly parallelism: number;
  readonly maxParallelism: number;
}

/** Elements `from` (included) to `to` (not included) of one stored list. */
export interface ListShare {
  readonly handle: OperatorHandle;
  readonly section: ListSection;
  readonly from: number;
  readonly to: number;
}

/** What one operator of one new subtask gets, as places of bytes. */
export interface RestoreShares {
  readonly uid: string;
  readonly keyed: readonly {
    readonly handle: OperatorHandle;
    readonly states: readonly StateInfo[];
    readonly groups: readonly KeyGroupSection[];
  }[];
  readonly lists: readonly { readonly name: string; readonly redistribution: Redistribution; readonly shares: readonly ListShare[] }[];
  readonly sinkStates: readonly Uint8Array[];
  readonly accumulators: readonly { readonly name: string; readonly value: Uint8Array }[];
}

/** @returns `undefined` when the checkpoint knows no operator of that uid: it starts empty */
export function restoreOf(checkpoint: CheckpointMetadata, target: RestoreTarget): RestoreShares | undefined {
  const handles = handlesOf(checkpoint, target.uid);
  if (handles.length === 0) return undefined;
  return {
    uid: target.uid,
    keyed: keyedShares(handles, target),
    lists: listShares(handles, target, checkpoint.operators.find((o) => o.uid === target.uid)?.parallelism ?? handles.length),
    sinkStates: handles.flatMap((h) => h.operator.sink?.state ?? []),
    accumulators: target.subtask === 0 ? handles.flatMap((h) => h.operator.accumulators) : [],
  };
}

interface OldSubtask {
  readonly subtask: number;
  readonly operator: OperatorHandle;
}

/** The handles of one operator, in order of old subtasks. */
function handlesOf(checkpoint: CheckpointMetadata, uid: string): readonly OldSubtask[] {
  return checkpoint.subtasks
    .flatMap((s) => s.operators.filter((o) => o.uid === uid).map((operator) => ({ subtask: s.subtask, operator })))
    .sort((a, b) => a.subtask - b.subtask);
}

function keyedShares(handles: readonly OldSubtask[], target: RestoreTarget): RestoreShares['keyed'] {
  const range = keyGroupRange(target.subtask, target.maxParallelism, target.parallelism);
  return handles.flatMap(({ operator: handle }) => {
    const groups = handle.keyed?.groups.filter((g) => g.group >= range.first && g.group <= range.last) ?? [];
    return groups.length === 0 ? [] : [{ handle, states: handle.keyed!.states, groups }];
  });
}

function listShares(handles: readonly OldSubtask[], target: RestoreTarget, oldParallelism: number): RestoreShares['lists'] {
  const names = new Map<string, Redistribution>();
  for (const { operator } of handles) for (const l of operator.lists) names.set(l.name, l.redistribution);
  return [...names].map(([name, redistribution]) => {
    const whole = handles.flatMap(({ subtask, operator: handle }) =>
      handle.lists.filter((l) => l.name === name).map((section) => ({ subtask, handle, section, from: 0, to: section.count })),
    );
    return { name, redistribution, shares: sharesOf(redistribution, whole, target, oldParallelism) };
  });
}

function sharesOf(
  redistribution: Redistribution,
  whole: readonly (ListShare & { readonly subtask: number })[],
  target: RestoreTarget,
  oldParallelism: number,
): readonly ListShare[] {
  if (redistribution === 'union') return whole;
  if (redistribution === 'broadcast') return whole.slice(0, 1);
  if (target.parallelism === oldParallelism) return whole.filter((s) => s.subtask === target.subtask);
  const total = whole.reduce((sum, s) => sum + s.to, 0);
  return cut(whole, shareStart(total, target.subtask, target.parallelism), shareStart(total, target.subtask + 1, target.parallelism));
}

/** Where the share of a subtask begins when `total` elements are dealt out evenly. */
export function shareStart(total: number, subtask: number, parallelism: number): number {
  return Math.floor((total * subtask) / parallelism);
}

/** The parts of consecutive lists that cover elements `from` to `to` of all of them. */
function cut(whole: readonly ListShare[], from: number, to: number): readonly ListShare[] {
  const shares: ListShare[] = [];
  let first = 0;
  for (const share of whole) {
    const count = share.to;
    const start = Math.max(0, from - first);
    const end = Math.min(count, to - first);
    if (start < end) shares.push({ handle: share.handle, section: share.section, from: start, to: end });
    first += count;
  }
  return shares;
}

/** A transaction of a sink, and the checkpoint that lists or announced it. */
export interface SinkTransaction {
  readonly checkpoint: number;
  readonly subtask: number;
  readonly uid: string;
  /** Plain data of the sink, encoded. */
  readonly transaction: Uint8Array;
}

/** Every transaction that a checkpoint promises, in order of (subtask, preparing). */
export function transactionsOf(checkpoint: CheckpointMetadata): readonly SinkTransaction[] {
  const found = checkpoint.subtasks.flatMap((s) =>
    s.operators.flatMap((o) =>
      (o.sink?.transactions ?? []).map((transaction) => ({
        checkpoint: checkpoint.checkpoint,
        subtask: s.subtask,
        uid: o.uid,
        transaction,
      })),
    ),
  );
  return found.sort((a, b) => a.subtask - b.subtask);
}

/** What a checkpoint promises for one sink, in order of (subtask, preparing): `SinkRecovery.promised`, encoded. */
export function promisedTransactions(checkpoint: CheckpointMetadata, uid: string): readonly Uint8Array[] {
  return transactionsOf(checkpoint)
    .filter((t) => t.uid === uid)
    .map((t) => t.transaction);
}
