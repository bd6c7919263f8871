// Materialise into the versioned table: each item is read, the writer's versions are merged into what is there, and the result is put on the
// condition that the item has not changed.
//   F1  A put that lost reads and merges again. Whoever wrote meanwhile may have been a newer writer, or an older one that slept.
//   F2  A piece counts as stored when its item holds what the merge gave. Everything else stays unflushed.
//   F3  Timers are changes, not values: they are applied, epoch by epoch, to the newest visible version up to that epoch, but none that this
//       version already has.

import { isSluiceError } from '../../core/errors.ts';
import { itemAddressOf } from '../address.ts';
import type { TimerChange } from '../entry.ts';
import { type Patience, putAll, readAll } from '../patience.ts';
import { type ItemAddress, type ObjectStore, readManyMax, type StateItem, type StatePut, type StateTable } from '../ports.ts';
import { addressKey } from '../request-limits.ts';
import { decodeItem, encodeItem, expiryOf, mergeVersions, tagsOf, type Version, visibleVersion } from '../versions.ts';
import type { VersionTag, VersionView } from './contract.ts';
import { noteDropped } from './dropped-values.ts';
import type { TaggedTimerChange, UnflushedPiece } from './overlay.ts';
import { changedTimers } from './value-format.ts';
import { storedValueOf, withLargeOnesOut } from './version-values.ts';

/** A request that was asked often enough. What was stored before it stays stored. */
const givenUp: ReadonlySet<string> = new Set(['STORE_THROTTLED', 'STORE_UNCERTAIN']);

/** Rounds of reading, merging and putting; who loses so often leaves the rest to the next flush. */
const roundsMax = 5;

export interface FlushTarget {
  readonly table: StateTable;
  readonly objects: ObjectStore;
  readonly patience: Patience;
}

interface Work {
  readonly piece: UnflushedPiece;
  readonly address: ItemAddress;
}

/**
 * @returns the pieces that are in the table now; some are missing when the store gave up on a request, or somebody else was always faster
 */
export async function flushToTable(
  pieces: readonly UnflushedPiece[],
  view: VersionView,
  target: FlushTarget,
): Promise<ReadonlySet<UnflushedPiece>> {
  const stored = new Set<UnflushedPiece>();
  for (let from = 0; from < pieces.length; from += readManyMax) {
    const works = pieces.slice(from, from + readManyMax).map((piece): Work => ({ piece, address: itemAddressOf(piece.address) }));
    try {
      await flushSome(works, view, target, stored);
    } catch (error) {
      if (isSluiceError(error) && givenUp.has(error.code)) break;
      throw error;
    }
  }
  return stored;
}

/** Adds what is stored to `stored`. */
async function flushSome(works: readonly Work[], view: VersionView, target: FlushTarget, stored: Set<UnflushedPiece>): Promise<void> {
  let waiting = works;
  for (let round = 0; waiting.length > 0 && round < roundsMax; round++) {
    const puts = await mergedPuts(waiting, view, target);
    const outcomes = await putAll(
      target.table,
      puts.flatMap(({ put }) => put ?? []),
      target.patience,
    );
    let at = 0;
    const lost: Work[] = [];
    for (const { work, put } of puts) {
      if (put === undefined || outcomes[at++] === 'stored') stored.add(work.piece);
      else lost.push(work);
    }
    waiting = lost;
  }
}

async function mergedPuts(
  works: readonly Work[],
  view: VersionView,
  target: FlushTarget,
): Promise<readonly { readonly work: Work; readonly put: StatePut | undefined }[]> {
  const { table, objects, patience } = target;
  const addresses = works.map(({ address }) => address);
  const items = new Map((await readAll(table, addresses, patience)).map((item) => [addressKey(item.address), item]));
  const puts: { readonly work: Work; readonly put: StatePut | undefined }[] = [];
  for (const work of works) {
    const item = items.get(addressKey(work.address));
    puts.push({ work, put: await mergedPut(work, item, view, { objects, now: patience.clock.now() }) });
  }
  return puts;
}

/** @returns `undefined` when the item is already what it would become */
async function mergedPut(
  { piece, address }: Work,
  item: StateItem | undefined,
  view: VersionView,
  { objects, now }: { readonly objects: ObjectStore; readonly now: number },
): Promise<StatePut | undefined> {
  const held = item === undefined ? [] : decodeItem(item.bytes);
  const mine = piece.kind === 'value' ? piece.versions.map(versionOf) : await timerVersions(piece.changes, held, view, objects);
  const merged = mergeVersions(held, mine, view);
  const expects = item === undefined ? 'absent' : item.tags;
  if (merged.length === 0 || tagsOf(merged) === expects) return undefined;
  const versions = await withLargeOnesOut(address, merged, objects);
  if (held.some(({ object }) => object !== undefined)) await noteDropped(objects, { address, held, left: versions, nowMs: now });
  return { address, expects, ...encodeItem(versions), expiresAtMs: expiryOf(versions, now) };
}

function versionOf({ tag, bytes }: { readonly tag: VersionTag; readonly bytes: Uint8Array | undefined }): Version {
  return { generation: tag.generation, epoch: tag.epoch, n: tag.n, value: bytes, object: undefined };
}

async function timerVersions(
  changes: readonly TaggedTimerChange[],
  held: readonly Version[],
  view: VersionView,
  objects: ObjectStore,
): Promise<readonly Version[]> {
  let versions = held;
  const mine: Version[] = [];
  for (const epoch of [...new Set(changes.map(({ tag }) => tag.epoch))].sort((a, b) => a - b)) {
    const before = visibleVersion(versions, view, epoch);
    const later = changes.filter(({ tag }) => tag.epoch === epoch && !has(before, tag));
    const last = later.at(-1);
    if (last === undefined) continue;
    const bytes = before === undefined ? undefined : await storedValueOf(before, objects);
    const made = versionOf({ tag: last.tag, bytes: changedTimers(bytes, changesOf(later), last.change.operator) });
    mine.push(made);
    versions = [...versions.filter((v) => v.generation !== made.generation || v.epoch !== epoch), made].sort(newestFirst);
  }
  return mine;
}

function newestFirst(a: Version, b: Version): number {
  return b.generation - a.generation || b.epoch - a.epoch;
}

function has(before: Version | undefined, tag: VersionTag): boolean {
  return before !== undefined && before.generation === tag.generation && before.epoch === tag.epoch && before.n >= tag.n;
}

function changesOf(tagged: readonly TaggedTimerChange[]): readonly TimerChange[] {
  return tagged.map(({ change }) => change);
}
