// Operator state and accumulators of a subtask, as the heads of its entries have them. What changes with every unit, such as event time, rides in every
// entry; what has long been the same does not.
//   S1  What a head says is whole, whatever other entries say: the bytes alone; the object alone; or the object, with the parts in `bytes` in the place
//       of its own.
//   S2  A part is one list or one accumulator of an operator. Where one has come or gone everything is stored anew, so that what is read has the order,
//       and with it the bytes, of what the operators gave.
//   S3  Parts that ride in entries go to an object when they have been the same for so many entries that it is cheaper.

import type { OperatorListSnapshot, OperatorRestore } from '../../checkpoint/snapshot.ts';
import { equalBytes } from '../../core/bytes.ts';
import { SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import type { EntryHead } from '../entry.ts';
import type { ObjectStore } from '../ports.ts';

/** By operator: uid, lists, accumulators. */
export type StoredOperator = readonly [uid: string, lists: readonly StoredList[], accumulators: readonly StoredAccumulator[]];
type StoredList = readonly [name: string, redistribution: OperatorListSnapshot['redistribution'], elements: readonly Uint8Array[]];
type StoredAccumulator = readonly [name: string, value: Uint8Array];

export type StateReference = NonNullable<EntryHead['operatorState']>;

/** Operator state and accumulators after a unit; `undefined` when there are none. */
export function operatorStateOf(host: OperatorHost, epoch: number, now: number): Uint8Array | undefined {
  const stored: StoredOperator[] = [];
  for (const [index, operator] of host.operators.entries()) {
    const { lists, keyed } = operator.snapshot({ checkpointId: epoch, timestamp: now });
    keyed?.running.cancel();
    const accumulators = host.accumulators[index]?.snapshot() ?? [];
    if (lists.length === 0 && accumulators.length === 0) continue;
    stored.push(storedOperator({ uid: operator.environment.uid, lists, accumulators }));
  }
  return stored.length === 0 ? undefined : encodeValue(stored);
}

function storedOperator({ uid, lists, accumulators }: Pick<OperatorRestore, 'uid' | 'lists' | 'accumulators'>): StoredOperator {
  return [
    uid,
    lists.map((list): StoredList => [list.name, list.redistribution, list.elements]),
    accumulators.map(({ name, value }): StoredAccumulator => [name, value]),
  ];
}

/** The inverse of `decodeOperatorState`. */
export function encodeOperatorState(operators: readonly OperatorRestore[]): Uint8Array | undefined {
  const stored = operators.filter(({ lists, accumulators }) => lists.length > 0 || accumulators.length > 0).map(storedOperator);
  return stored.length === 0 ? undefined : encodeValue(stored);
}

/** What `operatorStateOf` encoded. */
export function decodeOperatorState(bytes: Uint8Array): readonly OperatorRestore[] {
  return decodeParts(bytes).map(
    ([uid, lists, accumulators]): OperatorRestore => ({
      uid,
      lists: lists.map(([name, redistribution, elements]) => ({ name, redistribution, elements })),
      keyed: [],
      sinkStates: [],
      accumulators: accumulators.map(([name, value]) => ({ name, value })),
    }),
  );
}

export function decodeParts(bytes: Uint8Array): readonly StoredOperator[] {
  return decodeValue(bytes) as readonly StoredOperator[];
}

/**
 * What a head refers to, as `operatorStateOf` encoded it.
 * @throws SluiceError `OBJECT_MISSING`
 */
export async function readOperatorState(
  reference: EntryHead['operatorState'],
  p: { readonly objects: Pick<ObjectStore, 'get'>; readonly subtask: string },
): Promise<Uint8Array | undefined> {
  if (reference?.object === undefined) return reference?.bytes;
  const bytes = await p.objects.get(reference.object);
  if (bytes !== undefined) return withParts(bytes, reference.bytes);
  throw new SluiceError('OBJECT_MISSING', {
    message: `operator state of subtask ${p.subtask} is gone: object ${reference.object} does not exist`,
    next: 'repair-state',
    subtask: p.subtask,
  });
}

/** Pure: S1. */
export function withParts(whole: Uint8Array, parts: Uint8Array | undefined): Uint8Array {
  if (parts === undefined) return whole;
  const changed = new Map(decodeParts(parts).map((operator) => [operator[0], operator]));
  return encodeValue(
    decodeParts(whole).map(([uid, lists, accumulators]): StoredOperator => {
      const [, newLists = [], newAccumulators = []] = changed.get(uid) ?? [];
      return [uid, replaced(lists, newLists), replaced(accumulators, newAccumulators)];
    }),
  );
}

function replaced<P extends StoredList | StoredAccumulator>(old: readonly P[], changed: readonly P[]): readonly P[] {
  return old.map((part) => changed.find(([name]) => name === part[0]) ?? part);
}

/** Pure: the parts of `now` that `old` has otherwise; `undefined`: they do not have the same parts (S2). */
export function changedParts(old: readonly StoredOperator[], now: readonly StoredOperator[]): readonly StoredOperator[] | undefined {
  if (!hasSameNames(old, now)) return undefined;
  const changed: StoredOperator[] = [];
  for (const [at, [uid, lists, accumulators]] of now.entries()) {
    if (!hasSameNames(old[at]![1], lists) || !hasSameNames(old[at]![2], accumulators)) return undefined;
    const newLists = lists.filter((list, i) => !isSameList(list, old[at]![1][i]!));
    const newAccumulators = accumulators.filter(([, value], i) => !equalBytes(value, old[at]![2][i]![1]));
    if (newLists.length > 0 || newAccumulators.length > 0) changed.push([uid, newLists, newAccumulators]);
  }
  return changed;
}

type Named = readonly [name: string, ...rest: readonly unknown[]];

function hasSameNames(a: readonly Named[], b: readonly Named[]): boolean {
  return a.length === b.length && a.every(([name], at) => name === b[at]![0]);
}

function isSameList([, how, elements]: StoredList, [, oldHow, old]: StoredList): boolean {
  return how === oldHow && elements.length === old.length && elements.every((element, at) => equalBytes(element, old[at]!));
}

/** Pure: the parts of `now` that `old` has just so. */
export function sameParts(old: readonly StoredOperator[], now: readonly StoredOperator[]): readonly StoredOperator[] {
  const before = new Map(old.map((operator) => [operator[0], operator]));
  return now.flatMap(([uid, lists, accumulators]): readonly StoredOperator[] => {
    const [, oldLists = [], oldAccumulators = []] = before.get(uid) ?? [];
    const sameLists = lists.filter((list) => oldLists.some((one) => one[0] === list[0] && isSameList(list, one)));
    const sameAccumulators = accumulators.filter(([name, value]) =>
      oldAccumulators.some(([oldName, oldValue]) => oldName === name && equalBytes(value, oldValue)),
    );
    return sameLists.length + sameAccumulators.length === 0 ? [] : [[uid, sameLists, sameAccumulators]];
  });
}
