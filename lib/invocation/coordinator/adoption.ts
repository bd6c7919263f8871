// What children get of their parents. Keyed state stays where it is; everything else that a subtask carries is handed on.
//   A1  Rows that wait for a barrier, and transactions whose commit is not confirmed, go to the first child: the next checkpoint is to promise them.
//   A2  Operator state is dealt out as on any change of parallelism: split lists in shares, union and broadcast lists to everyone, accumulators to
//       the first child.
//   A3  Event time goes on from the earliest of the parents.

import type { Split } from '../../api/source.ts';
import { shareStart } from '../../checkpoint/redistribute.ts';
import type { OperatorListSnapshot, OperatorRestore } from '../../checkpoint/snapshot.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Stage } from '../../graph/plan.ts';
import { type Entry, type EntryHead, emptyBody, type StateDelta } from '../entry.ts';
import { unpackEntry } from '../entry-codec.ts';
import type { Moving, Owner } from '../job-item.ts';
import { inlineOperatorStateBytesMax } from '../limits.ts';
import { readRing } from '../ring.ts';
import type { SubtaskState, VersionView } from '../state/contract.ts';
import { createBaseOf, createSubtaskState } from '../state/subtask-state.ts';
import { decodeOperatorState, encodeOperatorState } from '../unit/operators.ts';
import { initialHead } from './initial-head.ts';
import type { PulseRun } from './pulse-run.ts';
import { splitName } from './restored-entry.ts';
import { moveWriter } from './seal.ts';

export interface Adoption {
  readonly owner: Owner;
  /** Among the children. */
  readonly index: number;
  readonly split: Split;
  readonly n: number;
  readonly moving: Moving;
  /** Their seals. */
  readonly parents: readonly EntryHead[];
}

/** The first entry of a child. */
export async function adopt(run: PulseRun, p: Adoption): Promise<Entry> {
  const { item, options } = run;
  const { owner, index, n, moving, parents } = p;
  const ordinal = owner.splits[0] ?? 0;
  const plain = initialHead({
    owner,
    owners: item.owners,
    plan: options.plan,
    splits: sparse(ordinal, p.split),
    generation: moving.generation,
    epoch: moving.epoch,
    writer: moveWriter,
  });
  const delta = index === 0 ? await waitingRows(run, owner, parents) : emptyBody.delta;
  const largest = Math.min(...parents.flatMap(({ splits }) => splits.map((split) => split.largest)));
  const replayUntil = new Map(item.until).get(splitName(owner.subtask, ordinal)) ?? 0;
  const head: EntryHead = {
    ...plain,
    n,
    base: n,
    flushedThrough: n - 1,
    lastCompleted: Math.max(...parents.map((parent) => parent.lastCompleted)),
    splits: plain.splits.map((split) => ({ ...split, largest: Number.isFinite(largest) ? largest : split.largest, replayUntil })),
    watermark: Math.min(...parents.map(({ watermark }) => watermark)),
    operatorWatermarks: plain.operatorWatermarks.map((_, at) => Math.min(...parents.map((parent) => parent.operatorWatermarks[at]!))),
    operatorState: await operatorState(run, p),
    transactions: index === 0 ? parents.flatMap(({ transactions }) => transactions) : [],
  };
  return { head, body: { ...emptyBody, delta } };
}

function sparse(ordinal: number, split: Split): readonly Split[] {
  const splits: Split[] = [];
  splits[ordinal] = split;
  return splits;
}

/** Whether the job's state lies where children find it. */
export function movesState(run: PulseRun): boolean {
  return !baseOf(run, '', undefined).isWholeInMemory;
}

/** @returns false: some of it is left, the next pulse goes on */
export async function materialiseParent(run: PulseRun, seal: EntryHead): Promise<boolean> {
  const state = await stateOf(run, seal);
  return (await state.flush(viewOf(run, seal))).kind === 'flushed';
}

function baseOf(run: PulseRun, subtask: string, snapshot: string | undefined): ReturnType<ReturnType<typeof createBaseOf>> {
  const { ports, clock, random, plan } = run.options;
  const { generation, restores } = run.item;
  return createBaseOf({ ports, patience: { clock, random }, backend: plan.settings.backend })({
    subtask,
    snapshot,
    view: { generation, restores },
  });
}

