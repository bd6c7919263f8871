// A table of rows that a job writes to, as its sink needs it: one conditional write for each row. Which service it is the adapter knows.

import { MiB } from '../core/limits.ts';

/** A value of an attribute: numbers as decimal texts, which lose nothing. */
export type RowValue =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'number'; readonly digits: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'boolean'; readonly is: boolean }
  | { readonly kind: 'null' }
  | { readonly kind: 'list'; readonly items: readonly RowValue[] }
  | { readonly kind: 'map'; readonly fields: ReadonlyMap<string, RowValue> }
  /** What only its adapter reads, such as a set that somebody else wrote: it is handed back as it is. */
  | { readonly kind: 'opaque'; readonly value: unknown; readonly bytes: number };

export type RowFields = ReadonlyMap<string, RowValue>;

/** One write of one row. Its tag is kept with the row, and a row with a larger one is left as it is. */
export interface RowWrite {
  /** `replace`: the row is these fields and no others. `merge`: the others stay. */
  readonly how: 'replace' | 'merge';
  /** The attributes of the table's key. */
  readonly key: RowFields;
  readonly fields: RowFields;
  /** Texts whose order is that of the writes. */
  readonly tag: string;
  /** Tags that are older although they are larger: above `from` and below `to`. */
  readonly alsoOver?: { readonly from: string; readonly to: string } | undefined;
}

/** A row that was left as it is. */
export interface RowLeft {
  readonly key: RowFields;
  /** The tag that it has; `undefined`: it has none that is a text. */
  readonly held: string | undefined;
}

export interface RowTable {
  /**
   * Writes rows, each on the condition that the row there has no larger tag, but for those in `alsoOver`. Twice is harmless.
   * @param rows  each of another key
   * @returns those that were left as they were, because of their tags
   * @throws SluiceError when one is not written, whatever became of the others
   */
  write(rows: readonly RowWrite[]): Promise<readonly RowLeft[]>;
}

/** Attribute of a row that holds the tag of its last write. */
export const rowTagAttribute = 'sluice_tag';
/** Attribute of a row that is deleted: seconds since the epoch when nobody can write it any more who does not know. For the table's time to live. */
export const rowGoneAttribute = 'sluice_gone';

/** Attribute of an item that is changed on the condition of its revision: a number, one more with each change. */
export const rowRevisionAttribute = 'sluice_rev';

/** An item of a table, its key included. */
export type TableItem = RowFields;

/** What an item had when it was read; all of it `undefined`: there was none. */
export interface ReadItem {
  readonly revision: number | undefined;
  /** Under `rowTagAttribute`. A sink that writes at once sets it, and leaves the revision as it is or takes it away. */
  readonly tag: string | undefined;
}

/** What an item becomes: whole, on the condition that it still has the revision and the tag with which it was read. */
export interface ItemChange {
  /** With its key and the attribute `rowRevisionAttribute`. */
  readonly item: TableItem;
  readonly expects: ReadItem;
}

/** The items of a table, for a sink that decides what becomes of each. */
export interface ItemTable {
  /** Read strongly, in order of the keys; `undefined`: there is none. @param keys  each another one */
  read(keys: readonly RowFields[]): Promise<readonly (TableItem | undefined)[]>;
  /**
   * Each by itself. `conflict`: the item has another revision or tag, perhaps because an earlier try of the same change happened. `left`: it was throttled, or
   * nobody knows; whoever reads the item finds out.
   */
  changeEach(changes: readonly ItemChange[]): Promise<readonly ('changed' | 'conflict' | 'left')[]>;
  /** All of them or none. @param changes  at most 100 items and 4 MB */
  changeAll(changes: readonly ItemChange[]): Promise<'changed' | 'conflict'>;
}

/** Of one `changeAll`. */
export const changeAllItemsMax = 100;
export const changeAllBytesMax: number = 4 * MiB;
