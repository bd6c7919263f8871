// An entry of the changelog as bytes: a format byte, a form byte (entry or closed stub), the head, then the body, here or in an object.
//   C1  The head can be read without the body and without any other read.
//   C2  A body lies in the entry up to a limit and else in an object that is stored before the entry is appended.
//   C3  What a unit wrote costs its bytes and little more: names once, addresses in runs of one state, numbers as short as they are.

import { SluiceError } from '../core/errors.ts';
import { ValueReader, ValueWriter } from '../core/value-codec.ts';
import { readBody, writeBody } from './body-codec.ts';
import type { Entry, EntryBody, EntryHead } from './entry.ts';
import { emptyBody } from './entry.ts';
import { decodeHead, encodeHead } from './head-codec.ts';
import { packBlob, readBlob, readChoice, writeBlob } from './payload.ts';
import type { ObjectStore, StoredEntry } from './ports.ts';

export { decodeHead, encodeHead } from './head-codec.ts';

const entryFormat = 1;
const entryForm = { stub: 0, entry: 1 } as const;
const bodyForms = ['empty', 'inline', 'object'] as const;

export interface PackedEntry {
  readonly bytes: Uint8Array;
  /** To be stored before the entry is appended. */
  readonly object: { readonly name: string; readonly bytes: Uint8Array } | undefined;
}

/**
 * @param o.inlineBytesMax  a body that is larger, deflated, goes to the object
 * @param o.objectName  unique for each try to append
 */
export function packEntry(e: Entry, o: { readonly inlineBytesMax: number; readonly objectName: string }): PackedEntry {
  const head = encodeHead(e.head);
  const body = isEmpty(e.body) ? undefined : encodeBody(e.body);
  const writer = new ValueWriter(head.length + 64 + Math.min(body?.packed.bytes.length ?? 0, o.inlineBytesMax));
  writer.writeByte(entryFormat);
  writer.writeByte(entryForm.entry);
  writer.writeBytes(head);
  if (body === undefined) {
    writer.writeByte(bodyForms.indexOf('empty'));
    return { bytes: writer.take(), object: undefined };
  }
  if (body.packed.bytes.length <= o.inlineBytesMax) {
    writer.writeByte(bodyForms.indexOf('inline'));
    writeBlob(writer, body.packed, body.length);
    return { bytes: writer.take(), object: undefined };
  }
  writer.writeByte(bodyForms.indexOf('object'));
  writer.writeString(o.objectName);
  const bytes = writer.take();
  const outside = new ValueWriter(body.packed.bytes.length + 16);
  outside.writeByte(entryFormat);
  writeBlob(outside, body.packed, body.length);
  return { bytes, object: { name: o.objectName, bytes: outside.take() } };
}

/** @throws SluiceError `FORMAT_NEWER`; `DATA_DAMAGED`, also for a closed stub */
export function unpackHead(bytes: Uint8Array): EntryHead {
  return readHead(openEntry(bytes));
}

/** @throws SluiceError `FORMAT_NEWER`; `DATA_DAMAGED`, also for a closed stub; `OBJECT_MISSING` when the object of the body is gone */
export async function unpackEntry(bytes: Uint8Array, objects: ObjectStore): Promise<Entry> {
  const reader = openEntry(bytes);
  const head = readHead(reader);
  switch (readChoice(reader, bodyForms, 'form of a body')) {
    case 'empty':
      reader.expectEnd();
      return { head, body: emptyBody };
    case 'inline':
      return { head, body: decodeBody(reader) };
    case 'object': {
      const name = reader.readString();
      reader.expectEnd();
      return { head, body: await readOutside(name, head, objects) };
    }
  }
}

/** Name of the object that holds the body; `undefined` when the entry holds it itself. Errors as `unpackHead`. */
export function bodyObjectOf(bytes: Uint8Array): string | undefined {
  const reader = openEntry(bytes);
  reader.viewRaw(reader.readVarint());
  return readChoice(reader, bodyForms, 'form of a body') === 'object' ? reader.readString() : undefined;
}

/** A stub that takes the place of an entry that nobody needs: no writer expects it, and who reads it knows that the ring is closed. */
export function closedStub(n: number): StoredEntry {
  const writer = new ValueWriter();
  writer.writeByte(entryFormat);
  writer.writeByte(entryForm.stub);
  writer.writeVarint(n);
  return { n, writer: 'closed', bytes: writer.take() };
}

/** Errors as `unpackHead`. */
export function isClosedStub(bytes: Uint8Array): boolean {
  return readForm(new ValueReader(bytes, 0, 'entry')) === entryForm.stub;
}

function readForm(reader: ValueReader): number {
  reader.readFormat(entryFormat);
  return readChoice(reader, [entryForm.stub, entryForm.entry], 'form of an entry');
}

function openEntry(bytes: Uint8Array): ValueReader {
  const reader = new ValueReader(bytes, 0, 'entry');
  if (readForm(reader) === entryForm.stub) throw reader.damaged('a closed stub is no entry');
  return reader;
}

function readHead(reader: ValueReader): EntryHead {
  return decodeHead(reader.viewRaw(reader.readVarint()));
}

function isEmpty(body: EntryBody): boolean {
  const { writes, timers } = body.delta;
  return (
    writes.length === 0 && timers.length === 0 && body.messages.length === 0 && body.rows.length === 0 && (body.kept?.length ?? 0) === 0
  );
}

function encodeBody(body: EntryBody): { readonly packed: ReturnType<typeof packBlob>; readonly length: number } {
  const writer = new ValueWriter(roomFor(body));
  writeBody(writer, body);
  const bytes = writer.take();
  return { packed: packBlob(bytes), length: bytes.length };
}

/** About what the body needs: a buffer that doubles on the way is allocated and copied again and again. */
function roomFor({ delta: { writes }, rows, messages }: EntryBody): number {
  let bytes = 4_096;
  for (const { bytes: own } of rows) bytes += 16 + own.length;
  for (const { bytes: own } of messages) bytes += 16 + own.length;
  for (const { address, value } of writes) bytes += 16 + address.key.length + address.sub.length + (value?.length ?? 0);
  return bytes;
}

function decodeBody(reader: ValueReader): EntryBody {
  const content = readBlob(reader, 'entry');
  const body = readBody(content);
  content.expectEnd();
  return body;
}

async function readOutside(name: string, head: EntryHead, objects: ObjectStore): Promise<EntryBody> {
  const bytes = await objects.get(name);
  if (bytes === undefined) {
    throw new SluiceError('OBJECT_MISSING', {
      message: `the body of entry ${head.n} of subtask ${head.subtask} lies in object ${name}, which is gone`,
      next: 'repair-state',
      subtask: head.subtask,
      n: head.n,
      object: name,
    });
  }
  const reader = new ValueReader(bytes, 0, 'body of an entry');
  reader.readFormat(entryFormat);
  return decodeBody(reader);
}
