// A change of owners: a source says that splits are closed and which ones go on in their place. Parents are sealed, their state is put where their
// children find it, and then the children own what the parents owned. Cut off anywhere it is gone on with by the next pulse.
//   M1  It begins when the parents have read to their ends and no checkpoint is open, and no checkpoint begins until it is over: whoever takes
//       part in a checkpoint takes part from its barrier to its acknowledgement.
//   M2  A parent is sealed right behind an entry that is known to be delivered: it said so after that entry, and the seal has the next number.
//       The seal tells everyone that the parent sent to who sends in its place. It is not opened again in this generation.
//   M3  What the parent committed is in the state table, whole, before a child exists. So this needs a backend whose state is the table.
//   M4  Children number above all parents and begin in a new epoch, so that versions of a key stay in order.
//   M5  What a parent had read is kept, so that a later restore knows how far to replay it.
// Timers lie with their keys; which child a key goes to is the source's business.

import type { Split } from '../../api/source.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import { type Entry, emptyBody, nextEpoch } from '../entry.ts';
import { packEntry, unpackEntry } from '../entry-codec.ts';
import type { JobItem, Moving, Owner } from '../job-item.ts';
import { inlineBytesMax } from '../limits.ts';
import { Outbox } from '../outbox.ts';
import { sendAll } from '../patience.ts';
import { appendEntry, readRing } from '../ring.ts';
import { outgoingOf } from '../unit/deliver.ts';
import { adopt, materialiseParent, movesState } from './adoption.ts';
import { newestHead } from './facts.ts';
import { ask } from './inject.ts';
import type { PulseRun } from './pulse-run.ts';
import { changeOf } from './read-job.ts';
import { withSealed } from './restore.ts';
import { createRing, listedRings, payloadName } from './ring-creation.ts';
import { isMoveSeal, moveWriter } from './seal.ts';

/** What a source says of splits that are closed. Names and ordinals are the same whenever it is said. */
export interface Reshard {
  readonly parents: readonly {
    readonly subtask: string;
    /** Index behind the last record. */
    readonly end: number;
  }[];
  readonly children: readonly { readonly owner: Owner; readonly split: Split }[];
}

const sealTriesMax = 4;

/** Begins the first change of owners that is due, or moves the one under way one step on. */
export async function move(run: PulseRun): Promise<void> {
  if (run.item.moving === undefined && !(await begin(run))) return;
  const { moving } = run.item;
  if (moving === undefined || run.item.restoring !== undefined) return;
  const seals: Entry[] = [];
  for (const parent of moving.parents) {
    const seal = await sealParent(run, parent, moving);
    if (seal === undefined) return;
    seals.push(seal);
  }
  const { ports, clock, random } = run.options;
  for (const seal of seals) await sendAll(ports.exchange, outgoingOf(seal), { clock, random });
  for (const seal of seals) if (!(await materialiseParent(run, seal.head))) return;
  await createChildren(run, moving, seals);
  await run.change((item) => withMoved(item, moving, seals));
  run.hasEnded = true;
}

/** @returns whether a change is under way now */
async function begin(run: PulseRun): Promise<boolean> {
  const due = await dueReshard(run);
  if (due === undefined) return false;
  if (!movesState(run)) {
    run.notice(
      `splits of subtask ${due.parents[0]?.subtask} are closed`,
      new Error('owners can change only where state lies in the state table'),
    );
    return false;
  }
  run.isMoveDue = true;
  for (const { owner, split } of due.children) {
    await run.options.ports.items.put({
      name: splitName(owner.subtask),
      content: { bytes: encodeValue(split), change: '' },
      expects: 'absent',
    });
  }
  await run.change((item) => withMoving(item, due));
  return run.item.moving !== undefined;
}

/** The first one whose parents all own something and have come to their ends. */
async function dueReshard(run: PulseRun): Promise<Reshard | undefined> {
  const owners = new Set(run.item.owners.map(({ subtask }) => subtask));
  for (const reshard of run.options.reshards ?? []) {
    if (!reshard.parents.every(({ subtask }) => owners.has(subtask))) continue;
    if (await haveReachedEnds(run, reshard)) return reshard;
  }
  return undefined;
}

