// restore.ts reads what one subtask of the new run gets of a checkpoint; what that is has been decided in redistribute.ts.

import { keyGroupRange } from '../core/key-group.ts';
import type { FileSystem } from '../core/ports.ts';
import type { KeyedTableHandle } from './handles.ts';
import type { KeyedStore } from './keyed-store.ts';
import { type LoadedCheckpoint, readSections } from './reading.ts';
import { type ListShare, type RestoreShares, type RestoreTarget, restoreOf } from './redistribute.ts';
import { damaged } from './sealed.ts';
import type { KeyGroupSnapshot, OperatorListSnapshot, OperatorRestore, StateInfo, SubtaskRestore } from './snapshot.ts';

/**
 * What one new subtask gets back. Operators that the checkpoint does not know are left out: they start empty.
 *
 * @param uids  the operators of the subtask's stage
 * @throws SluiceError `CHECKPOINT_DAMAGED` when bytes have changed since the checkpoint was loaded
 */
export async function readSubtask(
  files: FileSystem,
  checkpoint: LoadedCheckpoint,
  uids: readonly string[],
  place: Omit<RestoreTarget, 'uid'>,
  keyedStore?: KeyedStore,
): Promise<SubtaskRestore> {
  const operators: OperatorRestore[] = [];
  for (const uid of uids) {
    const shares = restoreOf(checkpoint.metadata, { uid, ...place });
    if (shares !== undefined)
      operators.push(withTable(await readOperator(files, checkpoint, shares), { checkpoint, uid, place, keyedStore }));
  }
  return { checkpoint: checkpoint.metadata.checkpoint, operators };
}

/** What lies in a table, for one operator. */
function withTable(
  read: OperatorRestore,
  p: {
    readonly checkpoint: LoadedCheckpoint;
    readonly uid: string;
    readonly place: Omit<RestoreTarget, 'uid'>;
    readonly keyedStore: KeyedStore | undefined;
  },
): OperatorRestore {
  const { uid, place, keyedStore } = p;
  const keyed = tablesOf(p.checkpoint).find((one) => one.uid === uid);
  if (keyed === undefined || keyedStore === undefined) return read;
  const { subtask, parallelism, maxParallelism } = place;
  const groups = keyGroupRange(subtask, maxParallelism, parallelism);
  const own = keyedStore.read({ uid, subtask, states: keyed.states, groups, maxParallelism });
  return own.length === 0 ? read : { ...read, keyed: [...read.keyed, { states: keyed.states, groups: own }] };
}

/** Operators whose keyed state lies in a table, with what is known of it. */
export function tablesOf({
  metadata,
}: LoadedCheckpoint): readonly { readonly uid: string; readonly states: readonly StateInfo[]; readonly table: KeyedTableHandle }[] {
  return metadata.subtasks.flatMap(({ operators }) =>
    operators.flatMap(({ uid, keyed }) => (keyed?.table === undefined ? [] : [{ uid, states: keyed.states, table: keyed.table }])),
  );
}

async function readOperator(files: FileSystem, checkpoint: LoadedCheckpoint, shares: RestoreShares): Promise<OperatorRestore> {
  const keyed = [];
  for (const { handle, states, groups } of shares.keyed) {
    const read = await readSections(files, checkpoint.directory, handle, groups);
    keyed.push({ states, groups: read.map(({ section, bytes }): KeyGroupSnapshot => ({ group: section.group, bytes })) });
  }
  const lists: OperatorListSnapshot[] = [];
  for (const { name, redistribution, shares: parts } of shares.lists) {
    const elements: Uint8Array[] = [];
    for (const part of parts) elements.push(...(await readElements(files, checkpoint, part)));
    lists.push({ name, redistribution, elements });
  }
  return { uid: shares.uid, lists, keyed, sinkStates: shares.sinkStates, accumulators: shares.accumulators };
}

async function readElements(files: FileSystem, checkpoint: LoadedCheckpoint, share: ListShare): Promise<readonly Uint8Array[]> {
  const [read] = await readSections(files, checkpoint.directory, share.handle, [share.section]);
  const { bytes } = read!;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements: Uint8Array[] = [];
  let at = 0;
  for (let i = 0; i < share.to; i++) {
    const end = at + 4 + (at + 4 <= bytes.length ? view.getUint32(at, true) : Number.POSITIVE_INFINITY);
    if (end > bytes.length)
      throw damaged(checkpoint.directory, `list ${share.section.name} of ${share.handle.uid} ends before its last element`);
    if (i >= share.from) elements.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return elements;
}
