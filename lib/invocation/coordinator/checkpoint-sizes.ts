// What a checkpoint holds of each operator, in bytes: for whoever looks at it. It is counted from the metadata and from the objects that it names.
//   Z1  Keyed state in the versioned table belongs to all checkpoints at once. Nobody has counted it, and it is in no number here.
//   Z2  Rows of a transaction are gone when it is settled: then they have no size, and nothing fails because of it.

import { SluiceError } from '../../core/errors.ts';
import type { Plan } from '../../graph/plan.ts';
import { statesOf } from '../../graph/states.ts';
import type { EntryHead } from '../entry.ts';
import type { SubtaskHandle } from '../job-item.ts';
import type { ObjectStore } from '../ports.ts';
import { usesTable } from '../state/create-base.ts';
import { decodeSnapshot } from '../state/snapshot-format.ts';
import { decodeParts, readOperatorState } from '../unit/operator-state.ts';
import { headsOf } from './checkpoint-objects.ts';

export interface SubtaskSizes {
  readonly subtask: string;
  /** Its part of the checkpoint's metadata; small operator state lies in it. */
  readonly metadataBytes: number;
  /** By uid: keyed state that is a snapshot, operator state, accumulators, and rows that are to be committed. */
  readonly operators: ReadonlyMap<string, number>;
}

/** An operator as the plan has it, for whoever shows a checkpoint without the job's code. */
export interface DescribedOperator {
  readonly uid: string;
  readonly name: string;
  readonly parallelism: number;
  readonly keyed: readonly { readonly name: string; readonly kind: string }[];
  /** Z1: it has keyed state, and that lies in the table. */
  readonly isShared: boolean;
}

/** Pure. */
export function describedOperators({ stages, settings }: Plan): readonly DescribedOperator[] {
  const inTable = usesTable(settings.backend);
  return stages.flatMap(({ operators, parallelism }) =>
    operators.map(({ uid, name, node }) => {
      const keyed = statesOf(node.operator).flatMap(({ name: state, kind, scope }) => (scope === 'keyed' ? [{ name: state, kind }] : []));
      return { uid, name, parallelism, keyed, isShared: inTable && keyed.length > 0 };
    }),
  );
}

type Objects = Pick<ObjectStore, 'get'>;

/** @throws SluiceError `OBJECT_MISSING` when state that the checkpoint names is gone */
export async function sizesOf(objects: Objects, handles: readonly SubtaskHandle[]): Promise<readonly SubtaskSizes[]> {
  const heads = headsOf(handles);
  return await Promise.all(
    handles.map(async ({ subtask, head }, at): Promise<SubtaskSizes> => {
      const parts = (await Promise.all([keyedBytes, operatorStateBytes, rowsBytes].map((bytesOf) => bytesOf(objects, heads[at]!)))).flat();
      const operators = new Map<string, number>();
      for (const [uid, bytes] of parts) operators.set(uid, (operators.get(uid) ?? 0) + bytes);
      return { subtask, metadataBytes: head.length, operators };
    }),
  );
}

type Part = readonly [uid: string, bytes: number];

async function keyedBytes(objects: Objects, { snapshot, subtask }: EntryHead): Promise<readonly Part[]> {
  if (snapshot === undefined) return [];
  const bytes = await objects.get(snapshot);
  if (bytes === undefined) {
    throw new SluiceError('OBJECT_MISSING', {
      message: `the state of subtask ${subtask} is gone: object ${snapshot} does not exist`,
      next: 'repair-state',
      subtask,
      object: snapshot,
    });
  }
  return decodeSnapshot(bytes).map(
    ({ partition, pieces }): Part => [partition.operator, [...pieces.values()].reduce((total, piece) => total + piece.length, 0)],
  );
}

async function operatorStateBytes(objects: Objects, { operatorState, subtask }: EntryHead): Promise<readonly Part[]> {
  const bytes = await readOperatorState(operatorState, { objects, subtask });
  if (bytes === undefined) return [];
  return decodeParts(bytes).flatMap(([uid, lists, accumulators]) =>
    [...lists.flatMap(([, , elements]) => elements), ...accumulators.map(([, value]) => value)].map((part): Part => [uid, part.length]),
  );
}

async function rowsBytes(objects: Objects, { transactions }: EntryHead): Promise<readonly Part[]> {
  return await Promise.all(transactions.map(async ({ sink, rows }): Promise<Part> => [sink, (await objects.get(rows))?.length ?? 0]));
}
