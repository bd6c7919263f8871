// The keyed state that a child begins with.
//   K1  Parents are sealed and materialised, so what is read here is what they were, whoever reads it and how often.
//   K2  What lies at an address with the name of a subtask in it (timers, waiting rows, dead letters) is written anew under the name of the child, in
//       the child's first entry. What lies by key alone is not touched.

import type { Split } from '../../api/source.ts';
import { encodedOf, normalizeKey } from '../../core/key-codec.ts';
import { keyGroupOf } from '../../core/key-group.ts';
import type { Stage } from '../../graph/plan.ts';
import type { StateDelta, StateWrite, TimerChange } from '../entry.ts';
import type { Moving, Owner } from '../job-item.ts';
import { decodeLetter, letterAddress, letterIdOf, lettersAddress } from '../poison/dead-letters.ts';
import { partitionText, timersAddress, timersState } from '../state/overlay.ts';
import { rowsState } from '../state/rows.ts';
import { decodeSnapshot, encodeSnapshot, type StoredPartition } from '../state/snapshot-format.ts';
import { changedTimers, decodeTimers } from '../state/value-format.ts';
import { placementOf } from './changes.ts';
import type { PulseRun } from './pulse-run.ts';
import { openState, type SealedParent, stageOf, stateGone } from './sealed-parent.ts';

/** The child that a key goes to. */
type Heir = (key: string) => Owner | undefined;

function heirs(stage: Stage, { children }: Moving): Heir {
  const placement = placementOf(stage);
  if (children.length === 1 || children.every(({ range }) => range === undefined)) return () => children[0];
  return (key) => {
    const at = placement(key);
    return children.find(({ range }) => range !== undefined && range.from <= at && at <= range.to) ?? children[0];
  };
}

export interface Adoption {
  /** The child. */
  readonly owner: Owner;
  readonly split: Split;
  readonly n: number;
  readonly moving: Moving;
  readonly parents: readonly SealedParent[];
}

export function isFirstChild({ owner, moving }: Pick<Adoption, 'owner' | 'moving'>): boolean {
  return moving.children[0]?.subtask === owner.subtask;
}

/** What the child's first entry writes. */
export async function inheritedDelta(run: PulseRun, p: Adoption): Promise<StateDelta> {
  const stage = stageOf(run, p.owner.subtask);
  const heir = heirs(stage, p.moving);
  const isMine = (key: string): boolean => heir(key)?.subtask === p.owner.subtask;
  const writes: StateWrite[] = [];
  const timers: TimerChange[] = [];
  for (const parent of p.parents) {
    if (parent.snapshot === undefined) timers.push(...(await timersOf(stage, parent, isMine)));
    writes.push(...(await lettersOf(stage, parent, p, heir)));
  }
  if (isFirstChild(p)) writes.push(...(await waitingRows(run, stage, p)));
  return { writes, timers };
}

async function timersOf(stage: Stage, { base, seal }: SealedParent, isMine: (key: string) => boolean): Promise<readonly TimerChange[]> {
  const changes: TimerChange[] = [];
  for (const { uid, node } of stage.operators) {
    if (node.operator.kind === 'source' || node.operator.kind === 'sink') continue;
    const addresses = Array.from({ length: stage.maxParallelism }, (_, group) => timersAddress(uid, group, seal.head.subtask));
    for (const bytes of await base.read(addresses)) if (bytes !== undefined) changes.push(...timersIn(bytes, uid, isMine));
  }
  return changes;
}

function timersIn(bytes: Uint8Array, operator: string, isMine: (key: string) => boolean): readonly TimerChange[] {
  return decodeTimers(bytes, operator)
    .filter(({ keyText }) => isMine(keyText))
    .map(({ domain, time, keyText, cause }) => ({ operator, domain, isSet: true, time, key: keyText, cause }));
}

async function lettersOf(stage: Stage, { state, seal }: SealedParent, p: Adoption, heir: Heir): Promise<readonly StateWrite[]> {
  const letters = await state.list(lettersAddress(seal.head.subtask));
  return letters
    .filter(([, bytes]) => heirOfLetter(stage, p.moving, bytes, heir)?.subtask === p.owner.subtask)
    .map(([sub, value]) => ({ address: letterAddress(p.owner.subtask, letterIdOf(sub)), value }));
}

