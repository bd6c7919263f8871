// A message of the exchange as bytes, and the claim-check that stands for a large one.
//   M1  A claim names the same message as the object that it points to: who it is from and its number can be read, and a repeat dropped, without
//       the object.
//   M2  The elements are deflated only where the queue would count more than one unit of payload: the entry that carries them is deflated itself.

import type { StreamElement } from '../core/batch.ts';
import { SluiceError } from '../core/errors.ts';
import { KiB } from '../core/limits.ts';
import { ValueReader, ValueWriter } from '../core/value-codec.ts';
import type { ChannelElement, ChannelMessage } from './message.ts';
import { packBlob, readBlob, readChoice, readList, readTime, writeBlob, writeList, writeTime } from './payload.ts';
import type { ObjectStore } from './ports.ts';
import { readRows, writeRows } from './rows-codec.ts';

/** Stands for a message whose bytes lie in an object. */
export interface MessageClaim extends Omit<ChannelMessage, 'elements'> {
  readonly object: string;
}

const messageFormat = 1;
const messageForm = { message: 0, claim: 1 } as const;
const deflateFromBytes = 48 * KiB;

/** @throws SluiceError `VALUE_NOT_ENCODABLE` naming the path in the record that cannot be sent */
export function encodeMessage(m: ChannelMessage): Uint8Array {
  const content = new ValueWriter(1_024);
  writeList(content, m.elements, (element) => writeElement(content, element));
  const elements = content.take();
  const writer = new ValueWriter(elements.length + 128);
  writeNames(writer, m, messageForm.message);
  writeBlob(writer, packBlob(elements, deflateFromBytes), elements.length);
  return writer.take();
}

export function encodeClaim(c: MessageClaim): Uint8Array {
  const writer = new ValueWriter();
  writeNames(writer, c, messageForm.claim);
  writer.writeString(c.object);
  return writer.take();
}

/**
 * What `encodeMessage` or `encodeClaim` was given.
 * @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED`
 */
export function decodeMessage(bytes: Uint8Array): ChannelMessage | MessageClaim {
  const reader = new ValueReader(bytes, 0, 'message');
  reader.readFormat(messageFormat);
  const form = readChoice(reader, [messageForm.message, messageForm.claim], 'form of a message');
  const names = {
    generation: reader.readVarint(),
    exchange: reader.readVarint(),
    sender: reader.readString(),
    target: reader.readString(),
    sequence: reader.readVarint(),
  };
  if (form === messageForm.claim) {
    const object = reader.readString();
    reader.expectEnd();
    return { ...names, object };
  }
  const content = readBlob(reader, 'message');
  const elements = readList(content, () => readElement(content));
  content.expectEnd();
  return { ...names, elements };
}

export function isClaim(m: ChannelMessage | MessageClaim): m is MessageClaim {
  return 'object' in m;
}

/** A message, and the bytes that it was decoded from. */
export interface WholeMessage {
  readonly message: ChannelMessage;
  readonly raw: Uint8Array;
}

/**
 * The message of these bytes, fetched when they are a claim.
 * @throws SluiceError `CLAIM_EXPIRED` when the object is gone, `DATA_DAMAGED` when it holds another message
 */
export async function readMessage(bytes: Uint8Array, objects: ObjectStore): Promise<WholeMessage> {
  const m = decodeMessage(bytes);
  return isClaim(m) ? await redeemClaim(m, objects) : { message: m, raw: bytes };
}

/** The message that a claim stands for. Errors as `readMessage`. */
export async function redeemClaim(claim: MessageClaim, objects: ObjectStore): Promise<WholeMessage> {
  const bytes = await objects.get(claim.object);
  if (bytes === undefined) {
    throw new SluiceError('CLAIM_EXPIRED', {
      message: `message ${claim.sequence} from ${claim.sender} to ${claim.target} lies in object ${claim.object}, which is gone`,
      next: 'repair-state',
      sender: claim.sender,
      target: claim.target,
      sequence: claim.sequence,
      object: claim.object,
    });
  }
  const m = decodeMessage(bytes);
  if (isClaim(m) || !isSameMessage(m, claim)) {
    throw new SluiceError('DATA_DAMAGED', {
      message: `object ${claim.object} does not hold message ${claim.sequence} from ${claim.sender} to ${claim.target}`,
      next: 'repair-state',
      what: 'message',
      object: claim.object,
    });
  }
  return { message: m, raw: bytes };
}

function isSameMessage(a: ChannelMessage, b: MessageClaim): boolean {
  return (
    a.generation === b.generation &&
    a.exchange === b.exchange &&
    a.sender === b.sender &&
    a.target === b.target &&
    a.sequence === b.sequence
  );
}

function writeNames(writer: ValueWriter, m: Omit<ChannelMessage, 'elements'>, form: number): void {
  writer.writeByte(messageFormat);
  writer.writeByte(form);
  writer.writeVarint(m.generation);
  writer.writeVarint(m.exchange);
  writer.writeString(m.sender);
  writer.writeString(m.target);
  writer.writeVarint(m.sequence);
}

/** In order of their numbers in stored bytes; only ever extended at the end. */
const elementKinds = ['records', 'watermark', 'barrier', 'idle', 'end', 'successors', 'joint-successors'] as const;
type ElementKind = (typeof elementKinds)[number];

function kindOf(element: ChannelElement): ElementKind {
  return element.kind === 'successors' && element.parents !== undefined ? 'joint-successors' : element.kind;
}

function writeElement(writer: ValueWriter, element: ChannelElement): void {
  writer.writeByte(elementKinds.indexOf(kindOf(element)));
  switch (element.kind) {
    case 'records':
      writeRows(writer, element.batch);
      break;
    case 'watermark':
      writeTime(writer, element.timestamp);
      break;
    case 'barrier':
      writer.writeVarint(element.checkpoint);
      break;
    case 'successors':
      writeList(writer, element.senders, (sender) => writer.writeString(sender));
      if (element.parents !== undefined) writeList(writer, element.parents, (parent) => writer.writeString(parent));
      break;
  }
}

function readElement(reader: ValueReader): ChannelElement {
  const kind = readChoice(reader, elementKinds, 'element');
  switch (kind) {
    case 'records':
      return { kind, batch: readRows(reader) };
    case 'watermark':
      return { kind, timestamp: readTime(reader) };
    case 'barrier':
      return { kind, checkpoint: reader.readVarint() };
    case 'successors':
      return { kind, senders: readList(reader, () => reader.readString()) };
    case 'joint-successors':
      return {
        kind: 'successors',
        senders: readList(reader, () => reader.readString()),
        parents: readList(reader, () => reader.readString()),
      };
    default:
      return { kind } satisfies StreamElement;
  }
}
