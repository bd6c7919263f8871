// Objects of versions that an item holds no more. A large value lies in an object, and when its version is dropped nothing leads to it.
//   D1  The note is stored before the put that drops the version, so a crash in between loses no object. The put may be lost as well: whoever goes by
//       the note looks at the item first.
//   D2  A day later nobody lives who has read the item as it was, or who could put the version there again.

import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import { tombstoneLifeMs } from '../limits.ts';
import { type Patience, readAll } from '../patience.ts';
import type { ItemAddress, ObjectStore, StateItem, StateTable } from '../ports.ts';
import { addressKey } from '../request-limits.ts';
import { decodeItem, type Version } from '../versions.ts';

const statePrefix = 'state/';
export const droppedPrefix = 'dropped/';
const noteFormat = 1;

type Note = readonly [format: number, atMs: number, partition: string, sort: string];

function objectsOf(versions: readonly Version[]): readonly string[] {
  return versions.flatMap(({ object }) => object ?? []);
}

/** @param held  versions of the item; @param left  what it is going to hold */
export async function noteDropped(
  objects: ObjectStore,
  p: { readonly address: ItemAddress; readonly held: readonly Version[]; readonly left: readonly Version[]; readonly nowMs: number },
): Promise<void> {
  const { address, held, left, nowMs } = p;
  const kept = new Set(objectsOf(left));
  const note: Note = [noteFormat, nowMs, address.partition, address.sort];
  for (const object of objectsOf(held))
    if (!kept.has(object)) await objects.putIfAbsent(droppedPrefix + object.slice(statePrefix.length), encodeValue(note));
}

interface Dropped {
  readonly note: string;
  readonly object: string;
  readonly address: ItemAddress;
}

/** Removes objects that were dropped more than a day ago. */
export async function removeDropped(
  { table, objects }: { readonly table: StateTable; readonly objects: ObjectStore },
  patience: Patience,
): Promise<void> {
  const due: Dropped[] = [];
  for (const note of await objects.list(droppedPrefix)) {
    const bytes = await objects.get(note);
    if (bytes === undefined) continue; // another coordinator was faster
    const [format, atMs, partition, sort] = decodeValue(bytes) as Note;
    if (format !== noteFormat || patience.clock.now() - atMs <= tombstoneLifeMs) continue;
    due.push({ note, object: statePrefix + note.slice(droppedPrefix.length), address: { partition, sort } });
  }
  if (due.length === 0) return;
  const addresses = due.map(({ address }) => address);
  const items = new Map((await readAll(table, addresses, patience)).map((item) => [addressKey(item.address), item]));
  for (const { note, object, address } of due) {
    if (!isHeld(items.get(addressKey(address)), object)) await objects.remove(object);
    await objects.remove(note);
  }
}

function isHeld(item: StateItem | undefined, object: string): boolean {
  return item !== undefined && objectsOf(decodeItem(item.bytes)).includes(object);
}
