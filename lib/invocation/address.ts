// Where a piece of keyed state lies, as a key of a Map and as an address of the state table.
//   A1  Two addresses are one exactly when their texts are equal; the same holds for their item addresses.
//   A2  Both halves of an item address are binary strings: a store may keep them as bytes, and the order of bytes is the order of code units.
//   A3  All pieces of one key of one state share a partition and differ in `sort` alone, in the order of their subs, so a partition can be read like
//       a map. Neither half is ever empty: stores of items know no empty key.
//   A4  What is too long for a store is found when the unit runs, where it can still be abandoned, and not when it is materialised.

import { Buffer } from 'node:buffer';
import { SluiceError } from '../core/errors.ts';
import type { StateAddress } from './entry.ts';
import type { ItemAddress } from './ports.ts';
import { partitionBytesMax, sortBytesMax } from './request-limits.ts';

/** The address as one text, for Maps and Sets. Not stored anywhere. */
export function addressText(a: StateAddress): string {
  return `${a.operator.length}.${a.state.length}.${a.key.length}.${a.operator}${a.state}${a.key}${a.sub}`;
}

const sortMark = '.';

/** The item that holds the state of this address. `partition` is `<length>,<length>:` and uid, state name and key; a length with `w` counts UTF-16. */
export function itemAddressOf(a: StateAddress): ItemAddress {
  const operator = binaryOf(a.operator);
  const state = binaryOf(a.state);
  return { partition: `${operator.length},${state.length}:${operator.bytes}${state.bytes}${a.key}`, sort: sortMark + a.sub };
}

const lengths = /^(0|[1-9][0-9]{0,8})(w?),(0|[1-9][0-9]{0,8})(w?):/;

/**
 * The address whose item this is.
 * @throws SluiceError `DATA_DAMAGED` when it is the item of none
 */
export function addressOfItem(i: ItemAddress): StateAddress {
  const found = lengths.exec(i.partition);
  if (found === null || !i.sort.startsWith(sortMark)) throw damaged(i);
  const operatorFrom = found[0].length;
  const stateFrom = operatorFrom + Number(found[1]);
  const keyFrom = stateFrom + Number(found[3]);
  if (keyFrom > i.partition.length) throw damaged(i);
  const address: StateAddress = {
    operator: textOf(i.partition.slice(operatorFrom, stateFrom), found[2] === 'w'),
    state: textOf(i.partition.slice(stateFrom, keyFrom), found[4] === 'w'),
    key: i.partition.slice(keyFrom),
    sub: i.sort.slice(sortMark.length),
  };
  if (itemAddressOf(address).partition !== i.partition) throw damaged(i);
  return address;
}

/**
 * Refuses what no item can be named by.
 * @throws SluiceError `STATE_TOO_LARGE` naming operator and state
 */
export function checkAddress(a: StateAddress): void {
  // Stores count UTF-8: a character of a binary string has two bytes at most, one of a name three characters of it.
  const { length } = a.key;
  if (length * 2 + (a.operator.length + a.state.length) * 6 + 24 <= partitionBytesMax && a.sub.length * 2 + 1 <= sortBytesMax) return;
  const { partition, sort } = itemAddressOf(a);
  if (Buffer.byteLength(partition) > partitionBytesMax) throw tooLong(a, 'a key', length);
  if (Buffer.byteLength(sort) > sortBytesMax) throw tooLong(a, 'a map key', a.sub.length);
}

function tooLong(a: StateAddress, what: string, bytes: number): SluiceError {
  return new SluiceError('STATE_TOO_LARGE', {
    message: `${what} of state "${a.state}" of operator "${a.operator}" is encoded in ${bytes} bytes, more than an item can be named by`,
    next: 'fix-the-job',
    operator: a.operator,
    state: a.state,
  });
}

/** A lone surrogate has no UTF-8, so a text that holds one is written as it is in memory. */
function binaryOf(text: string): { readonly length: string; readonly bytes: string } {
  const isWellFormed = text.isWellFormed();
  const bytes = Buffer.from(text, isWellFormed ? 'utf8' : 'utf16le').toString('latin1');
  return { length: isWellFormed ? `${bytes.length}` : `${bytes.length}w`, bytes };
}

function textOf(bytes: string, isUtf16: boolean): string {
  return Buffer.from(bytes, 'latin1').toString(isUtf16 ? 'utf16le' : 'utf8');
}

function damaged(i: ItemAddress): SluiceError {
  return new SluiceError('DATA_DAMAGED', {
    message: `the state table holds an item at ${JSON.stringify(i.partition.slice(0, 80))}, which is the address of no state`,
    next: 'repair-state',
    what: 'address of an item',
  });
}
