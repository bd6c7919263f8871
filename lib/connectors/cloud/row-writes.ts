// From the rows of one call to writes that a table takes: one for each key.
//   W1  A key is written once, as its last row says, under that row's tag: what came before would be overwritten anyhow.
//   W2  A row that is deleted leaves its key and tag behind for a day. Without them a process that was left behind would find nothing, and write what
//       was deleted long ago.

import { type RowFields, type RowValue, type RowWrite, rowGoneAttribute, rowTagAttribute } from '../../api/row-table.ts';
import { type RowTag, rowTagAt } from '../../api/row-tag.ts';
import { SluiceError } from '../../core/errors.ts';
import { tagText, transactionsBefore } from './row-tags.ts';
import { canonicalDigits, rowFields } from './row-values.ts';

export interface RowShape {
  /** Names of the fields that are the table's key: partition key, and sort key if it has one. */
  readonly key: readonly string[];
  readonly isMerged: boolean;
  readonly isDeleted: (row: unknown) => boolean;
  /** Seconds since the epoch. */
  readonly nowSeconds: number;
}

/** No environment lives for a day, so nobody can write a row again that was deleted longer ago. */
const goneSeconds = 24 * 60 * 60;

/** @throws SluiceError `VALUE_NOT_ENCODABLE` */
export function rowWrites(rows: readonly unknown[], tag: RowTag, shape: RowShape): readonly RowWrite[] {
  const byKey = new Map<string, RowWrite>();
  const alsoOver = transactionsBefore(tag);
  for (const [i, row] of rows.entries()) {
    const fields = rowFields(row);
    const key = keyFields(fields, shape.key);
    const name = keyName(key);
    const write = { ...writeOf({ row, fields, key, tag: tagText(rowTagAt(tag, i)) }, shape), alsoOver };
    const earlier = byKey.get(name);
    byKey.set(name, earlier === undefined || write.how === 'replace' ? write : onTopOf(earlier, write));
  }
  return [...byKey.values()];
}

interface Row {
  readonly row: unknown;
  readonly fields: RowFields;
  readonly key: RowFields;
  readonly tag: string;
}

function writeOf({ row, fields, key, tag }: Row, { isDeleted, isMerged, nowSeconds }: RowShape): RowWrite {
  if (isDeleted(row)) {
    const gone: RowValue = { kind: 'number', digits: String(nowSeconds + goneSeconds) };
    return { how: 'replace', key, fields: new Map([[rowGoneAttribute, gone]]), tag };
  }
  for (const name of [rowTagAttribute, rowGoneAttribute]) if (fields.has(name)) throw refused(name, 'is the name of an attribute of ours');
  return { how: isMerged ? 'merge' : 'replace', key, fields: new Map([...fields].filter(([name]) => !key.has(name))), tag };
}

/** A merge goes on top of what the call wrote before; onto a row that was just deleted it makes a new one. */
function onTopOf(earlier: RowWrite, { fields, tag }: RowWrite): RowWrite {
  const below = [...earlier.fields].filter(([name]) => name !== rowGoneAttribute);
  return { ...earlier, fields: new Map([...below, ...fields]), tag };
}

/** @throws SluiceError `VALUE_NOT_ENCODABLE` */
export function keyFields(fields: RowFields, names: readonly string[]): RowFields {
  return new Map(
    names.map((name) => {
      const value = fields.get(name);
      if (value === undefined) throw refused(name, 'is part of the key, and the row does not have it');
      if (value.kind !== 'text' && value.kind !== 'number' && value.kind !== 'bytes')
        throw refused(name, `is part of the key, and ${value.kind} cannot be`);
      if (value.kind === 'text' && value.text === '') throw refused(name, 'is part of the key, and empty');
      return [name, value];
    }),
  );
}

/** What tells a key from others. */
export function keyName(key: RowFields): string {
  return [...key.values()].map(keyText).join('/');
}

function keyText(value: RowValue): string {
  if (value.kind === 'text') return JSON.stringify(value.text);
  return value.kind === 'number'
    ? canonicalDigits(value.digits)
    : value.kind === 'bytes'
      ? `b${Array.from(value.bytes).join()}`
      : value.kind;
}

function refused(path: string, why: string): SluiceError {
  return new SluiceError('VALUE_NOT_ENCODABLE', { message: `${path} ${why}`, next: 'fix-the-job', path });
}