/** The state of a sealed parent, as an environment would have it. */
async function stateOf(run: PulseRun, seal: EntryHead): Promise<SubtaskState> {
  const { changelog, objects } = run.options.ports;
  const state = emptyState(run, seal.subtask, seal.snapshot);
  const view = await readRing(changelog, { generation: seal.generation, subtask: seal.subtask }, run.item.ringSlots);
  if (view === undefined || view === 'closed') throw gone(seal);
  for (const stored of view.above) {
    const { head, body } = await unpackEntry(stored.bytes, objects);
    state.catchUp({ generation: head.generation, epoch: head.epoch, n: head.n }, body.delta);
  }
  return state;
}

function emptyState(run: PulseRun, subtask: string, snapshot: string | undefined): SubtaskState {
  const stage = stageOf(run, subtask);
  const groups = { first: 0, last: stage.maxParallelism - 1 };
  return createSubtaskState({ subtask, base: baseOf(run, subtask, snapshot), maxParallelism: stage.maxParallelism, groups });
}

function stageOf(run: PulseRun, subtask: string): Stage {
  return run.options.plan.stages[Number.parseInt(subtask, 10)]!; // names of subtasks begin with their stage
}

function viewOf(run: PulseRun, seal: EntryHead): VersionView {
  const { item } = run;
  const points = [...item.completed.map((c) => c.checkpoint), ...item.open.map((o) => o.checkpoint), ...seal.open];
  return { generation: seal.generation, restores: item.restores, points: [...new Set(points)], epoch: seal.epoch };
}

async function waitingRows(run: PulseRun, owner: Owner, parents: readonly EntryHead[]): Promise<StateDelta> {
  const sinks = stageOf(run, owner.subtask).operators.filter(({ node }) => node.operator.kind === 'sink');
  if (sinks.length === 0) return emptyBody.delta;
  const child = emptyState(run, owner.subtask, undefined);
  const rows = new Map<string, readonly Uint8Array[]>();
  for (const { uid } of sinks) {
    const waiting: Uint8Array[] = [];
    for (const parent of parents) {
      const state = await stateOf(run, parent);
      waiting.push(...(await resident(state, () => state.buffer(uid).all() ?? [])));
    }
    rows.set(uid, waiting);
  }
  await resident(child, () => {
    for (const [uid, waiting] of rows) for (const row of waiting) child.buffer(uid).append(row);
  });
  return unitOf(child, () => {
    for (const [uid, waiting] of rows) for (const row of waiting) child.buffer(uid).append(row);
    return child.takeDelta();
  });
}

/** Runs until everything that is touched is there. The run leaves no trace. */
async function resident<T>(state: SubtaskState, work: () => T): Promise<T> {
  for (;;) {
    // A unit that was abandoned does not know any more whether it was suspended.
    const { result, isSuspended } = unitOf(state, () => ({ result: work(), isSuspended: state.isSuspended }));
    if (!isSuspended) return result;
    await state.loadMissing();
  }
}

function unitOf<T>(state: SubtaskState, work: () => T): T {
  state.beginUnit();
  try {
    return work();
  } finally {
    state.abandonUnit();
  }
}

async function operatorState(run: PulseRun, { index, moving, owner, n, parents }: Adoption): Promise<EntryHead['operatorState']> {
  const { objects } = run.options.ports;
  const states: (readonly OperatorRestore[])[] = [];
  for (const { operatorState: stored, subtask } of parents) {
    if (stored === undefined) continue;
    const bytes = stored.object === undefined ? stored.bytes : await objects.get(stored.object);
    if (bytes === undefined) throw gone({ subtask });
    states.push(decodeOperatorState(bytes));
  }
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

function gone({ subtask }: Pick<EntryHead, 'subtask'>): SluiceError {
  return new SluiceError('OBJECT_MISSING', {
    message: `state of subtask ${subtask}, which others are to take over, is gone`,
    next: 'repair-state',
    subtask,
  });
}
