// A table of rows that a job writes to, as its sink needs it: one conditional write for each row. Which service it is the adapter knows.

/** A value of an attribute: numbers as decimal texts, which lose nothing. */
export type RowValue =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'number'; readonly digits: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'boolean'; readonly is: boolean }
  | { readonly kind: 'null' }
  | { readonly kind: 'list'; readonly items: readonly RowValue[] }
  | { readonly kind: 'map'; readonly fields: ReadonlyMap<string, RowValue> };

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
}

export interface RowTable {
  /**
   * Writes rows, each on the condition that the row there has no larger tag. Twice is harmless.
   * @param rows  each of another key
   * @returns how many were left as they were, because somebody had written them later
   * @throws SluiceError when one is not written, whatever became of the others
   */
  write(rows: readonly RowWrite[]): Promise<number>;
}

/** Attribute of a row that holds the tag of its last write. */
export const rowTagAttribute = 'sluice_tag';
/** Attribute of a row that is deleted: seconds since the epoch when nobody can write it any more who does not know. For the table's time to live. */
export const rowGoneAttribute = 'sluice_gone';
