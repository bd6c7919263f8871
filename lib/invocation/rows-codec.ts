// A batch of records as bytes: column by column, as the batch has them. Used inside messages, and alone for rows of sinks.
//   W1  What is read is the batch that was written: values by the rules of value-codec.ts, keys by their encodings, origins as texts.
//   W2  Times that follow each other and origins that begin alike cost a few bytes each.

import type { RecordBatch } from '../core/batch.ts';
import { encodedOf, keyOfEncoded, type StateKey } from '../core/key-codec.ts';
import { listedOrigins } from '../core/origins.ts';
import { ValueReader, ValueWriter } from '../core/value-codec.ts';

const rowsFormat = 1;
const column = { keys: 1, timestamps: 2, origins: 4 } as const;

/**
 * @throws SluiceError `VALUE_NOT_ENCODABLE` naming the path in the value that cannot be stored
 */
export function encodeRows(batch: RecordBatch): Uint8Array {
  const writer = new ValueWriter(1_024);
  writer.writeByte(rowsFormat);
  writeRows(writer, batch);
  return writer.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeRows(bytes: Uint8Array): RecordBatch {
  const reader = new ValueReader(bytes, 0, 'rows');
  reader.readFormat(rowsFormat);
  const batch = readRows(reader);
  reader.expectEnd();
  return batch;
}

/** The columns of a batch, without a format: it is the one of what they lie in. */
export function writeRows(writer: ValueWriter, batch: RecordBatch): void {
  const { values, count, keys, timestamps, origins } = batch;
  writer.writeVarint(count);
  writer.writeByte(
    (keys === undefined ? 0 : column.keys) |
      (timestamps === undefined ? 0 : column.timestamps) |
      (origins === undefined ? 0 : column.origins),
  );
  for (let i = 0; i < count; i++) writer.writeValue(values[i]);
  if (keys !== undefined) for (let i = 0; i < count; i++) writer.writeBinaryString(encodedOf(keys[i]!));
  if (timestamps !== undefined) writeTimestamps(writer, timestamps, count);
  if (origins !== undefined) {
    let before = '';
    for (let i = 0; i < count; i++) {
      const text = origins.at(i);
      writeText(writer, before, text);
      before = text;
    }
  }
}

export function readRows(reader: ValueReader): RecordBatch {
  const count = reader.readVarint();
  const columns = reader.readByte();
  if (columns > 7) throw reader.damaged(`no batch has columns ${columns}`);
  if (count > reader.remaining) throw reader.damaged('it ends too early');
  const values: unknown[] = [];
  for (let i = 0; i < count; i++) values.push(reader.readValue());
  let keys: StateKey[] | undefined;
  if ((columns & column.keys) !== 0) {
    keys = [];
    for (let i = 0; i < count; i++) keys.push(keyOfEncoded(reader.readBinaryString()));
  }
  const timestamps = (columns & column.timestamps) !== 0 ? readTimestamps(reader, count) : undefined;
  const origins = (columns & column.origins) !== 0 ? listedOrigins(readTexts(reader, count)) : undefined;
  return { values, count, keys, timestamps, origins };
}

const stepMax = 2 ** 51; // what is doubled below stays a whole number

/** A step from the time before: 1 + its size twice, odd when it goes back; 0 stands before a number that no step reaches. */
function writeTimestamps(writer: ValueWriter, timestamps: readonly number[], count: number): void {
  let before = 0;
  for (let i = 0; i < count; i++) {
    const time = timestamps[i]!;
    const step = time - before;
    if (Number.isSafeInteger(time) && Math.abs(step) < stepMax && !Object.is(time, -0)) {
      writer.writeVarint(step >= 0 ? 1 + step * 2 : -step * 2);
      before = time;
    } else {
      writer.writeVarint(0);
      writer.writeFloat64(time);
    }
  }
}

function readTimestamps(reader: ValueReader, count: number): number[] {
  const timestamps: number[] = [];
  let before = 0;
  for (let i = 0; i < count; i++) {
    const step = reader.readVarint();
    if (step === 0) timestamps.push(reader.readFloat64());
    else {
      before += step % 2 === 1 ? (step - 1) / 2 : -step / 2;
      timestamps.push(before);
    }
  }
  return timestamps;
}

function writeText(writer: ValueWriter, before: string, text: string): void {
  const max = Math.min(before.length, text.length);
  let shared = 0;
  while (shared < max && before.charCodeAt(shared) === text.charCodeAt(shared)) shared++;
  writer.writeVarint(shared);
  writer.writeString(text.slice(shared));
}

function readTexts(reader: ValueReader, count: number): string[] {
  const texts: string[] = [];
  let before = '';
  for (let i = 0; i < count; i++) {
    const shared = reader.readVarint();
    if (shared > before.length) throw reader.damaged('a text begins with more than there was before it');
    before = before.slice(0, shared) + reader.readString();
    texts.push(before);
  }
  return texts;
}
