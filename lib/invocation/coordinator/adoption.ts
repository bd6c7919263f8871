// What children get of their parents. Where state is the table, values stay where they are: they lie by key. Everything else that a subtask carries
// is handed on, each piece to one child.
//   A1  What belongs to a key goes to the child whose range holds the key: its timers, its parked records, and, where a snapshot is the state, its
//       values. What no range holds goes to the first child.
//   A2  Rows that wait for a barrier, and transactions whose commit is not confirmed, go to the first child: the next checkpoint is to promise them.
//   A3  Operator state is dealt out as on any change of parallelism: split lists in shares, union and broadcast lists to everyone, accumulators to
//       the first child.
//   A4  Event time goes on from the earliest of the parents.

import type { Split } from '../../api/source.ts';
import { shareStart } from '../../checkpoint/redistribute.ts';
import type { OperatorListSnapshot, OperatorRestore } from '../../checkpoint/snapshot.ts';
import { type Entry, type EntryHead, emptyBody } from '../entry.ts';
import { inlineOperatorStateBytesMax } from '../limits.ts';
import { decodeOperatorState, encodeOperatorState, readOperatorState } from '../unit/operator-state.ts';
import { type Adoption, inheritedDelta, inheritedSnapshot, isFirstChild } from './inheritance.ts';
import { initialHead } from './initial-head.ts';
import type { PulseRun } from './pulse-run.ts';
import { splitName } from './restored-entry.ts';
import { moveWriter } from './seal.ts';

/** The first entry of a child. */
export async function adopt(run: PulseRun, p: Adoption): Promise<Entry> {
  const { item, options } = run;
  const { owner, n, moving } = p;
  const parents = p.parents.map(({ seal }) => seal.head);
  const isFirst = isFirstChild(p);
  const plain = initialHead({
    owner,
    owners: item.owners,
    plan: options.plan,
    splits: sparse(owner.index, p.split),
    generation: moving.generation,
    epoch: moving.epoch,
    writer: moveWriter,
  });
  const replayUntil = new Map(item.until).get(splitName(owner.subtask, owner.index)) ?? 0;
  const head: EntryHead = {
    ...plain,
    n,
    base: n,
    flushedThrough: n - 1,
    lastCompleted: Math.max(...parents.map((parent) => parent.lastCompleted)),
    splits: plain.splits.map((split) => ({ ...split, replayUntil })),
    watermark: Math.min(...parents.map(({ watermark }) => watermark)),
    operatorWatermarks: plain.operatorWatermarks.map((_, at) => Math.min(...parents.map((parent) => parent.operatorWatermarks[at]!))),
    operatorState: await operatorState(run, p),
    snapshot: await inheritedSnapshot(run, p),
    transactions: isFirst ? parents.flatMap(({ transactions }) => transactions) : [],
  };
  return { head, body: { ...emptyBody, delta: await inheritedDelta(run, p) } };
}

function sparse(ordinal: number, split: Split): readonly Split[] {
  const splits: Split[] = [];
  splits[ordinal] = split;
  return splits;
}

async function operatorState(run: PulseRun, { moving, owner, n, parents }: Adoption): Promise<EntryHead['operatorState']> {
  const { objects } = run.options.ports;
  const states: (readonly OperatorRestore[])[] = [];
  for (const { seal } of parents) {
    const { operatorState: reference, subtask } = seal.head;
    const bytes = await readOperatorState(reference, { objects, subtask });
    if (bytes !== undefined) states.push(decodeOperatorState(bytes));
  }
  const index = moving.children.findIndex(({ subtask }) => subtask === owner.subtask);
  const bytes = encodeOperatorState(dealtOut(states, index, moving.children.length));
  if (bytes === undefined) return undefined;
  if (bytes.length <= inlineOperatorStateBytesMax) return { bytes, object: undefined };
  const object = `operator-state/${moving.generation}/${owner.subtask}/${n}-${moveWriter}`;
  await objects.putIfAbsent(object, bytes);
  return { bytes: undefined, object };
}

/** Pure: the share of one child in the operator state of its parents. */
export function dealtOut(parents: readonly (readonly OperatorRestore[])[], index: number, children: number): readonly OperatorRestore[] {
  const byUid = Map.groupBy(parents.flat(), ({ uid }) => uid);
  return [...byUid].map(([uid, stored]) => {
    const lists = Map.groupBy(
      stored.flatMap((o) => o.lists),
      ({ name }) => name,
    );
    return {
      uid,
      lists: [...lists.values()].map((same) => share(same, index, children)),
      keyed: [],
      sinkStates: [],
      accumulators: index === 0 ? stored.flatMap((o) => o.accumulators) : [],
    };
  });
}

function share(same: readonly OperatorListSnapshot[], index: number, children: number): OperatorListSnapshot {
  const [first] = same as readonly [OperatorListSnapshot, ...OperatorListSnapshot[]];
  if (first.redistribution === 'broadcast') return first;
  const elements = same.flatMap((list) => list.elements);
  if (first.redistribution === 'union') return { ...first, elements };
  return {
    ...first,
    elements: elements.slice(shareStart(elements.length, index, children), shareStart(elements.length, index + 1, children)),
  };
}
