// sizes.ts says how large an item is and how many units a request on it takes, by the rules of the service's developer guide.
//   Z1  An item is its names and its values. A text counts its UTF-8 bytes, a number about half its digits and one, bytes themselves.
//   Z2  A write takes a unit for each begun KB of the larger of old and new item, at least one, also when its condition refuses it; in a
//       transaction twice that. A strong read takes one for each begun 4 KB, at least one.

import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from './expressions.ts';

export function sizeOf(item: Item | undefined): number {
  if (item === undefined) return 0;
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.B !== undefined) return value.B.length;
  if (value.N !== undefined) return Math.ceil(value.N.replaceAll(/\D/g, '').length / 2) + 1;
  if (value.L !== undefined) return 3 + value.L.reduce((sum, one) => sum + 1 + valueBytes(one), 0);
  if (value.M !== undefined) return 3 + Object.keys(value.M).length + sizeOf(value.M);
  return 1;
}

const begun = (bytes: number, of: number): number => Math.max(1, Math.ceil(bytes / of));

export const writeUnits = (was: Item | undefined, is: Item | undefined): number => begun(Math.max(sizeOf(was), sizeOf(is)), 1_024);
export const readUnits = (bytes: number): number => begun(bytes, 4_096);
export const queueUnits = (bytes: number): number => begun(bytes, 65_536);
/** Of one record and its partition key. */
export const putUnits = (bytes: number): number => begun(bytes, 25 * 1_024);
