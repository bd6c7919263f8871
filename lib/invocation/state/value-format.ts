// How a piece of keyed state is written: in entries, in the state table and in snapshots alike.
//
//   piece  = format byte, version of the state × 4 + layout (varint), content by layout
//     0 value, also one entry of a map          the value
//     1 head of a list                          number of full chunks, number of elements, elements
//     2 full chunk of a list                    number of elements, elements
//     3 timers of a key group                   each: 1 event time | 2 processing time, 0 | 1 with cause, time, key, cause
//
// A value that was written by an older version of the state is migrated as it is read, as in a checkpoint.

import { encodeKey, keyOfEncoded, type StateKey } from '../../core/key-codec.ts';
import { ValueReader, ValueWriter } from '../../core/value-codec.ts';
import { storedUndefined } from '../../state/heap/cells.ts';
import { type Column, readerOf } from '../../state/heap/heap-state.ts';
import type { TimeDomain } from '../../state/timers.ts';
import type { StateAddress, TimerChange } from '../entry.ts';
import { listChunkBytes } from '../limits.ts';

export const pieceFormat = 1;
const layouts = { value: 0, listHead: 1, listChunk: 2, timers: 3 } as const;
type Layout = keyof typeof layouts;

type Evolving = Pick<Column, 'info' | 'migrate'>;

/** 4 GB of elements; more is damage. */
const listChunksMax = 2 ** 20;

let idle: ValueWriter | undefined = new ValueWriter();

function written(layout: Layout, version: number, write: (to: ValueWriter) => void): Uint8Array {
  const writer = idle ?? new ValueWriter();
  idle = undefined; // encoding may run user code, by a proxy, and that may come here again
  writer.reset();
  try {
    writer.writeByte(pieceFormat);
    writer.writeVarint(version * 4 + layouts[layout]);
    write(writer);
    return writer.take();
  } finally {
    idle = writer;
  }
}

function opened(bytes: Uint8Array, layout: Layout, what: string): { readonly reader: ValueReader; readonly version: number } {
  const reader = new ValueReader(bytes, 0, what);
  reader.readFormat(pieceFormat);
  const head = reader.readVarint();
  if (head % 4 !== layouts[layout]) throw reader.damaged(`it is no ${layout}`);
  return { reader, version: Math.floor(head / 4) };
}

/** @param stored  in stored form */
export function encodeCell(stored: unknown, version: number): Uint8Array {
  return written('value', version, (to) => to.writeValue(stored === storedUndefined ? undefined : stored));
}

/** @returns in stored form; `undefined` for a stored `undefined` */
export function decodeEntry(bytes: Uint8Array, column: Evolving, operator: string): unknown {
  const { reader, version } = opened(bytes, 'value', whatOf(column, operator));
  const value = readerOf(column, version, operator)(reader);
  reader.expectEnd();
  return value;
}

/** As `decodeEntry`, for a cell: a stored `undefined` is told from an empty cell. */
export function decodeCell(bytes: Uint8Array, column: Evolving, operator: string): unknown {
  const value = decodeEntry(bytes, column, operator);
  return value === undefined ? storedUndefined : value;
}

/** Where the elements of a list lie. */
export interface ListLayout {
  /** Full chunks. */
  readonly chunks: number;
  /** Elements in them; the ones behind are in the head. */
  readonly chunked: number;
}

export const emptyListLayout: ListLayout = { chunks: 0, chunked: 0 };

export interface EncodedList {
  readonly layout: ListLayout;
  readonly head: Uint8Array;
  /** New chunks: the first one has number `from.chunks`. */
  readonly chunks: readonly Uint8Array[];
}

/**
 * Encodes the elements behind the full chunks of `from`, which stay as they are.
 * @param length  of the list
 */
export function encodeList(items: readonly unknown[], length: number, version: number, from: ListLayout): EncodedList {
  const chunks: Uint8Array[] = [];
  const elements = new ValueWriter();
  let first = from.chunked;
  for (let i = first; i < length; i++) {
    elements.writeValue(items[i]);
    if (elements.length < listChunkBytes) continue;
    chunks.push(encodeElements('listChunk', version, [i + 1 - first], elements.take()));
    first = i + 1;
  }
  const layout = { chunks: from.chunks + chunks.length, chunked: first };
  return { layout, head: encodeElements('listHead', version, [layout.chunks, length - first], elements.take()), chunks };
}

