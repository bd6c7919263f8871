// The versions of one item of the state table, newest first, and which of them a writer sees, keeps and forgets.
//
// A restore undoes what came after its checkpoint without touching a single item: it only makes those versions invisible. So an item keeps more
// than its newest version, namely what a restore could still bring back, and a reader needs to know every restore that ever was.
//
//   N1  A version belongs to an epoch of a generation. It is visible in a generation unless a restore in between went back to before its epoch.
//   N2  Of one epoch there is one version, the one with the larger entry number; an epoch is restored as a whole or not at all.
//   N3  A writer keeps what any reader may still ask for: the newest visible version, the newest visible one at each point that a restore may go
//       back to and at its own epoch, and visible ones above its own epoch. The last are those of writers that have overtaken it. What restores
//       hid and aborted checkpoints left is forgotten, so the number of versions does not grow with them.
//   N4  An item is never removed by a writer. Absent would mean "never written", and a writer that slept would find its condition true.
//   N5  Tags say which versions an item has; equal tags mean equal content. They are what a put is conditional on.

import { ValueReader, ValueWriter } from '../core/value-codec.ts';
import { tombstoneLifeMs } from './limits.ts';
import { readChoice, readList, writeList } from './payload.ts';
import type { StateItem } from './ports.ts';
import type { VersionTag, VersionView } from './state/contract.ts';

/** A tag and a value, or the object that holds a large one. Neither: a tombstone, nothing was there any more. */
export interface Version extends VersionTag {
  readonly value: Uint8Array | undefined;
  readonly object: string | undefined;
}

export function isTombstone(v: Version): boolean {
  return v.value === undefined && v.object === undefined;
}

const itemFormat = 1;
const contents = ['tombstone', 'value', 'object'] as const;

/** @param versions  newest first, one at least */
export function encodeItem(versions: readonly Version[]): Pick<StateItem, 'tags' | 'bytes'> {
  const writer = new ValueWriter();
  writer.writeByte(itemFormat);
  writeList(writer, versions, (v) => {
    writer.writeVarint(v.generation);
    writer.writeVarint(v.epoch);
    writer.writeVarint(v.n);
    const content = v.object !== undefined ? 'object' : v.value !== undefined ? 'value' : 'tombstone';
    writer.writeByte(contents.indexOf(content));
    if (v.object !== undefined) writer.writeString(v.object);
    else if (v.value !== undefined) writer.writeBytes(v.value);
  });
  return { tags: tagsOf(versions), bytes: writer.take() };
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeItem(bytes: Uint8Array): readonly Version[] {
  const reader = new ValueReader(bytes, 0, 'state item');
  reader.readFormat(itemFormat);
  const versions = readList<Version>(reader, () => {
    const tag: VersionTag = { generation: reader.readVarint(), epoch: reader.readVarint(), n: reader.readVarint() };
    const content = readChoice(reader, contents, 'content of a version');
    return {
      ...tag,
      value: content === 'value' ? reader.readBytes() : undefined,
      object: content === 'object' ? reader.readString() : undefined,
    };
  });
  reader.expectEnd();
  return versions;
}

/** Canonical text of the versions of an item, short enough for a condition. */
export function tagsOf(versions: readonly Version[]): string {
  return versions.map((v) => `${v.generation}.${v.epoch}.${v.n}`).join();
}

/** Whether the version exists for a reader of the generation of `view`. */
export function isVisible(v: VersionTag, view: Pick<VersionView, 'generation' | 'restores'>): boolean {
  for (const r of view.restores) {
    if (v.generation < r.generation && r.generation <= view.generation && v.epoch > r.checkpoint) return false;
  }
  return true;
}

/**
 * The newest visible version.
 * @param versions  newest first
 * @param maxEpoch  only up to this epoch: what a restore to the checkpoint of that number brings back
 */
export function visibleVersion(
  versions: readonly Version[],
  view: Pick<VersionView, 'generation' | 'restores'>,
  maxEpoch: number = Number.POSITIVE_INFINITY,
): Version | undefined {
  return versions.find((v) => v.epoch <= maxEpoch && isVisible(v, view));
}

/**
 * What the item should hold after the writer's versions came to those that are stored.
 * @param mine  of the writer, in any order
 * @returns newest first; never empty when `mine` has a version of the writer's own generation
 */
export function mergeVersions(stored: readonly Version[], mine: readonly Version[], view: VersionView): readonly Version[] {
  return keptVersions(unite(stored, mine), view);
}

function unite(stored: readonly Version[], mine: readonly Version[]): readonly Version[] {
  const united = [...stored];
  for (const m of mine) {
    const i = united.findIndex((v) => v.generation === m.generation && v.epoch === m.epoch);
    if (i < 0) united.push(m);
    else if (united[i]!.n < m.n) united[i] = m;
  }
  return united.sort((a, b) => b.generation - a.generation || b.epoch - a.epoch);
}

function keptVersions(united: readonly Version[], view: VersionView): readonly Version[] {
  const kept = new Set<Version | undefined>();
  for (const epoch of [Number.POSITIVE_INFINITY, view.epoch, ...view.points]) kept.add(visibleVersion(united, view, epoch));
  return united.filter((v) => kept.has(v) || (v.epoch > view.epoch && isVisible(v, view)));
}

/**
 * When the store may remove an item with these versions; `undefined`: never. Removing is safe only where reading nothing says the same, and only
 * when nobody lives any more who read the item before the tombstone was there.
 */
export function expiryOf(versions: readonly Version[], nowMs: number): number | undefined {
  return versions.every(isTombstone) ? nowMs + tombstoneLifeMs : undefined;
}
