// What a row's values are as attributes, and what cannot be one. Nothing is changed on the way without being said: a number keeps every digit, an
// `undefined` field is left out, and whatever an attribute cannot hold is refused with the field's path before anything is written.

import type { RowFields, RowValue } from '../../api/row-table.ts';
import { SluiceError } from '../../core/errors.ts';
import { nameOfKind } from '../../core/kinds.ts';

const depthMax = 32; // of nested lists and maps
const digitsMax = 38;
const magnitudeMax = 1e126;
const magnitudeMin = 1e-130;

/** @throws SluiceError `VALUE_NOT_ENCODABLE` with the path of what cannot be an attribute */
export function rowFields(row: unknown): RowFields {
  if (!isPlainObject(row)) throw refused('', `a row is a plain object, not ${nameOfKind(row)}`);
  return fieldsOf(Object.entries(row), '', 0);
}

function fieldsOf(entries: Iterable<readonly [unknown, unknown]>, path: string, depth: number): RowFields {
  if (depth > depthMax) throw refused(path, `values are nested deeper than ${depthMax}`);
  const fields = new Map<string, RowValue>();
  for (const [name, value] of entries) {
    if (typeof name !== 'string') throw refused(path, `the key of a map is ${nameOfKind(name)}, and an attribute has a name`);
    if (value !== undefined) fields.set(name, rowValue(value, path === '' ? name : `${path}.${name}`, depth + 1));
  }
  return fields;
}

function rowValue(value: unknown, path: string, depth: number): RowValue {
  switch (typeof value) {
    case 'string':
      return { kind: 'text', text: value };
    case 'boolean':
      return { kind: 'boolean', is: value };
    case 'number':
      return { kind: 'number', digits: digitsOf(value, path) };
    case 'bigint':
      if (String(value).replace('-', '').length > digitsMax) throw refused(path, `${value} has more than ${digitsMax} digits`);
      return { kind: 'number', digits: String(value) };
    case 'object':
      return objectValue(value, path, depth);
    default:
      throw refused(path, `${nameOfKind(value)} cannot be an attribute`);
  }
}

function objectValue(value: object | null, path: string, depth: number): RowValue {
  if (value === null) return { kind: 'null' };
  if (value instanceof Date) return { kind: 'text', text: dateText(value, path) };
  if (value instanceof Uint8Array) return { kind: 'bytes', bytes: value };
  if (depth > depthMax) throw refused(path, `values are nested deeper than ${depthMax}`);
  if (Array.isArray(value) || value instanceof Set) {
    // An element that is undefined has a place that must stay.
    return {
      kind: 'list',
      items: Array.from(value, (item, i) => (item === undefined ? { kind: 'null' } : rowValue(item, `${path}[${i}]`, depth + 1))),
    };
  }
  if (value instanceof Map) return { kind: 'map', fields: fieldsOf(value, path, depth) };
  if (isPlainObject(value)) return { kind: 'map', fields: fieldsOf(Object.entries(value), path, depth) };
  throw refused(path, `${nameOfKind(value)} cannot be an attribute`);
}

function digitsOf(value: number, path: string): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) throw refused(path, `${value} cannot be an attribute`);
  if (size >= magnitudeMax || (size !== 0 && size < magnitudeMin)) throw refused(path, `${value} is beyond the numbers of a table`);
  return String(value === 0 ? 0 : value);
}

function dateText(date: Date, path: string): string {
  if (Number.isNaN(date.getTime())) throw refused(path, 'an invalid Date cannot be an attribute');
  return date.toISOString();
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

function refused(path: string, why: string): SluiceError {
  return new SluiceError('VALUE_NOT_ENCODABLE', { message: path === '' ? why : `${path}: ${why}`, next: 'fix-the-job', path });
}

/** One text for each number, whatever its notation: digits without zeros at either end, and the power of ten of the first. */
export function canonicalDigits(digits: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^(-?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?$/.exec(digits) ?? [];
  const all = `${whole}${fraction}`;
  const from = all.search(/[1-9]/);
  if (from < 0) return '0';
  return `${sign}${all.slice(from).replace(/0+$/, '')}e${whole.length - from + Number(exponent)}`;
}
