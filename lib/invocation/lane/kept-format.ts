// Kept input as bytes: units, segments of the list that they make, and the list of what a replay has to take.
//   K1  A unit is a message as it was delivered, or the redrive of a letter. It is kept in the entry that settles it.
//   K2  A segment holds the units that one materialise moved out of the ring, and names the segment before it with how much of that one's list
//       counts. So a list can go on from a prefix of another one, and nothing is copied for it.

import { ValueReader, ValueWriter } from '../../core/value-codec.ts';
import type { QueueMessage } from '../invocation.ts';
import { packBlob, readBlob, readFlag, readList, writeBlob, writeList } from '../payload.ts';

export type KeptUnit =
  | { readonly kind: 'message'; readonly message: QueueMessage }
  /** @see redrive.ts; acts only while the letter is there */
  | { readonly kind: 'redrive'; readonly letter: string };

export interface Segment {
  /** Object of the segment before; `undefined`: there is none. */
  readonly previous: string | undefined;
  /** Length of the list up to this segment. */
  readonly from: number;
  readonly units: readonly Uint8Array[];
}

/** Units of one segment that a replay takes. */
export interface ReplayPart {
  readonly object: string;
  /** Units of the segment before them. */
  readonly skip: number;
  readonly count: number;
}

const format = 1;

export function encodeUnit(unit: KeptUnit): Uint8Array {
  const writer = new ValueWriter(256);
  writer.writeByte(format);
  if (unit.kind === 'redrive') writer.writeValue([unit.letter]);
  else {
    const { id, group, sequence, sentMs, body } = unit.message;
    writer.writeValue([id, group, sequence, sentMs, body]);
  }
  return writer.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeUnit(bytes: Uint8Array): KeptUnit {
  const reader = new ValueReader(bytes, 0, 'kept input');
  reader.readFormat(format);
  const stored = reader.readValue() as [string] | [string, string, string, number, unknown];
  reader.expectEnd();
  if (stored.length === 1) return { kind: 'redrive', letter: stored[0] };
  const [id, group, sequence, sentMs, body] = stored;
  return { kind: 'message', message: { id, group, sequence, sentMs, receives: 1, body } };
}

export function encodeSegment({ previous, from, units }: Segment): Uint8Array {
  const content = new ValueWriter(4_096);
  writeList(content, units, (unit) => content.writeBytes(unit));
  const bytes = content.take();
  const packed = packBlob(bytes);
  const writer = new ValueWriter(packed.bytes.length + 256);
  writer.writeByte(format);
  writer.writeByte(previous === undefined ? 0 : 1);
  if (previous !== undefined) writer.writeString(previous);
  writer.writeVarint(from);
  writeBlob(writer, packed, bytes.length);
  return writer.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeSegment(bytes: Uint8Array): Segment {
  const reader = new ValueReader(bytes, 0, 'segment of kept input');
  reader.readFormat(format);
  const previous = readFlag(reader) ? reader.readString() : undefined;
  const from = reader.readVarint();
  const content = readBlob(reader, 'segment of kept input');
  reader.expectEnd();
  return { previous, from, units: readList(content, () => content.readBytes()) };
}

export function encodeReplay(parts: readonly ReplayPart[]): Uint8Array {
  const writer = new ValueWriter(256);
  writer.writeByte(format);
  writeList(writer, parts, ({ object, skip, count }) => {
    writer.writeString(object);
    writer.writeVarint(skip);
    writer.writeVarint(count);
  });
  return writer.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeReplay(bytes: Uint8Array): readonly ReplayPart[] {
  const reader = new ValueReader(bytes, 0, 'list of a replay');
  reader.readFormat(format);
  const parts = readList(reader, () => ({ object: reader.readString(), skip: reader.readVarint(), count: reader.readVarint() }));
  reader.expectEnd();
  return parts;
}
