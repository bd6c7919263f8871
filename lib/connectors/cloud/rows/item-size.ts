// Sizes as DynamoDB counts them, and what follows from its limits. A little more is counted than the service does, so that what passes here passes there.

import { Buffer } from 'node:buffer';
import type { RowFields, RowValue, TableItem } from '../../../api/row-table.ts';
import { SluiceError } from '../../../core/errors.ts';
import { KiB } from '../../../core/limits.ts';

/** Of an item, names of attributes included. */
export const itemBytesMax: number = 400 * KiB;
export const partitionKeyBytesMax = 2_048;
export const sortKeyBytesMax = 1_024;
/** For our own attributes of a row: tags, revision, names. */
export const ownBytesMax: number = KiB;

const perValue = 3; // of a list or map
const perElement = 1;

export function itemBytes(item: TableItem): number {
  return fieldsBytes(item);
}

function fieldsBytes(fields: RowFields): number {
  let bytes = 0;
  for (const [name, value] of fields) bytes += utf8(name) + valueBytes(value);
  return bytes;
}

function valueBytes(value: RowValue): number {
  switch (value.kind) {
    case 'text':
      return utf8(value.text);
    case 'number':
      return Math.ceil(value.digits.length / 2) + 2;
    case 'bytes':
      return value.bytes.length;
    case 'boolean':
    case 'null':
      return 1;
    case 'list':
      return value.items.reduce((sum, item) => sum + valueBytes(item) + perElement, perValue);
    case 'map':
      return fieldsBytes(value.fields) + perValue + value.fields.size * perElement;
    case 'opaque':
      return value.bytes;
  }
}

function utf8(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/**
 * @param row.key  in order: partition, sort
 * @param bytesMax  that the fields may have
 * @throws SluiceError `ROW_TOO_LARGE`
 */
export function checkRowSize(row: { readonly key: RowFields; readonly fields: RowFields }, bytesMax: number, why: string): void {
  const limits = [partitionKeyBytesMax, sortKeyBytesMax];
  for (const [i, [name, value]] of [...row.key].entries()) {
    const bytes = valueBytes(value);
    if (bytes > limits[i]!) throw tooLarge(`${name} is part of the key and has ${bytes} bytes; a table takes ${limits[i]}`, row.key, bytes);
  }
  const bytes = fieldsBytes(row.key) + fieldsBytes(row.fields);
  if (bytes > bytesMax) throw tooLarge(`the row has ${bytes} bytes, ${why}`, row.key, bytes);
}

function tooLarge(why: string, key: RowFields, bytes: number): SluiceError {
  return new SluiceError('ROW_TOO_LARGE', {
    message: `row ${keyShown(key)}: ${why}`,
    next: 'fix-the-job',
    advice: 'keep what is large in an object of its own, and its name in the row',
    value: bytes,
  });
}

export function keyShown(key: RowFields): string {
  const shown = [...key].map(([name, value]) => {
    const said = value.kind === 'text' ? value.text : value.kind === 'number' ? value.digits : value.kind;
    return `${name}=${said.length > 80 ? `${said.slice(0, 80)}…` : said}`;
  });
  return shown.join(', ');
}