/** A letter holds a record as the source gave it, or names the key of a timer. */
function heirOfLetter(stage: Stage, { children }: Moving, bytes: Uint8Array, heir: Heir): Owner | undefined {
  const operator = stage.operators[0]?.node.operator;
  const letter = decodeLetter(bytes);
  if (letter.timer !== undefined) return heir(letter.timer.key);
  const selector = operator?.kind === 'source' ? operator.partitionedBy : undefined;
  if (selector === undefined) return children[0];
  try {
    return heir(encodedOf(normalizeKey(selector(letter.batch.values[0]))));
  } catch {
    return children[0]; // the selector may be what parked it
  }
}

/** Rows of all parents, in order of parents, as the child would have buffered them. */
async function waitingRows(run: PulseRun, stage: Stage, { owner, parents }: Adoption): Promise<readonly StateWrite[]> {
  const sinks = stage.operators.filter(({ node }) => node.operator.kind === 'sink');
  const { state: child } = openState(run, { subtask: owner.subtask, snapshot: undefined });
  const waiting: (readonly [sink: string, row: Uint8Array])[] = [];
  for (const { uid } of sinks) {
    for (const { state } of parents) {
      const rows = await resident(state, () => state.buffer(uid).all() ?? []);
      waiting.push(...rows.map((row) => [uid, row] as const));
    }
  }
  return resident(child, () => {
    for (const [uid, row] of waiting) child.buffer(uid).append(row);
    return child.isSuspended ? [] : child.takeDelta().writes;
  });
}

/** Runs until everything that is touched is there. The run leaves no trace. */
async function resident<T>(state: Adoption['parents'][number]['state'], work: () => T): Promise<T> {
  for (;;) {
    state.beginUnit();
    try {
      const result = work();
      if (!state.isSuspended) return result;
    } finally {
      state.abandonUnit();
    }
    await state.loadMissing();
  }
}

/**
 * For backends whose state is a snapshot: the child's first one.
 * @returns `undefined` where the table is the state, or there is none
 */
export async function inheritedSnapshot(run: PulseRun, p: Adoption): Promise<string | undefined> {
  const { objects } = run.options.ports;
  const { owner, moving, n } = p;
  const stage = stageOf(run, owner.subtask);
  const heir = heirs(stage, moving);
  const isMine = (key: string): boolean => heir(key)?.subtask === owner.subtask;
  const values = new Map<string, StoredPartition>();
  const timers: TimerChange[] = [];
  for (const { snapshot, seal } of p.parents) {
    if (snapshot === undefined) continue;
    const bytes = await objects.get(snapshot);
    if (bytes === undefined) throw stateGone(seal.head.subtask);
    for (const stored of decodeSnapshot(bytes)) {
      const { operator, state, key } = stored.partition;
      if (state === timersState) for (const timersBytes of stored.pieces.values()) timers.push(...timersIn(timersBytes, operator, isMine));
      else if (operator !== rowsState && operator !== lettersAddress('').operator && isMine(key)) values.set(textOf(stored), stored);
    }
  }
  for (const stored of timerPartitions(timers, stage, owner)) values.set(textOf(stored), stored);
  if (values.size === 0) return undefined;
  // It goes up to before entry `n`, which writes more: by the number of that entry the child will name the snapshot that has this too.
  const name = `snapshot/${moving.generation}/${owner.subtask}/${n - 1}`;
  await objects.putIfAbsent(name, encodeSnapshot(values));
  return name;
}

function* timerPartitions(timers: readonly TimerChange[], { maxParallelism }: Stage, { subtask }: Owner): Generator<StoredPartition> {
  const groups = Map.groupBy(
    timers,
    ({ operator, key }) => timersAddress(operator, keyGroupOf(key, maxParallelism), subtask).key + operator,
  );
  for (const changes of groups.values()) {
    const { operator, key } = changes[0]!;
    const { sub, ...partition } = timersAddress(operator, keyGroupOf(key, maxParallelism), subtask);
    const bytes = changedTimers(undefined, changes, operator);
    if (bytes !== undefined) yield { partition, pieces: new Map([[sub, bytes]]) };
  }
}

function textOf({ partition }: StoredPartition): string {
  return partitionText(partition);
}
