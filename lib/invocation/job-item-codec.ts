// The job item, and the handles of a checkpoint, as bytes.
//   J1  Lists keep their order: it means something in most of them.
//   J2  A status or trigger is written as a number; the lists below only ever grow at their end.
//   J3  What was added to format 1 lies behind everything else, and is left out where there is none of it. Ranges: one for each owner that has one,
//       wherever it is named, since an owner has the same for ever. Places come behind the ranges, and begins of generations behind both, which then may be none.

import type { SplitRange } from '../api/source.ts';
import { ValueReader, ValueWriter } from '../core/value-codec.ts';
import type {
  CompletedCheckpoint,
  JobItem,
  JobStatus,
  Moving,
  OpenCheckpoint,
  Owner,
  RestorePoint,
  Restoring,
  SubtaskHandle,
} from './job-item.ts';
import {
  NameReader,
  NameWriter,
  readChoice,
  readFlag,
  readList,
  readOptionalString,
  readTime,
  writeList,
  writeOptionalString,
  writeTime,
} from './payload.ts';

const jobItemFormat = 1;
const handleFormat = 1;
const statuses: readonly JobStatus[] = [
  'running',
  'pausing',
  'paused',
  'cancelling',
  'failing',
  'cancelled',
  'failed',
  'finished',
  'resuming',
];
const triggers: readonly OpenCheckpoint['trigger'][] = ['periodic', 'final'];

