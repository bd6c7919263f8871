// What one request may ask for, whatever stands behind the port. Every adapter holds its callers to the bounds of the strictest service, so that
// a job that runs on one of them runs on all of them. A request outside of them is a defect of the runtime and not of the job: whoever builds
// requests splits them, and sends what is too large to the object store.
//   Q1  Nothing of a refused request happens.
//   Q2  Texts are well-formed: a lone surrogate would be stored as another character, and two names would become one.

import { Buffer } from 'node:buffer';
import { SluiceError } from '../core/errors.ts';
import { KiB, MiB } from '../core/limits.ts';
import {
  type ItemAddress,
  type JobItemContent,
  type OutgoingMessage,
  putManyMax,
  type RingAddress,
  readManyMax,
  type StatePut,
  type StoredEntry,
  sendBytesMax,
  sendMax,
} from './ports.ts';

/** An item with all its names: an entry, an item of the state table, a job item. */
export const storedItemBytesMax: number = 400 * KiB - 128; // a store counts the names of attributes and numbers too
/** Less what an adapter puts in front of a partition to tell kinds of items apart. */
export const partitionBytesMax: number = 2 * KiB - 64;
export const sortBytesMax: number = 1 * KiB;
/** Names of objects and of job items, ids and groups of messages have bounds of their services. */
export const objectNameBytesMax: number = 1 * KiB;
export const messageIdCharactersMax = 128;
export const receiveMax = 10;
/** What one `readMany` looks at together; the rest is left. */
export const readManyBytesMax: number = 16 * MiB;

function refused(message: string, more: Readonly<Record<string, unknown>> = {}): SluiceError {
  return new SluiceError('STORE_REQUEST_INVALID', { message, next: 'report-a-bug', ...more });
}

/** Bytes of a text in UTF-8, which is what stores count. */
export function textBytes(text: string): number {
  return Buffer.byteLength(text);
}

function checkText(what: string, text: string, bytesMax: number): void {
  if (text === '') throw refused(`${what} is empty`);
  if (!text.isWellFormed()) throw refused(`${what} holds half a character`, { text });
  const bytes = textBytes(text);
  if (bytes > bytesMax) throw refused(`${what} has ${bytes} bytes, more than ${bytesMax}`, { text });
}

function checkSize(what: string, bytes: number): void {
  if (bytes > storedItemBytesMax) throw refused(`${what} has ${bytes} bytes, more than ${storedItemBytesMax}`);
}

function checkCount(what: string, count: number, max: number): void {
  if (count < 1 || count > max) throw refused(`${what} of ${count}, not of 1 to ${max}`);
}

function checkWhole(what: string, n: number): void {
  if (!Number.isSafeInteger(n) || n < 0) throw refused(`${what} is ${n}, not a whole number from 0 on`);
}

export function checkRing(ring: RingAddress): void {
  checkWhole('a generation', ring.generation);
  checkText('the name of a ring', ring.subtask, partitionBytesMax);
}

/** @throws SluiceError `STORE_REQUEST_INVALID` as all of these */
export function checkEntry(ring: RingAddress, slot: number, entry: StoredEntry): void {
  checkRing(ring);
  checkWhole('a slot', slot);
  checkWhole('the number of an entry', entry.n);
  checkText('the writer of an entry', entry.writer, sortBytesMax);
  checkSize(`entry ${entry.n} of ${ring.subtask}`, entry.bytes.length + textBytes(ring.subtask) + textBytes(entry.writer));
}

function checkAddress(address: ItemAddress): void {
  checkText('the partition of an item', address.partition, partitionBytesMax);
  checkText('the sort text of an item', address.sort, sortBytesMax);
}

/** Injective: neither part of an address can run into the other. */
export function addressKey(address: ItemAddress): string {
  return `${address.partition.length}:${address.partition}${address.sort}`;
}

function checkDistinct(addresses: readonly ItemAddress[]): void {
  if (new Set(addresses.map(addressKey)).size < addresses.length) throw refused('one call names the same item twice');
}

export function checkReads(addresses: readonly ItemAddress[]): void {
  checkCount('a batch of reads', addresses.length, readManyMax);
  addresses.forEach(checkAddress);
  checkDistinct(addresses);
}

export function checkPuts(puts: readonly StatePut[]): void {
  checkCount('a batch of puts', puts.length, putManyMax);
  for (const p of puts) {
    checkAddress(p.address);
    checkSize(`item ${p.address.partition}`, stateItemBytes(p));
  }
  checkDistinct(puts.map((p) => p.address));
}

export function stateItemBytes(item: { readonly address: ItemAddress; readonly tags: string; readonly bytes: Uint8Array }): number {
  return textBytes(item.address.partition) + textBytes(item.address.sort) + textBytes(item.tags) + item.bytes.length;
}

export function checkJobItem(name: string, content?: JobItemContent): void {
  checkText('the name of a job item', name, sortBytesMax);
  if (content !== undefined) checkSize(`job item ${name}`, textBytes(name) + textBytes(content.change) + content.bytes.length);
}

export function checkObjectName(name: string): void {
  checkText('the name of an object', name, objectNameBytesMax);
}

export function checkMessages(messages: readonly OutgoingMessage[]): void {
  checkCount('a batch of messages', messages.length, sendMax);
  for (const m of messages) {
    checkText('the group of a message', m.group, messageIdCharactersMax);
    checkText('the id of a message', m.id, messageIdCharactersMax);
  }
  const bytes = messages.reduce((sum, m) => sum + messageBytes(m), 0);
  if (bytes > sendBytesMax) throw refused(`a batch of messages has ${bytes} bytes, more than ${sendBytesMax}`);
}

export function messageBytes(m: OutgoingMessage): number {
  return m.bytes.length + textBytes(m.group) + textBytes(m.id);
}

export function checkReceive(max: number): void {
  checkCount('a batch to receive', max, receiveMax);
}

/** Order of names in stores: by UTF-8 bytes, which is not the order of code units. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return isHalf(x) === isHalf(y) ? x - y : isHalf(x) ? 1 : -1;
  }
  return a.length - b.length;
}

/** Of a character beyond the others, which has four bytes in UTF-8 and so comes behind them. */
function isHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
