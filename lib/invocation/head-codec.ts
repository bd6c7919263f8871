// The head of an entry as bytes, with a format of its own: it also lies in the handle of a checkpoint, long after the ring has forgotten the entry.
//   H1  Every field is written in every head, the rare ones as one bit or one byte. Names of subtasks and splits are written once.
//   H2  Numbers of entries may be -1 (nothing is flushed), so they are written one higher.
//   H3  What was added to format 1 lies behind everything else, and is left out where there is none of it.
//   H4  Format 2 is that of heads whose operator state is an object with parts changed: who knows format 1 only would read the object and no more.

import type { SplitPosition } from '../api/source.ts';
import { ValueReader, ValueWriter } from '../core/value-codec.ts';
import type { ChannelProgress, EntryHead, EntryKind, HeldMessage, LaneProgress, PendingTransaction, SplitProgress } from './entry.ts';
import { NameReader, NameWriter, readChoice, readList, readTime, writeList, writeTime } from './payload.ts';

const headFormat = { plain: 1, stateInParts: 2 } as const;
/** In order of their numbers in stored bytes. */
const kinds: readonly EntryKind[] = ['init', 'data', 'barrier', 'seal'];
const flag = { hasEnded: 1, lastBarrier: 2, operatorState: 4, stateBytes: 8, stateObject: 16, snapshot: 32, lane: 64, added: 128 } as const;

