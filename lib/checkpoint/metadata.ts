// metadata.ts turns what is known of a checkpoint into the content of `_metadata` and back. The text is JSON, so that a person can read
// what a checkpoint is with any pager; bytes (sink states, transactions, small states) lie behind it.

import type { CheckpointMetadata, OperatorHandle, StatePlace, SubtaskHandle } from './handles.ts';
import { Blob, type BlobRef, damaged, type Unsealed } from './sealed.ts';

type Stored<T> = T extends Uint8Array
  ? BlobRef
  : T extends readonly (infer E)[]
    ? readonly Stored<E>[]
    : T extends object
      ? { readonly [P in keyof T]: Stored<T[P]> }
      : T;

/** @returns the JSON content and the bytes behind it, for `writeSealed` */
export function encodeMetadata(metadata: CheckpointMetadata): { readonly content: unknown; readonly blob: Blob } {
  const blob = new Blob();
  const content: Stored<CheckpointMetadata> = { ...metadata, subtasks: metadata.subtasks.map((s) => storeSubtask(s, blob)) };
  return { content, blob };
}

function storeSubtask(s: SubtaskHandle, blob: Blob): Stored<SubtaskHandle> {
  return { ...s, operators: s.operators.map((o) => storeOperator(o, blob)) };
}

function storeOperator(o: OperatorHandle, blob: Blob): Stored<OperatorHandle> {
  return {
    ...o,
    place: o.place.kind === 'inline' ? { kind: 'inline', bytes: blob.add(o.place.bytes) } : o.place,
    sink: o.sink && { state: blob.add(o.sink.state), transactions: o.sink.transactions.map((t) => blob.add(t)) },
    accumulators: o.accumulators.map((a) => ({ name: a.name, value: blob.add(a.value) })),
  };
}

/**
 * The metadata of an unsealed `_metadata` file. Its checksum has been found right, so a shape that we would not write is a defect, not
 * damage; it is refused all the same, by the name of the field.
 * @throws SluiceError `CHECKPOINT_DAMAGED`
 */
export function decodeMetadata(file: Unsealed, path: string): CheckpointMetadata {
  const content = file.content as Partial<Stored<CheckpointMetadata>> | null;
  if (typeof content !== 'object' || content === null) throw damaged(path, 'it holds no metadata');
  const { job, checkpoint, generation, timestamp, durationMs, subtasks, operators } = content;
  if (typeof job !== 'string') throw damaged(path, 'it names no job');
  for (const [name, value] of Object.entries({ checkpoint, generation, timestamp, durationMs })) {
    if (typeof value !== 'number') throw damaged(path, `it holds no ${name}`);
  }
  if (!Array.isArray(subtasks) || !Array.isArray(operators)) throw damaged(path, 'it lists no subtasks or operators');
  return { ...(content as Stored<CheckpointMetadata>), subtasks: subtasks.map((s: Stored<SubtaskHandle>) => loadSubtask(s, file)) };
}

function loadSubtask(s: Stored<SubtaskHandle>, file: Unsealed): SubtaskHandle {
  return { ...s, operators: s.operators.map((o) => loadOperator(o, file)) };
}

function loadOperator(o: Stored<OperatorHandle>, file: Unsealed): OperatorHandle {
  const place = o.place as Stored<Extract<StatePlace, { kind: 'inline' }>> | Exclude<StatePlace, { kind: 'inline' }>;
  return {
    uid: o.uid,
    place: place.kind === 'inline' ? { kind: 'inline', bytes: file.bytes(place.bytes) } : place,
    keyed: o.keyed,
    lists: o.lists,
    sink: o.sink && { state: file.bytes(o.sink.state), transactions: o.sink.transactions.map((t) => file.bytes(t)) },
    accumulators: o.accumulators.map((a) => ({ name: a.name, value: file.bytes(a.value) })),
  };
}
