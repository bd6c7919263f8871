// A change of owners: a source says that splits are closed and which ones go on in their place. Parents are sealed, their state is put where their
// children find it, and then the children own what the parents owned. Cut off anywhere it is gone on with by the next pulse.
//   M1  It begins when the parents have read to their ends (C1 of changes.ts). The mark lists the rings that are going to be, and no checkpoint begins
//       until the change is over; a restore that begins cancels it in the same write.
//   M2  A parent is sealed right behind an entry that is known to be delivered: it said so after that entry, and the seal has the next number. It is
//       not opened again in this generation.
//   M3  The seal is the parent's part in every checkpoint that was open and that it had not passed: it carries their barriers, and behind them tells
//       everyone that the parent sent to who sends in its place. It is acknowledged when that has been sent and the parent's state lies in its base.
//   M4  What the parent committed is in the base, whole, before a child exists.
//   M5  Children number above all parents and begin in an epoch above every checkpoint that was ever begun, so that versions of a key stay in order.
//   M6  What a parent had read is kept, so that a later restore knows how far to replay it.

import { isSluiceError } from '../../core/errors.ts';
import type { Plan } from '../../graph/plan.ts';
import type { Entry } from '../entry.ts';
import { packEntry, unpackEntry } from '../entry-codec.ts';
import type { JobItem, Moving } from '../job-item.ts';
import { inlineBytesMax } from '../limits.ts';
import { sendAll } from '../patience.ts';
import { appendEntry, readRing } from '../ring.ts';
import { outgoingOf } from '../unit/deliver.ts';
import { adopt } from './adoption.ts';
import { type DueChange, dueChange, knownSplits } from './changes.ts';
import { ask } from './inject.ts';
import { acknowledgeBySeal, moveSeal } from './move-seal.ts';
import type { PulseRun } from './pulse-run.ts';
import { changeOf, moveName } from './read-job.ts';
import { withSealed, withSealedPlaces } from './restore.ts';
import { createRing, listedRings, payloadName } from './ring-creation.ts';
import { isMoveSeal } from './seal.ts';
import { type SealedParent, sealedParent } from './sealed-parent.ts';

const sealTriesMax = 4;

/** Carries out the change under way, and every other one that is due. */
export async function move(run: PulseRun): Promise<void> {
  while (await moveOne(run));
}

/** @returns whether a change is over by it */
async function moveOne(run: PulseRun): Promise<boolean> {
  if (run.item.moving === undefined && !(await begin(run))) return false;
  const { moving } = run.item;
  if (moving === undefined || run.item.restoring !== undefined) return false;
  try {
    return await carryOut(run, moving);
  } catch (e) {
    // Whoever finished the change may have cleaned up behind it.
    if (!isSluiceError(e) || e.code !== 'OBJECT_MISSING') throw e;
    await run.refresh();
    if (run.item.moving !== undefined && moveName(run.item.moving) === moveName(moving)) throw e;
    return false;
  }
}

async function carryOut(run: PulseRun, moving: Moving): Promise<boolean> {
  const parents: SealedParent[] = [];
  for (const subtask of moving.parents) {
    const seal = await sealParent(run, subtask, moving);
    const parent = seal === undefined ? undefined : await handOver(run, seal);
    if (parent === undefined) return false;
    parents.push(parent);
  }
  if (!(await createChildren(run, moving, parents))) return false;
  const heads = parents.map(({ seal }) => seal.head);
  await run.change((item) => withMoved(item, moving, heads, run.options.plan));
  run.hasEnded = true;
  return run.item.moving === undefined;
}

/** @returns whether a change is under way now */
async function begin(run: PulseRun): Promise<boolean> {
  if (!mayBegin(run.item)) return false;
  const due = await dueChange(run);
  if (due === undefined) return false;
  await run.change((item) => withMoving(item, due));
  return run.item.moving !== undefined;
}

function mayBegin(item: JobItem): boolean {
  return item.restoring === undefined && item.moving === undefined && item.status === 'running';
}

/** Pure: the item with the change under way, or the same one when it may not begin. */
export function withMoving(item: JobItem, { generation, parents, children }: DueChange): JobItem {
  if (!mayBegin(item) || item.generation !== generation) return item;
  if (!parents.every((name) => item.owners.some(({ subtask }) => subtask === name))) return item;
  const epoch = item.begun + 1;
  return { ...item, moving: { generation, parents, children, epoch }, rings: listedRings(item, generation, children) };
}

/** Pure: the item with the children as owners, or the same one when this change was cancelled. */
export function withMoved(item: JobItem, moving: Moving, seals: readonly Entry['head'][], plan: Plan): JobItem {
  if (item.status !== 'running' || item.restoring !== undefined) return item;
  if (item.moving === undefined || moveName(item.moving) !== moveName(moving)) return item;
  return {
    ...item,
    moving: undefined,
    owners: [...item.owners.filter(({ subtask }) => !moving.parents.includes(subtask)), ...moving.children],
    until: withSealed(item.until, seals),
    places: withSealedPlaces(item.places, seals, plan),
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
    // Another coordinator's seal has the same writer, and may carry the barriers of other checkpoints: what lies there is what counts.
    if ((await appendEntry(changelog, ring, run.item.ringSlots, view.head.base, entry)) === 'appended') return seal;
  }
  return undefined;
}

/** Everything that follows from a seal. @returns `undefined`: some of it is left, the next pulse goes on */
async function handOver(run: PulseRun, seal: Entry): Promise<SealedParent | undefined> {
  const { ports, clock, random } = run.options;
  await sendAll(ports.exchange, outgoingOf(seal), { clock, random });
  const parent = await sealedParent(run, seal);
  if (parent === undefined || !(await parent.materialise())) return undefined;
  await acknowledgeBySeal(run, parent);
  return parent;
}

/** @returns false when the change was cancelled meanwhile */
async function createChildren(run: PulseRun, moving: Moving, parents: readonly SealedParent[]): Promise<boolean> {
  const { ports } = run.options;
  const change = changeOf(run.item);
  const n = Math.max(...parents.map(({ seal }) => seal.head.n)) + 1;
  const known = new Map<number, Awaited<ReturnType<typeof knownSplits>>>();
  for (const { stage } of moving.children) if (!known.has(stage)) known.set(stage, await knownSplits(ports, stage));
  for (const owner of moving.children) {
    const split = known.get(owner.stage)!.get(owner.index)!; // registered before the change began
    const entry = await adopt(run, { owner, split, n, moving, parents });
    if ((await createRing(ports, { entry, slots: run.item.ringSlots, change })) === 'refused') return false;
  }
  return true;
}