/** @throws SluiceError `VALUE_NOT_ENCODABLE` when a position of a source is no plain data */
export function encodeHead(h: EntryHead): Uint8Array {
  const w = new ValueWriter(512);
  const names = new NameWriter(w);
  const isInParts = h.operatorState?.bytes !== undefined && h.operatorState.object !== undefined;
  w.writeByte(isInParts ? headFormat.stateInParts : headFormat.plain);
  w.writeByte(kinds.indexOf(h.kind));
  w.writeByte(flagsOf(h));
  writeTime(w, h.watermark);
  names.write(h.subtask);
  w.writeString(h.writer);
  for (const n of [h.generation, h.n, h.base, h.epoch, h.flushedThrough + 1, h.lastCompleted, h.abortedThrough]) w.writeVarint(n);
  writeList(w, h.operatorWatermarks, (t) => writeTime(w, t, h.watermark));
  writeList(w, h.open, (n) => w.writeVarint(n));
  if (h.lastBarrier !== undefined) {
    w.writeVarint(h.lastBarrier.checkpoint);
    w.writeVarint(h.lastBarrier.n);
    w.writeVarint(h.lastBarrier.flushedThrough + 1);
  }
  writeList(w, h.splits, (s) => writeSplit(w, s));
  writeList(w, h.channels, (c) => writeChannel(w, names, c, h.watermark));
  writeList(w, h.held, (m) => writeHeld(w, names, m));
  writeList(w, h.sent, ([target, sequence]) => {
    names.write(target);
    w.writeVarint(sequence);
  });
  if (h.operatorState?.bytes !== undefined) w.writeBytes(h.operatorState.bytes);
  if (h.operatorState?.object !== undefined) w.writeString(h.operatorState.object);
  if (h.snapshot !== undefined) w.writeString(h.snapshot);
  writeList(w, h.transactions, (t) => writeTransaction(w, names, t));
  writeList(w, h.attempts, (a) => {
    names.write(a.place);
    w.writeString(a.record);
    w.writeVarint(a.count);
  });
  if (h.lane !== undefined) writeLane(w, h.lane);
  if (h.deliversOf !== undefined) w.writeVarint(h.deliversOf);
  return w.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeHead(bytes: Uint8Array): EntryHead {
  const r = new ValueReader(bytes, 0, 'head of an entry');
  r.readFormat(headFormat.stateInParts);
  const kind = readChoice(r, kinds, 'kind of entry');
  const flags = r.readByte();
  const names = new NameReader(r);
  const has = (f: number): boolean => (flags & f) !== 0;
  const watermark = readTime(r);
  const head: EntryHead = {
    kind,
    watermark,
    hasEnded: has(flag.hasEnded),
    subtask: names.read(),
    writer: r.readString(),
    generation: r.readVarint(),
    n: r.readVarint(),
    base: r.readVarint(),
    epoch: r.readVarint(),
    flushedThrough: r.readVarint() - 1,
    lastCompleted: r.readVarint(),
    abortedThrough: r.readVarint(),
    operatorWatermarks: readList(r, () => readTime(r, watermark)),
    open: readList(r, () => r.readVarint()),
    lastBarrier: has(flag.lastBarrier) ? { checkpoint: r.readVarint(), n: r.readVarint(), flushedThrough: r.readVarint() - 1 } : undefined,
    splits: readList(r, () => readSplit(r)),
    channels: readList(r, () => readChannel(r, names, watermark)),
    held: readList(r, () => readHeld(r, names)),
    sent: readList(r, () => [names.read(), r.readVarint()] as const),
    operatorState: has(flag.operatorState)
      ? { bytes: has(flag.stateBytes) ? r.readBytes() : undefined, object: has(flag.stateObject) ? r.readString() : undefined }
      : undefined,
    snapshot: has(flag.snapshot) ? r.readString() : undefined,
    transactions: readList(r, () => readTransaction(r, names)),
    attempts: readList(r, () => ({ place: names.read(), record: r.readString(), count: r.readVarint() })),
    ...(has(flag.lane) ? { lane: readLane(r) } : {}),
    ...(has(flag.added) ? { deliversOf: r.readVarint() } : {}),
  };
  r.expectEnd();
  return head;
}

function flagsOf(h: EntryHead): number {
  return (
    (h.hasEnded ? flag.hasEnded : 0) |
    (h.lastBarrier === undefined ? 0 : flag.lastBarrier) |
    (h.operatorState === undefined ? 0 : flag.operatorState) |
    (h.operatorState?.bytes === undefined ? 0 : flag.stateBytes) |
    (h.operatorState?.object === undefined ? 0 : flag.stateObject) |
    (h.snapshot === undefined ? 0 : flag.snapshot) |
    (h.lane === undefined ? 0 : flag.lane) |
    (h.deliversOf === undefined ? 0 : flag.added)
  );
}

const splitFlag = { hasPosition: 1, hasEnded: 2, silence: 4, isIdle: 8 } as const;

function writeSplit(w: ValueWriter, s: SplitProgress): void {
  w.writeVarint(s.ordinal);
  const silence = s.silence === undefined ? 0 : splitFlag.silence | (s.silence.isIdle ? splitFlag.isIdle : 0);
  w.writeByte((s.position === undefined ? 0 : splitFlag.hasPosition) | (s.hasEnded ? splitFlag.hasEnded : 0) | silence);
  w.writeValue(s.split);
  if (s.position !== undefined) {
    w.writeVarint(s.position.index);
    w.writeValue(s.position.at);
  }
  writeTime(w, s.largest);
  w.writeVarint(s.malformed);
  w.writeVarint(s.replayUntil);
  if (s.silence !== undefined) writeTime(w, s.silence.sinceMs);
}

function readSplit(r: ValueReader): SplitProgress {
  const ordinal = r.readVarint();
  const flags = r.readByte();
  if (flags > 15 || (flags & (splitFlag.silence | splitFlag.isIdle)) === splitFlag.isIdle) throw r.damaged(`no split has flags ${flags}`);
  const split = r.readValue();
  if (typeof split !== 'object' || split === null || !('id' in split)) throw r.damaged('a split has no id');
  const position: SplitPosition | undefined =
    (flags & splitFlag.hasPosition) !== 0 ? { index: r.readVarint(), at: r.readValue() } : undefined;
  return {
    ordinal,
    split: split as SplitProgress['split'],
    position,
    hasEnded: (flags & splitFlag.hasEnded) !== 0,
    largest: readTime(r),
    malformed: r.readVarint(),
    replayUntil: r.readVarint(),
    ...((flags & splitFlag.silence) === 0 ? {} : { silence: { sinceMs: readTime(r), isIdle: (flags & splitFlag.isIdle) !== 0 } }),
  };
}

const channelFlag = { hasEnded: 1, isIdle: 2, part: 4 } as const;

function writeChannel(w: ValueWriter, names: NameWriter, c: ChannelProgress, watermark: number): void {
  names.write(c.sender);
  w.writeVarint(c.exchange);
  w.writeVarint(c.sequence);
  w.writeVarint(c.barrier);
  const part = c.part === undefined ? 0 : channelFlag.part;
  w.writeByte((c.hasEnded ? channelFlag.hasEnded : 0) | (c.isIdle ? channelFlag.isIdle : 0) | part);
  if (c.part !== undefined) w.writeVarint(c.part);
  writeTime(w, c.watermark, watermark);
}

function readChannel(r: ValueReader, names: NameReader, watermark: number): ChannelProgress {
  const sender = names.read();
  const exchange = r.readVarint();
  const sequence = r.readVarint();
  const barrier = r.readVarint();
  const flags = r.readByte();
  if (flags > 7) throw r.damaged(`no channel has flags ${flags}`);
  const part = (flags & channelFlag.part) === 0 ? {} : { part: r.readVarint() };
  const hasEnded = (flags & channelFlag.hasEnded) !== 0;
  const isIdle = (flags & channelFlag.isIdle) !== 0;
  return { sender, exchange, sequence, ...part, barrier, hasEnded, isIdle, watermark: readTime(r, watermark) };
}

const heldFlag = { bytes: 1, object: 2 } as const;

function writeHeld(w: ValueWriter, names: NameWriter, m: HeldMessage): void {
  names.write(m.sender);
  w.writeVarint(m.exchange);
  w.writeByte((m.bytes === undefined ? 0 : heldFlag.bytes) | (m.object === undefined ? 0 : heldFlag.object));
  if (m.bytes !== undefined) w.writeBytes(m.bytes);
  if (m.object !== undefined) w.writeString(m.object);
}

function readHeld(r: ValueReader, names: NameReader): HeldMessage {
  const sender = names.read();
  const exchange = r.readVarint();
  const flags = r.readByte();
  if (flags > 3) throw r.damaged(`no held message has flags ${flags}`);
  const bytes = (flags & heldFlag.bytes) !== 0 ? r.readBytes() : undefined;
  return { sender, exchange, bytes, object: (flags & heldFlag.object) !== 0 ? r.readString() : undefined };
}

function writeTransaction(w: ValueWriter, names: NameWriter, t: PendingTransaction): void {
  names.write(t.sink);
  w.writeVarint(t.opened);
  w.writeVarint(t.under);
  w.writeVarint(t.generation);
  names.write(t.subtask);
  w.writeString(t.rows);
}

function readTransaction(r: ValueReader, names: NameReader): PendingTransaction {
  return {
    sink: names.read(),
    opened: r.readVarint(),
    under: r.readVarint(),
    generation: r.readVarint(),
    subtask: names.read(),
    rows: r.readString(),
  };
}

const laneFlag = { segment: 1, replay: 2, buckets: 4 } as const;

function writeLane(w: ValueWriter, { kept, stored, segment, replay, buckets }: LaneProgress): void {
  const has = (part: unknown, bit: number): number => (part === undefined ? 0 : bit);
  w.writeByte(has(segment, laneFlag.segment) | has(replay, laneFlag.replay) | has(buckets, laneFlag.buckets));
  w.writeVarint(kept);
  w.writeVarint(stored);
  if (segment !== undefined) w.writeString(segment);
  if (replay !== undefined) {
    w.writeString(replay.object);
    w.writeVarint(replay.taken);
    w.writeVarint(replay.count);
  }
  if (buckets !== undefined) {
    w.writeVarint(buckets.first);
    w.writeVarint(buckets.last);
  }
}

function readLane(r: ValueReader): LaneProgress {
  const flags = r.readByte();
  if (flags > 7) throw r.damaged(`no lane has flags ${flags}`);
  return {
    kept: r.readVarint(),
    stored: r.readVarint(),
    segment: (flags & laneFlag.segment) === 0 ? undefined : r.readString(),
    replay: (flags & laneFlag.replay) === 0 ? undefined : { object: r.readString(), taken: r.readVarint(), count: r.readVarint() },
    buckets: (flags & laneFlag.buckets) === 0 ? undefined : { first: r.readVarint(), last: r.readVarint() },
  };
}
