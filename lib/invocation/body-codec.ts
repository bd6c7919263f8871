// The body of an entry: changes of keyed state, messages, rows. Its format is the one of the entry.
//   B1  What only lanes of queues have is behind everything else, and not there at all where there is none.
//   B2  Writes that follow each other and are of one state name it once; there the key, the sub and the value follow, each behind its length.

import type { ValueReader, ValueWriter } from '../core/value-codec.ts';
import type { CommittedMessage, EntryBody, ImmediateRows, StateWrite, TimerChange } from './entry.ts';
import { NameReader, NameWriter, readFlag, readList, readTime, writeList, writeTime } from './payload.ts';

export function writeBody(writer: ValueWriter, body: EntryBody): void {
  const names = new NameWriter(writer);
  writeWrites(writer, names, body.delta.writes);
  writeTimers(writer, names, body.delta.timers);
  writeList(writer, body.messages, (m) => {
    writer.writeVarint(m.exchange);
    names.write(m.target);
    writer.writeVarint(m.sequence);
    writer.writeBytes(m.bytes);
  });
  writeList(writer, body.rows, (r) => {
    names.write(r.sink);
    writer.writeBytes(r.bytes);
  });
  if (body.kept !== undefined && body.kept.length > 0) writeList(writer, body.kept, (unit) => writer.writeBytes(unit));
}

export function readBody(reader: ValueReader): EntryBody {
  const names = new NameReader(reader);
  const writes = readWrites(reader, names);
  const timers = readTimers(reader, names);
  const messages = readList<CommittedMessage>(reader, () => ({
    exchange: reader.readVarint(),
    target: names.read(),
    sequence: reader.readVarint(),
    bytes: reader.readBytes(),
  }));
  const rows = readList<ImmediateRows>(reader, () => ({ sink: names.read(), bytes: reader.readBytes() }));
  const body = { delta: { writes, timers }, messages, rows };
  if (reader.remaining === 0) return body;
  const kept = readList(reader, () => reader.readBytes());
  if (kept.length === 0) throw reader.damaged('an empty list of kept input is never written');
  return { ...body, kept };
}

/** Runs: how many writes, state, whether they have subs, the writes. A run of none ends them. */
function writeWrites(writer: ValueWriter, names: NameWriter, writes: readonly StateWrite[]): void {
  for (let from = 0; from < writes.length; ) {
    const { operator, state } = writes[from]!.address;
    let to = from;
    let hasSubs = false;
    for (; to < writes.length; to++) {
      const { address } = writes[to]!;
      if (address.operator !== operator || address.state !== state) break;
      if (address.sub !== '') hasSubs = true;
    }
    writer.writeVarint(to - from);
    names.write(operator);
    names.write(state);
    writer.writeByte(hasSubs ? 1 : 0);
    for (; from < to; from++) {
      const { address, value } = writes[from]!;
      writer.writeBinaryString(address.key);
      if (hasSubs) writer.writeBinaryString(address.sub);
      writer.writeVarint(value === undefined ? 0 : value.length + 1);
      if (value !== undefined) writer.writeRaw(value);
    }
  }
  writer.writeVarint(0);
}

function readWrites(reader: ValueReader, names: NameReader): StateWrite[] {
  const writes: StateWrite[] = [];
  for (let count = reader.readVarint(); count !== 0; count = reader.readVarint()) {
    const operator = names.read();
    const state = names.read();
    const hasSubs = readFlag(reader);
    if (count > reader.remaining) throw reader.damaged('it ends too early');
    for (let i = 0; i < count; i++) {
      const key = reader.readBinaryString();
      const sub = hasSubs ? reader.readBinaryString() : '';
      const length = reader.readVarint();
      writes.push({ address: { operator, state, key, sub }, value: length === 0 ? undefined : reader.readRaw(length - 1) });
    }
  }
  return writes;
}

const timerFlag = { isSet: 1, isProcessing: 2, hasCause: 4, sameKey: 8 } as const;

function writeTimers(writer: ValueWriter, names: NameWriter, timers: readonly TimerChange[]): void {
  let before: string | undefined;
  writeList(writer, timers, (t) => {
    const sameKey = t.key === before;
    writer.writeByte(
      (t.isSet ? timerFlag.isSet : 0) |
        (t.domain === 'processing' ? timerFlag.isProcessing : 0) |
        (t.cause === undefined ? 0 : timerFlag.hasCause) |
        (sameKey ? timerFlag.sameKey : 0),
    );
    names.write(t.operator);
    writeTime(writer, t.time);
    if (!sameKey) writer.writeBinaryString(t.key);
    if (t.cause !== undefined) writer.writeString(t.cause);
    before = t.key;
  });
}

function readTimers(reader: ValueReader, names: NameReader): TimerChange[] {
  let before: string | undefined;
  return readList(reader, () => {
    const flags = reader.readByte();
    if (flags > 15) throw reader.damaged(`no timer has flags ${flags}`);
    const operator = names.read();
    const time = readTime(reader);
    const key = (flags & timerFlag.sameKey) === 0 ? reader.readBinaryString() : before;
    if (key === undefined) throw reader.damaged('the first timer has no key');
    before = key;
    return {
      operator,
      domain: (flags & timerFlag.isProcessing) !== 0 ? 'processing' : 'event',
      isSet: (flags & timerFlag.isSet) !== 0,
      time,
      key,
      cause: (flags & timerFlag.hasCause) !== 0 ? reader.readString() : undefined,
    };
  });
}
