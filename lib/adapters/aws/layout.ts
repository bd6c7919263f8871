// Where everything of a job lies in its table, spelled here and nowhere else.
//   Y1  One table a job. Both keys are text, and each kind of item has a first letter of its own in `p`, so that kinds never meet.
//   Y2  Names of attributes have one letter: a store charges for them, in every item, on every write.
//   Y3  What the bytes mean is the runtime's: they begin with a format byte of their own.

import type { ItemAddress, RingAddress } from '../../invocation/ports.ts';

/** Names of attributes. */
export const attribute = {
  partition: 'p',
  sort: 's',
  bytes: 'b',
  /** Of an entry. */
  number: 'n',
  writer: 'w',
  /** Of an item of state. */
  tags: 't',
  /** Seconds since the epoch: the table's time to live. */
  expires: 'e',
  /** Of a small item. */
  revision: 'v',
  change: 'c',
} as const;

/** A type of its own and no interface: the client's parameters have an index signature. */
export type ItemKey = {
  readonly p: { readonly S: string };
  readonly s: { readonly S: string };
};

const slotDigits = 6;

export function partitionOfRing({ generation, subtask }: RingAddress): string {
  return `r${generation}/${subtask}`;
}

/** In order of slots. */
export function sortOfSlot(slot: number): string {
  return String(slot).padStart(slotDigits, '0');
}

export function keyOfSlot(ring: RingAddress, slot: number): ItemKey {
  return { p: { S: partitionOfRing(ring) }, s: { S: sortOfSlot(slot) } };
}

export function partitionOfState(partition: string): string {
  return `s${partition}`;
}

export function keyOfState({ partition, sort }: ItemAddress): ItemKey {
  return { p: { S: partitionOfState(partition) }, s: { S: sort } };
}

export function addressOfKey(p: string, s: string): ItemAddress {
  return { partition: p.slice(1), sort: s };
}

/** Small items are few and listed by the beginning of their names, so that they share a partition. */
export const partitionOfItems = 'i';

export function keyOfItem(name: string): ItemKey {
  return { p: { S: partitionOfItems }, s: { S: name } };
}

/** Index of the stage whose queue carries messages of a group: groups are subtasks, `<stage>-<…>`. */
export function stageOfGroup(group: string): string {
  return group.slice(0, Math.max(0, group.indexOf('-')));
}

/** Objects of a table that has no bucket beside it; parts in order. */
export const objectHead: string = sortOfPart(0);

function sortOfPart(part: number): string {
  return String(part).padStart(slotDigits, '0');
}

export function partitionOfObject(name: string): string {
  return `o${name}`;
}

export function nameOfObject(p: string): string {
  return p.slice(1);
}

export function keyOfObjectPart(name: string, part: number): ItemKey {
  return { p: { S: partitionOfObject(name) }, s: { S: sortOfPart(part) } };
}
