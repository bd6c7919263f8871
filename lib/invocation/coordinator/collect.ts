// Cleaning up: what no owner and no retained or open checkpoint needs goes. Every step may be done again.
//   K1  A ring is needed by the owners of the job, and by each checkpoint that may still be restored or completed.
//   K2  A ring that nobody needs is closed: stubs over all of its slots, since an environment that sleeps would append into an empty one. The stubs
//       go when no environment of that time can live.
//       With the last ring of a subtask what lies under its name goes too (departed-state.ts).
//       One whose subtask gave way to others in this generation is closed when everyone has taken its last message: large ones lie under its ring.
//       Closing and removing take a write for each slot and nobody waits for them, so a pulse does a bounded number: what a restore of many subtasks
//       leaves behind keeps no pulse from what comes next, and ends none before its function does.
//   K3  What is listed is judged by an item that was read before: numbers that it does not know yet are left alone.
//   K4  Listing costs more than what it finds, so an environment that left nothing behind removes what has ended since by name. What others left,
//       and what came late, is found by the lists of every so manieth checkpoint.

import { acknowledgementName, type JobItem, type OpenCheckpoint, type Owner } from '../job-item.ts';
import { tombstoneLifeMs } from '../limits.ts';
import { stubForSlot } from '../ring.ts';
import { metadataPrefix } from './checkpoint-objects.ts';
import { concurrently } from './concurrently.ts';
import { removeDepartedState } from './departed-state.ts';
import { gravePrefix, timeContent, timeOf } from './graves.ts';
import { sourceOf } from './owners.ts';
import type { PulseRun } from './pulse-run.ts';
import { ringName, ringOf } from './ring-creation.ts';
import { needsOf, objectsOfRing, sweepLive } from './sweep.ts';

export async function collect(run: PulseRun): Promise<void> {
  const { item, options } = run;
  if (item.restoring !== undefined || item.moving !== undefined) return;
  if (run.hasEnded || mayBeUnswept(run)) await cleanUpCheckpoints(run);
  await collectRings(
    run,
    ringsToCollect(item, ({ stage }) => sourceOf(options.plan.stages[stage])?.queue !== undefined),
  );
  if (options.sweeps === true) await sweepLive(run);
}

/** Of a job that is over no checkpoint ends any more: whoever ended it may have died before it cleaned up, and nobody else would. */
function mayBeUnswept({ item, options }: PulseRun): boolean {
  const { status } = item;
  return (status === 'cancelled' || status === 'failed' || status === 'finished') && options.memory?.isSwept !== true;
}

const checkpointsPerSweep = 16;

/** Acknowledgements and handles of checkpoints that are over. */
async function cleanUpCheckpoints(run: PulseRun): Promise<void> {
  const { memory, sweeps } = run.options;
  const ended = endedCheckpoints(run.before, run.item);
  const canName = memory?.isSwept === true && sweeps !== true && ended !== undefined;
  if (memory !== undefined) memory.isSwept = false;
  if (canName) await removeEnded(run, ended);
  else await sweepCheckpoints(run);
  if (memory !== undefined) memory.isSwept = true;
  for (const checkpoint of run.handles.keys()) {
    if (!run.item.completed.some((c) => c.checkpoint === checkpoint)) run.handles.delete(checkpoint);
  }
}

/** Pure: the checkpoints that a pulse ended, where that is all that ended in it; `undefined`: look at everything. */
export function endedCheckpoints(before: JobItem, now: JobItem): readonly OpenCheckpoint[] | undefined {
  const ended = before.open.filter((o) => !now.open.some(({ checkpoint }) => checkpoint === o.checkpoint));
  const hasElse = before.status !== now.status || before.generation !== now.generation || before.owners.length !== now.owners.length;
  return hasElse || ended.length === 0 || ended.some((o) => o.checkpoint % checkpointsPerSweep === 0) ? undefined : ended;
}

async function removeEnded(run: PulseRun, ended: readonly OpenCheckpoint[]): Promise<void> {
  const { items, objects } = run.options.ports;
  const acknowledgements = ended.flatMap(({ checkpoint, owners }) => owners.map((subtask) => acknowledgementName(checkpoint, subtask)));
  await concurrently(acknowledgements, run.concurrency, (name) => items.remove({ name, expects: 'any' }));
  const kept = new Set(run.item.completed.map((c) => c.metadata));
  const metadata = run.before.completed.map((c) => c.metadata).filter((name) => !kept.has(name));
  await concurrently(metadata, run.concurrency, (name) => objects.remove(name));
}