function encodeElements(layout: Layout, version: number, counts: readonly number[], elements: Uint8Array): Uint8Array {
  return written(layout, version, (to) => {
    for (const count of counts) to.writeVarint(count);
    to.writeRaw(elements);
  });
}

export function chunkSub(number: number): string {
  return `${number}`;
}

export function chunkAddresses(head: StateAddress, bytes: Uint8Array): readonly StateAddress[] {
  const { reader } = opened(bytes, 'listHead', `state ${head.state} of ${head.operator}`);
  const count = reader.readVarint();
  if (count > listChunksMax) throw reader.damaged(`no list has ${count} chunks`);
  return Array.from({ length: count }, (_, i) => ({ ...head, sub: chunkSub(i) }));
}

export function decodeList(
  head: Uint8Array,
  chunks: readonly Uint8Array[],
  column: Evolving,
  operator: string,
): { readonly items: unknown[]; readonly layout: ListLayout } {
  const items: unknown[] = [];
  const what = whatOf(column, operator);
  for (const chunk of chunks) {
    const { reader, version } = opened(chunk, 'listChunk', what);
    takeElements(reader, readerOf(column, version, operator), items);
  }
  const layout = { chunks: chunks.length, chunked: items.length };
  const { reader, version } = opened(head, 'listHead', what);
  reader.readVarint();
  takeElements(reader, readerOf(column, version, operator), items);
  return { items, layout };
}

function takeElements(reader: ValueReader, read: (from: ValueReader) => unknown, to: unknown[]): void {
  for (let left = reader.readVarint(); left > 0; left--) to.push(read(reader));
  reader.expectEnd();
}

export interface StoredTimer {
  readonly domain: TimeDomain;
  readonly time: number;
  readonly key: StateKey;
  /** Encoded. */
  readonly keyText: string;
  readonly cause: string | undefined;
}

export function decodeTimers(bytes: Uint8Array, operator: string): readonly StoredTimer[] {
  const { reader } = opened(bytes, 'timers', `timers of ${operator}`);
  const timers: StoredTimer[] = [];
  while (reader.remaining > 0) {
    const domain = reader.readByte() === 1 ? 'event' : 'processing';
    const hasCause = reader.readByte() === 1;
    const time = reader.readFloat64();
    const keyText = reader.readBinaryString();
    timers.push({ domain, time, key: keyOfEncoded(keyText), keyText, cause: hasCause ? reader.readString() : undefined });
  }
  return timers;
}

/**
 * The timers of a key group after some changes.
 * @param bytes  `undefined`: none
 * @returns `undefined`: none
 */
export function changedTimers(bytes: Uint8Array | undefined, changes: readonly TimerChange[], operator: string): Uint8Array | undefined {
  type Plain = Pick<TimerChange, 'domain' | 'time' | 'key' | 'cause'>;
  const timers = new Map<string, Plain>();
  const textOf = ({ domain, time, key }: Plain): string => `${domain === 'event' ? 1 : 2}${encodeKey(time)}${key}`;
  for (const { domain, time, keyText, cause } of bytes === undefined ? [] : decodeTimers(bytes, operator)) {
    const timer = { domain, time, key: keyText, cause };
    timers.set(textOf(timer), timer);
  }
  for (const change of changes) {
    if (change.isSet) timers.set(textOf(change), change);
    else timers.delete(textOf(change));
  }
  if (timers.size === 0) return undefined;
  const inOrder = [...timers].sort(([a], [b]) => (a < b ? -1 : 1));
  return written('timers', 0, (to) => {
    for (const [, { domain, time, key, cause }] of inOrder) {
      to.writeByte(domain === 'event' ? 1 : 2);
      to.writeByte(cause === undefined ? 0 : 1);
      to.writeFloat64(time);
      to.writeBinaryString(key);
      if (cause !== undefined) to.writeString(cause);
    }
  });
}

/** How many rows wait. */
export function encodeCount(count: number): Uint8Array {
  return encodeCell(count, 0);
}

export function decodeCount(bytes: Uint8Array | undefined, what: string): number {
  if (bytes === undefined) return 0;
  const { reader } = opened(bytes, 'value', what);
  return reader.readValue() as number;
}

function whatOf({ info }: Evolving, operator: string): string {
  return `state ${info.name} of ${operator}`;
}
