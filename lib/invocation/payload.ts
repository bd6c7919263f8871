// Small things that the codecs of this folder share: names that are written once, times, and bytes that are deflated when that pays.
//   L1  Whoever reads takes any bytes: the answer is a value, FORMAT_NEWER or DATA_DAMAGED, in memory bounded by the number of bytes.
//   L2  Whether something was deflated is written beside it, so what a library makes of it today decides nothing about reading it.

import { Buffer } from 'node:buffer';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { finalWatermark, noWatermark } from '../core/batch.ts';
import { KiB } from '../core/limits.ts';
import { ValueReader, type ValueWriter } from '../core/value-codec.ts';

/** Writes each text in full when it first comes and as a number afterwards. One for each sequence of bytes. */
export class NameWriter {
  readonly #writer: ValueWriter;
  readonly #known = new Map<string, number>();

  constructor(writer: ValueWriter) {
    this.#writer = writer;
  }

  write(name: string): void {
    const known = this.#known.get(name);
    if (known !== undefined) {
      this.#writer.writeVarint(known);
      return;
    }
    this.#known.set(name, this.#known.size + 1);
    this.#writer.writeVarint(0);
    this.#writer.writeString(name);
  }
}

/** Reads what a `NameWriter` wrote. */
export class NameReader {
  readonly #reader: ValueReader;
  readonly #known: string[] = [];

  constructor(reader: ValueReader) {
    this.#reader = reader;
  }

  read(): string {
    const number = this.#reader.readVarint();
    if (number === 0) {
      const name = this.#reader.readName();
      this.#known.push(name);
      return name;
    }
    const name = this.#known[number - 1];
    if (name === undefined) throw this.#reader.damaged('a name is referred to before it comes');
    return name;
  }
}

const timeForm = { none: 0, final: 1, positive: 2, negative: 3, float: 4, same: 5 } as const;

/**
 * Writes a time, duration or watermark in ms: whole ones short, any other number as it is.
 * @param like  one that the reader knows already and that this one is often equal to
 */
export function writeTime(writer: ValueWriter, time: number, like?: number): void {
  if (Object.is(time, like)) writer.writeByte(timeForm.same);
  else if (time === noWatermark) writer.writeByte(timeForm.none);
  else if (time === finalWatermark) writer.writeByte(timeForm.final);
  else if (!Number.isSafeInteger(time) || Object.is(time, -0)) {
    writer.writeByte(timeForm.float);
    writer.writeFloat64(time);
  } else {
    writer.writeByte(time >= 0 ? timeForm.positive : timeForm.negative);
    writer.writeVarint(time >= 0 ? time : -1 - time);
  }
}

/** @param like  the one that was given when it was written */
export function readTime(reader: ValueReader, like?: number): number {
  const form = reader.readByte();
  switch (form) {
    case timeForm.none:
      return noWatermark;
    case timeForm.final:
      return finalWatermark;
    case timeForm.positive:
      return reader.readVarint();
    case timeForm.negative:
      return -1 - reader.readVarint();
    case timeForm.float:
      return reader.readFloat64();
    case timeForm.same:
      if (like !== undefined) return like;
      throw reader.damaged('a time is like none');
    default:
      throw reader.damaged(`no time has form ${form}`);
  }
}

/** Writes how many follow, and each. */
export function writeList<T>(writer: ValueWriter, items: readonly T[], write: (item: T) => void): void {
  writer.writeVarint(items.length);
  for (const item of items) write(item);
}

export function readList<T>(reader: ValueReader, read: () => T): T[] {
  const count = reader.readVarint();
  if (count > reader.remaining) throw reader.damaged('it ends too early'); // each has a byte at least
  const items: T[] = [];
  for (let i = 0; i < count; i++) items.push(read());
  return items;
}

/** Writes a text or that there is none. */
export function writeOptionalString(writer: ValueWriter, text: string | undefined): void {
  writer.writeByte(text === undefined ? 0 : 1);
  if (text !== undefined) writer.writeString(text);
}

export function readOptionalString(reader: ValueReader): string | undefined {
  return readFlag(reader) ? reader.readString() : undefined;
}