async function sweepCheckpoints(run: PulseRun): Promise<void> {
  const { item } = run;
  const { items, objects } = run.options.ports;
  const isOver = (checkpoint: number): boolean => checkpoint <= item.begun && !item.open.some((o) => o.checkpoint === checkpoint);
  const acknowledgements = (await items.list('ack/')).filter(({ name }) => isOver(Number(name.split('/')[1])));
  await concurrently(acknowledgements, run.concurrency, ({ name }) => items.remove({ name, expects: 'any' }));
  const kept = new Set(item.completed.map((c) => c.metadata));
  const metadata = (await objects.list(metadataPrefix)).filter((name) => isOver(Number(name.split('/')[1])) && !kept.has(name));
  await concurrently(metadata, run.concurrency, (name) => objects.remove(name));
}

/** Pure: rings of the item that nobody needs. */
export function ringsToCollect(item: JobItem, keepsInput: (owner: Owner) => boolean = () => false): readonly string[] {
  const needed = neededRings(item, keepsInput);
  return item.rings.filter((name) => !needed.has(name));
}

/** Pure. */
export function neededRings(item: JobItem, keepsInput: (owner: Owner) => boolean = () => false): ReadonlySet<string> {
  const { generation, owners } = item;
  // A cancelled job never goes on from its changelogs, a paused or failed one may. A restore of it asks for the input that they keep.
  const isOwned = (owner: Owner): boolean => item.status !== 'cancelled' || (item.completed.length > 0 && keepsInput(owner));
  const owned = owners.filter(isOwned).map(({ subtask }) => ringName({ generation, subtask }));
  const completed = item.completed.flatMap((c) => c.owners.map(({ subtask }) => ringName({ generation: c.generation, subtask })));
  const open = item.open.flatMap((o) => o.owners.map((subtask) => ringName({ generation: o.generation, subtask })));
  return new Set([...owned, ...completed, ...open]);
}

/** Written or removed by one pulse, in whole rings and at least one: a second or so where a ring takes a thousand writes a second. */
const slotsPerPulse = 1_024;

function ringsPerPulse({ ringSlots }: Pick<JobItem, 'ringSlots'>): number {
  return Math.max(1, Math.floor(slotsPerPulse / ringSlots));
}

async function collectRings(run: PulseRun, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const { items } = run.options.ports;
  const graves = new Map((await items.list(gravePrefix)).map((grave) => [grave.name, timeOf(grave)]));
  const now = run.options.clock.now();
  const fresh = names.filter((name) => !graves.has(gravePrefix + name));
  const old = names.filter((name) => now - (graves.get(gravePrefix + name) ?? now) > tombstoneLifeMs);
  if (fresh.length > 0) await buryRings(run, fresh);
  if (old.length > 0) await removeRings(run, old.slice(0, ringsPerPulse(run.item)));
}

async function buryRings(run: PulseRun, names: readonly string[]): Promise<void> {
  const { item, options } = run;
  const { changelog, items, objects } = options.ports;
  const needs = await needsOf(run);
  if (needs === undefined) return; // the job goes on too fast to judge; the next pulse looks again
  const { references } = needs;
  let buried = 0;
  for (const name of names) {
    if (buried === ringsPerPulse(item)) break;
    const ring = ringOf(name);
    const hasGivenWay = ring.generation === item.generation && !item.owners.some(({ subtask }) => subtask === ring.subtask);
    if (hasGivenWay && !needs.isHeard(ring.subtask)) continue;
    const slots = Array.from({ length: item.ringSlots }, (_, slot) => slot);
    await concurrently(slots, run.concurrency, (slot) => changelog.overwrite({ ring, slot, entry: stubForSlot(slot, item.ringSlots) }));
    const gone = (await objectsOfRing(objects, ring)).filter((object) => !references.has(object));
    await concurrently(gone, run.concurrency, (object) => objects.remove(object));
    await items.put({ name: gravePrefix + name, content: timeContent(options.clock.now()), expects: 'absent' });
    buried++;
  }
  const marks = (await items.list('replayed/')).filter((mark) => Number(mark.name.split('/')[1]) < item.generation);
  await concurrently(marks, run.concurrency, ({ name }) => items.remove({ name, expects: 'any' }));
}

/** Pure: no other ring has this subtask, so no owner and no checkpoint has. */
function isLastRing(item: JobItem, subtask: string, removed: readonly string[]): boolean {
  return !item.rings.some((name) => !removed.includes(name) && ringOf(name).subtask === subtask);
}

async function removeRings(run: PulseRun, names: readonly string[]): Promise<void> {
  const { changelog, items, objects } = run.options.ports;
  const references = (await needsOf(run))?.references;
  if (references === undefined) return;
  for (const name of names) {
    const ring = ringOf(name);
    await changelog.remove(ring);
    const left = [...(await objectsOfRing(objects, ring)), ...(await objects.list(`decided/${name}/`))];
    const gone = left.filter((object) => !references.has(object));
    await concurrently(gone, run.concurrency, (object) => objects.remove(object));
    if (isLastRing(run.item, ring.subtask, names)) await removeDepartedState(run, ring);
    await items.remove({ name: gravePrefix + name, expects: 'any' });
  }
  await run.change((item) => ({ ...item, rings: item.rings.filter((name) => !names.includes(name)) }));
}
