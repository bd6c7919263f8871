// held-row.ts is an item of a table whose rows become visible together: what is visible now, what was before, and what is staged.
//   V1  The attributes of the row itself are always a committed version, so that whoever knows nothing of this reads no row that may yet be undone.
//   V2  `sluice_before` is the version before it, for readers that began before the last commit; `sluice_next` is what transactions have staged that are
//       not known to be settled, by tag.
//   V3  Every change of ours raises `sluice_rev`, and is made on the condition that nobody else has changed the item since it was read: neither a
//       transaction, which raises it, nor a sink that writes at once, which sets `sluice_tag` alone.

import {
  type ReadItem,
  type RowFields,
  type RowValue,
  rowGoneAttribute,
  rowRevisionAttribute,
  rowTagAttribute,
  type TableItem,
} from '../../../api/row-table.ts';
import { SluiceError } from '../../../core/errors.ts';

export const rowBeforeAttribute = 'sluice_before';
export const rowNextAttribute = 'sluice_next';
export const attributesOfOurs: readonly string[] = [
  rowTagAttribute,
  rowGoneAttribute,
  rowRevisionAttribute,
  rowBeforeAttribute,
  rowNextAttribute,
];

/** What a row is at one time: its fields without the key, or a row that was deleted. */
export type RowContent =
  | { readonly kind: 'row'; readonly fields: RowFields }
  /** @property until  seconds since the epoch when the trace of it may go */
  | { readonly kind: 'gone'; readonly until: string };

export interface RowVersion {
  /** Empty: somebody else wrote it, who knows no tags. */
  readonly tag: string;
  readonly content: RowContent;
}

export interface HeldRow {
  readonly key: RowFields;
  readonly revision: number | undefined;
  readonly current: RowVersion | undefined;
  /** `none`: there was no row. `lost`: there was one, and it is not kept. */
  readonly before: RowVersion | 'none' | 'lost';
  /** In order of tags. */
  readonly staged: readonly RowVersion[];
}

/** @throws SluiceError `DATA_DAMAGED` when an attribute of ours holds what we never write */
export function heldRow(key: RowFields, item: TableItem | undefined): HeldRow {
  if (item === undefined) return { key, revision: undefined, current: undefined, before: 'none', staged: [] };
  return {
    key,
    revision: optional(item.get(rowRevisionAttribute), (value) => Number(digitsOf(value))),
    current: currentOf(key, item),
    before: beforeOf(item.get(rowBeforeAttribute)),
    staged: optional(item.get(rowNextAttribute), (value) => listOf(value).map(versionOf)) ?? [],
  };
}

/** The condition of a change. @throws SluiceError `DATA_DAMAGED` as `heldRow` */
export function readItem(item: TableItem | undefined): ReadItem {
  return {
    revision: optional(item?.get(rowRevisionAttribute), (value) => Number(digitsOf(value))),
    tag: optional(item?.get(rowTagAttribute), textOf),
  };
}

function currentOf(key: RowFields, item: TableItem): RowVersion | undefined {
  const tag = optional(item.get(rowTagAttribute), textOf) ?? '';
  const until = optional(item.get(rowGoneAttribute), digitsOf);
  if (until !== undefined) return { tag, content: { kind: 'gone', until } };
  const fields = new Map([...item].filter(([name]) => !key.has(name) && !attributesOfOurs.includes(name)));
  // An item that has nothing but what is staged is no row yet.
  if (tag === '' && fields.size === 0 && item.has(rowNextAttribute)) return undefined;
  return { tag, content: { kind: 'row', fields } };
}

/** As it is written: with the next revision. */
export function itemOfRow({ key, revision, current, before, staged }: HeldRow): TableItem {
  const item = new Map<string, RowValue>(key);
  if (current !== undefined) {
    if (current.content.kind === 'row') for (const [name, value] of current.content.fields) item.set(name, value);
    else item.set(rowGoneAttribute, { kind: 'number', digits: current.content.until });
    if (current.tag !== '') item.set(rowTagAttribute, text(current.tag));
  }
  item.set(rowRevisionAttribute, { kind: 'number', digits: String((revision ?? 0) + 1) });
  if (current !== undefined) item.set(rowBeforeAttribute, beforeValue(before));
  if (staged.length > 0) item.set(rowNextAttribute, { kind: 'list', items: staged.map(versionValue) });
  return item;
}

// In `sluice_before` and `sluice_next` a version is a map: `tag`, and `row` or `gone`. `before` may be `none` or `lost` instead.

function versionValue({ tag, content }: RowVersion): RowValue {
  const fields = new Map<string, RowValue>([['tag', text(tag)]]);
  if (content.kind === 'row') fields.set('row', { kind: 'map', fields: content.fields });
  else fields.set('gone', { kind: 'number', digits: content.until });
  return { kind: 'map', fields };
}

function beforeValue(before: HeldRow['before']): RowValue {
  return typeof before === 'string' ? { kind: 'map', fields: new Map([[before, { kind: 'boolean', is: true }]]) } : versionValue(before);
}

function beforeOf(value: RowValue | undefined): HeldRow['before'] {
  if (value === undefined) return 'lost';
  const fields = fieldsOf(value);
  if (fields.has('none')) return 'none';
  return fields.has('lost') ? 'lost' : versionOf(value);
}

function versionOf(value: RowValue): RowVersion {
  const fields = fieldsOf(value);
  const tag = textOf(fields.get('tag'));
  const gone = fields.get('gone');
  if (gone !== undefined) return { tag, content: { kind: 'gone', until: digitsOf(gone) } };
  return { tag, content: { kind: 'row', fields: fieldsOf(fields.get('row')) } };
}

function optional<T>(value: RowValue | undefined, read: (value: RowValue) => T): T | undefined {
  return value === undefined ? undefined : read(value);
}

export function text(value: string): RowValue {
  return { kind: 'text', text: value };
}

export function textOf(value: RowValue | undefined): string {
  if (value?.kind === 'text') return value.text;
  throw damaged('a text', value);
}

export function digitsOf(value: RowValue | undefined): string {
  if (value?.kind === 'number') return value.digits;
  throw damaged('a number', value);
}

export function listOf(value: RowValue | undefined): readonly RowValue[] {
  if (value?.kind === 'list') return value.items;
  throw damaged('a list', value);
}

function fieldsOf(value: RowValue | undefined): RowFields {
  if (value?.kind === 'map') return value.fields;
  throw damaged('a map', value);
}

function damaged(what: string, value: RowValue | undefined): SluiceError {
  return new SluiceError('DATA_DAMAGED', {
    message: `an item has ${value?.kind ?? 'nothing'} where ${what} has to be: somebody else has written an attribute that begins with sluice_`,
    next: 'repair-state',
  });
}
