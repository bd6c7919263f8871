// Values of rows as attributes of DynamoDB, and back.

import { Buffer } from 'node:buffer';
import type { RowFields, RowValue, TableItem } from '../../../api/row-table.ts';

/** An attribute as DynamoDB's low-level client has it: one of these is set. */
export interface TableAttribute {
  readonly S?: string | undefined;
  readonly N?: string | undefined;
  readonly B?: Uint8Array | undefined;
  readonly BOOL?: boolean | undefined;
  readonly NULL?: boolean | undefined;
  readonly L?: readonly TableAttribute[] | undefined;
  readonly M?: Readonly<Record<string, TableAttribute>> | undefined;
  readonly SS?: readonly string[] | undefined;
  readonly NS?: readonly string[] | undefined;
  readonly BS?: readonly Uint8Array[] | undefined;
}

export type Attributes = Readonly<Record<string, TableAttribute>>;

export function attributesOf(fields: RowFields): Attributes {
  return Object.fromEntries([...fields].map(([name, value]) => [name, attributeOf(value)]));
}

export function attributeOf(value: RowValue): TableAttribute {
  switch (value.kind) {
    case 'text':
      return { S: value.text };
    case 'number':
      return { N: value.digits };
    case 'bytes':
      return { B: value.bytes };
    case 'boolean':
      return { BOOL: value.is };
    case 'null':
      return { NULL: true };
    case 'list':
      return { L: value.items.map(attributeOf) };
    case 'map':
      return { M: attributesOf(value.fields) };
    case 'opaque':
      return value.value as TableAttribute;
  }
}

export function fieldsOfAttributes(item: Attributes): TableItem {
  return new Map(Object.entries(item).map(([name, attribute]) => [name, rowValueOf(attribute)]));
}

function rowValueOf(attribute: TableAttribute): RowValue {
  if (attribute.S !== undefined) return { kind: 'text', text: attribute.S };
  if (attribute.N !== undefined) return { kind: 'number', digits: attribute.N };
  if (attribute.B !== undefined) return { kind: 'bytes', bytes: attribute.B };
  if (attribute.BOOL !== undefined) return { kind: 'boolean', is: attribute.BOOL };
  if (attribute.NULL !== undefined) return { kind: 'null' };
  if (attribute.L !== undefined) return { kind: 'list', items: attribute.L.map(rowValueOf) };
  if (attribute.M !== undefined) return { kind: 'map', fields: fieldsOfAttributes(attribute.M) };
  // Sets: no row of ours has one, and one of somebody else goes back as it came.
  return { kind: 'opaque', value: attribute, bytes: bytesOfSet(attribute) };
}

function bytesOfSet({ SS, NS, BS }: TableAttribute): number {
  const texts = [...(SS ?? []), ...(NS ?? [])].reduce((sum, text) => sum + Buffer.byteLength(text, 'utf8'), 0);
  return (BS ?? []).reduce((sum, bytes) => sum + bytes.length, texts);
}