async function haveReachedEnds(run: PulseRun, { parents }: Reshard): Promise<boolean> {
  for (const { subtask, end } of parents) {
    const head = await newestHead(run, run.ring(subtask));
    if (head === undefined || !head.splits.every(({ position }) => (position?.index ?? 0) >= end)) return false;
  }
  return true;
}

/** Pure: the item with the change under way, or the same one when it may not begin. */
export function withMoving(item: JobItem, { parents, children }: Reshard): JobItem {
  if (item.restoring !== undefined || item.moving !== undefined || item.status !== 'running' || item.open.length > 0) return item;
  const names = parents.map(({ subtask }) => subtask);
  if (!names.every((name) => item.owners.some(({ subtask }) => subtask === name))) return item;
  const owners = children.map(({ owner }) => owner);
  const { generation } = item;
  const epoch = item.begun + 1;
  return { ...item, moving: { generation, parents: names, children: owners, epoch }, rings: listedRings(item, generation, owners) };
}

/** Pure: the item with the children as owners, or the same one when this change was cancelled. */
export function withMoved(item: JobItem, moving: Moving, seals: readonly Entry[]): JobItem {
  if (item.restoring !== undefined || item.moving === undefined || changeOf(item) !== changeOf({ moving, restoring: undefined }))
    return item;
  return {
    ...item,
    moving: undefined,
    owners: [...item.owners.filter(({ subtask }) => !moving.parents.includes(subtask)), ...moving.children],
    until: withSealed(
      item.until,
      seals.map(({ head }) => head),
    ),
  };
}

/** @returns `undefined`: not yet, the next pulse tries again */
async function sealParent(run: PulseRun, subtask: string, moving: Moving): Promise<Entry | undefined> {
  const { changelog, objects } = run.options.ports;
  const ring = { generation: moving.generation, subtask };
  for (let tries = 0; tries < sealTriesMax; tries++) {
    const view = await readRing(changelog, ring, run.item.ringSlots);
    if (view === undefined || view === 'closed') return undefined;
    if (view.head.kind === 'seal') return isMoveSeal(view.head) ? unpackEntry(view.newest.bytes, objects) : undefined;
    const answer = await ask(run, { kind: 'tick', subtask });
    if (answer?.kind !== 'done') return undefined;
    const seal = moveSeal(run, { subtask, moving, head: view.head });
    const packed = packEntry(seal, { inlineBytesMax, objectName: payloadName(seal.head) });
    if (packed.object !== undefined) await objects.putIfAbsent(packed.object.name, packed.object.bytes);
    const entry = { n: seal.head.n, writer: seal.head.writer, bytes: packed.bytes };
    if ((await appendEntry(changelog, ring, run.item.ringSlots, view.head.base, entry)) !== 'lost') return seal;
  }
  return undefined;
}

function moveSeal(run: PulseRun, p: { readonly subtask: string; readonly moving: Moving; readonly head: Entry['head'] }): Entry {
  const { item, options } = run;
  const owner = item.owners.find((o) => o.subtask === p.subtask)!; // parents own until the change is over
  const senders = p.moving.children.map(({ subtask }) => subtask);
  const outbox = new Outbox({ plan: options.plan, owner, owners: item.owners });
  const { messages, sent } = outbox.pack([], p.head, { kind: 'successors', senders });
  const head = { ...p.head, n: p.head.n + 1, kind: 'seal' as const, writer: moveWriter, epoch: nextEpoch(p.head), sent };
  return { head, body: { ...emptyBody, messages } };
}

async function createChildren(run: PulseRun, moving: Moving, seals: readonly Entry[]): Promise<void> {
  const { ports } = run.options;
  const change = changeOf(run.item);
  const n = Math.max(...seals.map(({ head }) => head.n)) + 1;
  for (const [index, owner] of moving.children.entries()) {
    const stored = await ports.items.get(splitName(owner.subtask));
    if (stored === undefined) continue; // it was put before the change began
    const split = decodeValue(stored.bytes) as Split;
    const entry = await adopt(run, { owner, index, split, n, moving, parents: seals.map(({ head }) => head) });
    await createRing(ports, { entry, slots: run.item.ringSlots, change });
  }
}

function splitName(subtask: string): string {
  return `split/${subtask}`;
}