export function readFlag(reader: ValueReader): boolean {
  const flag = reader.readByte();
  if (flag > 1) throw reader.damaged(`byte ${flag} is neither yes nor no`);
  return flag === 1;
}

/** One of a fixed list, by its index. A list that is written so only grows at its end. */
export function readChoice<T>(reader: ValueReader, choices: readonly T[], what: string): T {
  const index = reader.readByte();
  const choice = choices[index];
  if (choice === undefined) throw reader.damaged(`no ${what} has number ${index}`);
  return choice;
}

const blobForm = { plain: 0, deflated: 1 } as const;
const deflateFromBytes = 96; // below it there is nothing to win
const deflateRatioMax = 1_032; // of the format: no byte stands for more

// The fastest level and little memory: an entry is a few KB, and most of what can be saved are names that repeat.
const deflateOptions = { level: 1, memLevel: 7, windowBits: 14 } as const;

const savesFrom = 0.9;
/** Of larger ones samples tell whether there is anything to save: to find out in vain is the dearest part of a unit with large values. */
const sampledFromBytes = 32 * KiB;
const sampleBytes = 4 * KiB;

/** Bytes as `readBlob` takes them: deflated when that makes them smaller by a tenth at least. */
export function packBlob(bytes: Uint8Array, deflateFrom: number = deflateFromBytes): { readonly form: number; readonly bytes: Uint8Array } {
  if (bytes.length < deflateFrom) return { form: blobForm.plain, bytes };
  const deflated = bytes.length < sampledFromBytes ? smaller(bytes) : smaller(sampleOf(bytes)) && smaller(bytes);
  return deflated === undefined ? { form: blobForm.plain, bytes } : { form: blobForm.deflated, bytes: deflated };
}

function smaller(bytes: Uint8Array): Uint8Array | undefined {
  const deflated = deflateRawSync(bytes, deflateOptions);
  return deflated.length > bytes.length * savesFrom ? undefined : deflated;
}

/** From the beginning, the middle and the end: state, messages and rows follow each other. */
function sampleOf(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  const middle = (length - sampleBytes) >> 1;
  return Buffer.concat([0, middle, length - sampleBytes].map((from) => bytes.subarray(from, from + sampleBytes)));
}

/** Writes bytes to the end of what is written: the form, their length when deflated, the bytes. */
export function writeBlob(writer: ValueWriter, packed: { readonly form: number; readonly bytes: Uint8Array }, length: number): void {
  writer.writeByte(packed.form);
  if (packed.form === blobForm.deflated) writer.writeVarint(length);
  writer.writeRaw(packed.bytes);
}

/**
 * A reader on the bytes of a `writeBlob` that ends where `reader` ends.
 * @param what  for errors
 */
export function readBlob(reader: ValueReader, what: string): ValueReader {
  const form = reader.readByte();
  if (form === blobForm.plain) return new ValueReader(reader.viewRaw(reader.remaining), 0, what);
  if (form !== blobForm.deflated) throw reader.damaged(`no content has form ${form}`);
  const length = reader.readVarint();
  const packed = reader.viewRaw(reader.remaining);
  if (length === 0 || length > (packed.length + 1) * deflateRatioMax) throw reader.damaged('its length cannot be true');
  return new ValueReader(inflate(reader, packed, length), 0, what);
}

function inflate(reader: ValueReader, packed: Uint8Array, length: number): Uint8Array {
  let inflated: Inflated;
  try {
    inflated = inflateRawSync(packed, { maxOutputLength: length, info: true }) as unknown as Inflated;
  } catch {
    throw reader.damaged('it cannot be inflated');
  }
  if (inflated.buffer.length !== length) throw reader.damaged('it has another length than was written');
  if (inflated.engine.bytesWritten !== packed.length) throw reader.damaged('bytes follow what was deflated');
  return inflated.buffer;
}

/** What `info` makes of the answer; `bytesWritten` went into the engine. */
interface Inflated {
  readonly buffer: Uint8Array;
  readonly engine: { readonly bytesWritten: number };
}