export function encodeJobItem(item: JobItem): Uint8Array {
  const w = new ValueWriter(2_048);
  const names = new NameWriter(w);
  w.writeByte(jobItemFormat);
  w.writeString(item.job);
  w.writeString(item.planHash);
  w.writeByte(statuses.indexOf(item.status));
  writeOptionalString(w, item.failure);
  for (const n of [item.generation, item.ringSlots, item.begun, item.confirmed, item.failuresInARow, item.expiredInARow]) w.writeVarint(n);
  writeTime(w, item.lastBegunMs);
  writeOptional(w, item.lastEndedMs, (ms) => writeTime(w, ms));
  writeList(w, item.open, (c) => writeOpen(w, names, c));
  writeList(w, item.completed, (c) => writeCompleted(w, names, c));
  writeList(w, item.restores, (r) => {
    w.writeVarint(r.generation);
    w.writeVarint(r.checkpoint);
  });
  writeOwners(w, names, item.owners);
  writeOptional(w, item.restoring, (r) => writeRestoring(w, names, r));
  writeOptional(w, item.moving, (m) => writeMoving(w, names, m));
  writeList(w, item.until, ([split, index]) => {
    w.writeString(split);
    w.writeVarint(index);
  });
  writeList(w, item.rings, (ring) => w.writeString(ring));
  writeRanges(w, names, item);
  writePlaces(w, item);
  writeBegins(w, item);
  return w.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeJobItem(bytes: Uint8Array): JobItem {
  const r = new ValueReader(bytes, 0, 'job item');
  r.readFormat(jobItemFormat);
  const names = new NameReader(r);
  const item: JobItem = {
    job: r.readString(),
    planHash: r.readString(),
    status: readChoice(r, statuses, 'status'),
    failure: readOptionalString(r),
    generation: r.readVarint(),
    ringSlots: r.readVarint(),
    begun: r.readVarint(),
    confirmed: r.readVarint(),
    failuresInARow: r.readVarint(),
    expiredInARow: r.readVarint(),
    lastBegunMs: readTime(r),
    lastEndedMs: readOptional(r, () => readTime(r)),
    open: readList(r, () => readOpen(r, names)),
    completed: readList(r, () => readCompleted(r, names)),
    restores: readList<RestorePoint>(r, () => ({ generation: r.readVarint(), checkpoint: r.readVarint() })),
    owners: readOwners(r, names),
    restoring: readOptional(r, () => readRestoring(r, names)),
    moving: readOptional(r, () => readMoving(r, names)),
    until: readList(r, () => [r.readString(), r.readVarint()] as const),
    rings: readList(r, () => r.readString()),
  };
  const ranges = r.remaining === 0 ? undefined : readRanges(r, names);
  const places = r.remaining === 0 ? undefined : readPlaces(r);
  const begins = r.remaining === 0 ? undefined : readBegins(r);
  r.expectEnd();
  if (ranges?.size === 0 && places === undefined) throw r.damaged('nothing is never written as an addition');
  if (places?.length === 0 && begins === undefined) throw r.damaged('an empty list of places is never written last');
  const ranged = ranges === undefined ? item : withRanges(item, ranges);
  return { ...ranged, ...(places === undefined || places.length === 0 ? {} : { places }), ...(begins === undefined ? {} : { begins }) };
}

function hasPlaces({ places }: JobItem): boolean {
  return places !== undefined && places.length > 0;
}

function hasBegins({ begins }: JobItem): boolean {
  return begins !== undefined && begins.length > 0;
}

/** Behind the ranges, which are written for their sake even when there are none. */
function writePlaces(w: ValueWriter, item: JobItem): void {
  if (!hasPlaces(item) && !hasBegins(item)) return;
  writeList(w, item.places ?? [], ([split, at]) => {
    w.writeString(split);
    w.writeValue(at);
  });
}

function readPlaces(r: ValueReader): NonNullable<JobItem['places']> {
  return readList(r, () => [r.readString(), r.readValue()] as const);
}

function writeBegins(w: ValueWriter, item: JobItem): void {
  if (!hasBegins(item)) return;
  writeList(w, item.begins!, ([generation, ms]) => {
    w.writeVarint(generation);
    writeTime(w, ms);
  });
}

function readBegins(r: ValueReader): NonNullable<JobItem['begins']> {
  const begins = readList(r, () => [r.readVarint(), readTime(r)] as const);
  if (begins.length === 0) throw r.damaged('an empty list of begins is never written');
  return begins;
}

type Ranges = ReadonlyMap<string, SplitRange>;

function writeRanges(w: ValueWriter, names: NameWriter, item: JobItem): void {
  const lists = [item.owners, ...item.completed.map(({ owners }) => owners), item.restoring?.owners ?? [], item.moving?.children ?? []];
  const ranges = new Map(lists.flat().flatMap(({ subtask, range }) => (range === undefined ? [] : [[subtask, range] as const])));
  if (ranges.size === 0 && !hasPlaces(item) && !hasBegins(item)) return;
  writeList(w, [...ranges], ([subtask, { from, to }]) => {
    names.write(subtask);
    w.writeVarint(from);
    w.writeVarint(to);
  });
}

function readRanges(r: ValueReader, names: NameReader): Ranges {
  const ranges = readList(r, () => [names.read(), { from: r.readVarint(), to: r.readVarint() }] as const);
  return new Map(ranges);
}

function withRanges(item: JobItem, ranges: Ranges): JobItem {
  const ranged = (owners: readonly Owner[]): readonly Owner[] =>
    owners.map((owner) => {
      const range = ranges.get(owner.subtask);
      return range === undefined ? owner : { ...owner, range };
    });
  const { restoring, moving } = item;
  return {
    ...item,
    owners: ranged(item.owners),
    completed: item.completed.map((c) => ({ ...c, owners: ranged(c.owners) })),
    restoring: restoring && { ...restoring, owners: ranged(restoring.owners) },
    moving: moving && { ...moving, children: ranged(moving.children) },
  };
}

export function encodeHandle(h: SubtaskHandle): Uint8Array {
  const w = new ValueWriter(h.head.length + 64);
  w.writeByte(handleFormat);
  writeHandle(w, h);
  return w.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeHandle(bytes: Uint8Array): SubtaskHandle {
  const r = new ValueReader(bytes, 0, 'handle');
  r.readFormat(handleFormat);
  const handle = readHandle(r);
  r.expectEnd();
  return handle;
}

/** All handles of a checkpoint: its metadata object. */
export function encodeHandles(handles: readonly SubtaskHandle[]): Uint8Array {
  const w = new ValueWriter(2_048);
  w.writeByte(handleFormat);
  writeList(w, handles, (h) => writeHandle(w, h));
  return w.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeHandles(bytes: Uint8Array): readonly SubtaskHandle[] {
  const r = new ValueReader(bytes, 0, 'metadata');
  r.readFormat(handleFormat);
  const handles = readList(r, () => readHandle(r));
  r.expectEnd();
  return handles;
}

function writeHandle(w: ValueWriter, h: SubtaskHandle): void {
  w.writeVarint(h.generation);
  w.writeString(h.subtask);
  w.writeVarint(h.n);
  w.writeVarint(h.flushedThrough + 1); // -1: nothing is flushed
  w.writeBytes(h.head);
}

function readHandle(r: ValueReader): SubtaskHandle {
  return {
    generation: r.readVarint(),
    subtask: r.readString(),
    n: r.readVarint(),
    flushedThrough: r.readVarint() - 1,
    head: r.readBytes(),
  };
}

function writeOptional<T>(w: ValueWriter, item: T | undefined, write: (item: T) => void): void {
  w.writeByte(item === undefined ? 0 : 1);
  if (item !== undefined) write(item);
}

function readOptional<T>(r: ValueReader, read: () => T): T | undefined {
  return readFlag(r) ? read() : undefined;
}

function writeOwners(w: ValueWriter, names: NameWriter, owners: readonly Owner[]): void {
  writeList(w, owners, (o) => {
    names.write(o.subtask);
    w.writeVarint(o.stage);
    w.writeVarint(o.index);
    writeList(w, o.splits, (ordinal) => w.writeVarint(ordinal));
  });
}

function readOwners(r: ValueReader, names: NameReader): Owner[] {
  return readList(r, () => ({
    subtask: names.read(),
    stage: r.readVarint(),
    index: r.readVarint(),
    splits: readList(r, () => r.readVarint()),
  }));
}

function writeOpen(w: ValueWriter, names: NameWriter, c: OpenCheckpoint): void {
  w.writeVarint(c.checkpoint);
  w.writeVarint(c.generation);
  writeTime(w, c.begunMs);
  writeTime(w, c.patienceMs);
  writeList(w, c.owners, (owner) => names.write(owner));
  w.writeByte(triggers.indexOf(c.trigger));
}

function readOpen(r: ValueReader, names: NameReader): OpenCheckpoint {
  return {
    checkpoint: r.readVarint(),
    generation: r.readVarint(),
    begunMs: readTime(r),
    patienceMs: readTime(r),
    owners: readList(r, () => names.read()),
    trigger: readChoice(r, triggers, 'trigger'),
  };
}

function writeCompleted(w: ValueWriter, names: NameWriter, c: CompletedCheckpoint): void {
  w.writeVarint(c.checkpoint);
  w.writeVarint(c.generation);
  writeTime(w, c.begunMs);
  writeTime(w, c.completedMs);
  w.writeByte(triggers.indexOf(c.trigger));
  writeOwners(w, names, c.owners);
  w.writeString(c.metadata);
  w.writeVarint(c.bytes);
}

function readCompleted(r: ValueReader, names: NameReader): CompletedCheckpoint {
  return {
    checkpoint: r.readVarint(),
    generation: r.readVarint(),
    begunMs: readTime(r),
    completedMs: readTime(r),
    trigger: readChoice(r, triggers, 'trigger'),
    owners: readOwners(r, names),
    metadata: r.readString(),
    bytes: r.readVarint(),
  };
}

function writeRestoring(w: ValueWriter, names: NameWriter, x: Restoring): void {
  w.writeVarint(x.checkpoint);
  w.writeVarint(x.generation);
  w.writeVarint(x.epoch);
  writeOwners(w, names, x.owners);
}

function readRestoring(r: ValueReader, names: NameReader): Restoring {
  return { checkpoint: r.readVarint(), generation: r.readVarint(), epoch: r.readVarint(), owners: readOwners(r, names) };
}

function writeMoving(w: ValueWriter, names: NameWriter, m: Moving): void {
  w.writeVarint(m.generation);
  w.writeVarint(m.epoch);
  writeList(w, m.parents, (parent) => names.write(parent));
  writeOwners(w, names, m.children);
}

function readMoving(r: ValueReader, names: NameReader): Moving {
  return {
    generation: r.readVarint(),
    epoch: r.readVarint(),
    parents: readList(r, () => names.read()),
    children: readOwners(r, names),
  };
}
