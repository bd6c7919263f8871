// Where kept input lies: reading and storing segments, walking their chain, and what of it is still needed.
//   I1  Only the newest entry of a lane leads to its kept input. A handle needs no object of it: its count says where in the list it stands.
//   I2  What a retained or open checkpoint may ask for is the list behind the lowest of their counts; below that nothing is read any more.
//   I3  A replay takes what was kept behind the restored checkpoint, then what the sealed parent had not replayed itself; in the order in which it
//       was settled.

import { SluiceError } from '../../core/errors.ts';
import type { KeptReplay, LaneProgress } from '../entry.ts';
import type { ObjectStore } from '../ports.ts';
import { decodeReplay, decodeSegment, encodeReplay, encodeSegment, type ReplayPart, type Segment } from './kept-format.ts';

/** `<kind>/<generation>/<subtask>/…`, as all that subtasks store. */
export function segmentName(p: {
  readonly generation: number;
  readonly subtask: string;
  readonly through: number;
  readonly writer: string;
}): string {
  return `kept/${p.generation}/${p.subtask}/${p.through}-${p.writer}`;
}

export function replayName(p: { readonly generation: number; readonly subtask: string }): string {
  return `replay/${p.generation}/${p.subtask}/list`;
}

export async function storeSegment(objects: ObjectStore, name: string, segment: Segment): Promise<void> {
  await objects.putIfAbsent(name, encodeSegment(segment));
}

export async function readSegment(objects: ObjectStore, name: string): Promise<Segment> {
  return decodeSegment(await present(objects, name));
}

export async function readReplay(objects: ObjectStore, name: string): Promise<readonly ReplayPart[]> {
  return decodeReplay(await present(objects, name));
}

async function present(objects: ObjectStore, name: string): Promise<Uint8Array> {
  const bytes = await objects.get(name);
  if (bytes !== undefined) return bytes;
  throw new SluiceError('OBJECT_MISSING', {
    message: `kept input is gone: object ${name} does not exist`,
    next: 'repair-state',
    object: name,
  });
}

/** A run of the list that lies in one segment. */
export interface Piece {
  readonly object: string;
  readonly segment: Segment;
  /** Length of the list up to its first unit, and up to its last one that counts. */
  readonly from: number;
  readonly to: number;
}

export type KeptList = Pick<LaneProgress, 'segment' | 'stored'>;

/**
 * The stored list above a length, newest first.
 * @returns `below`: the segment that the list of that length ends in, or ended in before it was removed
 */
export async function piecesAbove(
  objects: ObjectStore,
  { segment, stored }: KeptList,
  length: number,
): Promise<{ readonly pieces: readonly Piece[]; readonly below: string | undefined }> {
  const pieces: Piece[] = [];
  let object = segment;
  for (let to = stored; object !== undefined && to > length; ) {
    const read = await readSegment(objects, object);
    if (to > read.from) pieces.push({ object, segment: read, from: read.from, to });
    to = Math.min(to, read.from);
    object = read.previous;
  }
  const last = pieces.at(-1);
  return { pieces, below: last !== undefined && last.from < length ? last.object : object };
}

/** Pure: what a replay takes of a list behind a length, oldest first. */
export function partsAbove(pieces: readonly Piece[], length: number): readonly ReplayPart[] {
  return pieces.toReversed().map(({ object, from, to }): ReplayPart => {
    const first = Math.max(from, length);
    return { object, skip: first - from, count: to - first };
  });
}

/** Pure: what is left when some units are taken. */
export function partsAfter(parts: readonly ReplayPart[], taken: number): readonly ReplayPart[] {
  const left: ReplayPart[] = [];
  let over = taken;
  for (const { object, skip, count } of parts) {
    const gone = Math.min(over, count);
    over -= gone;
    if (count > gone) left.push({ object, skip: skip + gone, count: count - gone });
  }
  return left;
}

export async function replayLeft(objects: ObjectStore, replay: KeptReplay | undefined): Promise<readonly ReplayPart[]> {
  if (replay === undefined || replay.taken >= replay.count) return [];
  return partsAfter(await readReplay(objects, replay.object), replay.taken);
}

export async function storeReplay(objects: ObjectStore, name: string, parts: readonly ReplayPart[]): Promise<KeptReplay | undefined> {
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  if (count === 0) return undefined;
  await objects.putIfAbsent(name, encodeReplay(parts));
  return { object: name, taken: 0, count };
}

/** Names of the objects of kept input that a lane may still be asked for. @param floor  the lowest count of a checkpoint that may be restored */
export async function keptReferences(objects: ObjectStore, lane: LaneProgress, floor: number): Promise<readonly string[]> {
  const { pieces } = await piecesAbove(objects, lane, floor);
  const names = pieces.map(({ object }) => object);
  const left = await replayLeft(objects, lane.replay);
  if (left.length > 0 && lane.replay !== undefined) names.push(lane.replay.object, ...left.map(({ object }) => object));
  return names;
}

/** A replay has to come first. */
export function isKeptDue({ lane }: { readonly lane?: LaneProgress | undefined }): boolean {
  return lane?.replay !== undefined && lane.replay.taken < lane.replay.count;
}
