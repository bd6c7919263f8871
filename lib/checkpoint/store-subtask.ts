// store-subtask.ts says where what a subtask contributes to a checkpoint goes: into the metadata, into a file for each operator, and, with a backend
// that has one, keyed state into a table.

import type { FileSystem } from '../core/ports.ts';
import type { BackendKind, KeyedTableHandle, OperatorHandle, SubtaskHandle } from './handles.ts';
import type { KeyedStore } from './keyed-store.ts';
import { stateFileName } from './layout.ts';
import type { OperatorSnapshot, SubtaskSnapshot } from './snapshot.ts';
import { writeState } from './state-file.ts';

export interface SubtaskPlace {
  readonly files: FileSystem;
  readonly job: string;
  readonly backend: { readonly kind: BackendKind; readonly stateBytesMax?: number };
  /** Where keyed state goes, if not into files. */
  readonly keyedStore?: KeyedStore | undefined;
  readonly checkpoint: number;
  /** The checkpoint's own. */
  readonly directory: string;
  /** Other checkpoints whose state in the table has to stay. */
  readonly points: readonly number[];
  readonly isGivenUp: () => boolean;
}

/**
 * Durable when it resolves.
 * @throws SluiceError `STATE_TOO_LARGE`; `CHECKPOINT_GIVEN_UP` when the checkpoint is over
 */
export async function storeSubtask({ stage, subtask, operators }: SubtaskSnapshot, place: SubtaskPlace): Promise<SubtaskHandle> {
  const { backend, job, files, directory, isGivenUp } = place;
  const inlineLimit =
    backend.kind === 'memory' ? { bytesMax: backend.stateBytesMax ?? Number.MAX_SAFE_INTEGER, place: { job, subtask } } : undefined;
  const handles: OperatorHandle[] = [];
  for (const [index, operator] of operators.entries()) {
    const { rest, table } = await storeKeyed(operator, subtask, place);
    const name = stateFileName(stage, subtask, index);
    handles.push(withTable(await writeState(rest, { files, directory, name, inlineLimit, isGivenUp }), table));
  }
  return { stage, subtask, operators: handles, bytes: handles.reduce((sum, o) => sum + sizeOf(o), 0) };
}

interface Stored {
  readonly rest: OperatorSnapshot;
  readonly table: KeyedTableHandle | undefined;
}

/** Keyed state that goes to a table leaves the rest to the files. */
async function storeKeyed(operator: OperatorSnapshot, subtask: number, { keyedStore, checkpoint, points }: SubtaskPlace): Promise<Stored> {
  const { keyed, uid } = operator;
  if (keyedStore === undefined || keyed === undefined) return { rest: operator, table: undefined };
  const table = await keyedStore.store({ uid, subtask, checkpoint, keyed, points });
  return { rest: { ...operator, keyed: { states: keyed.states, groups: [] } }, table };
}

function withTable(handle: OperatorHandle, table: KeyedTableHandle | undefined): OperatorHandle {
  return table === undefined || handle.keyed === undefined ? handle : { ...handle, keyed: { ...handle.keyed, table } };
}

/** State bytes of one operator: what its place holds, and what travels beside it. */
function sizeOf({ place, sink, accumulators }: OperatorHandle): number {
  const stored = place.kind === 'file' ? place.length : place.kind === 'inline' ? place.bytes.length : 0;
  const promised = sink === undefined ? 0 : sink.transactions.reduce((sum, t) => sum + t.length, sink.state.length);
  return stored + promised + accumulators.reduce((sum, a) => sum + a.value.length, 0);
}
