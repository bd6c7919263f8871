// json-text.ts owns how a row becomes JSON. JSON.stringify would write some values as others without a word, so a row is looked over
// first: what JSON carries goes straight through, bigints and dates are converted, everything else is refused with its path.
//
//   bigint                                  its decimal digits as a string, as protobuf's JSON does: a number would lose digits in most readers
//   Date                                    ISO 8601 text in UTC; an invalid one is refused
//   an undefined property                   is left out
//   NaN, infinities, Map, Set, bytes, functions, symbols, class instances, undefined elsewhere      refused

import { SluiceError } from '../../core/errors.ts';
import { fieldPath, kindOf, nameOfKind } from '../../core/kinds.ts';
import { valueDepthMax } from '../../core/limits.ts';

/**
 * The JSON text of a row, on one line.
 * @throws SluiceError `VALUE_NOT_ENCODABLE` naming the path of the first part that JSON cannot carry
 */
export function jsonText(row: unknown): string {
  return JSON.stringify(isCarried(row, 0) ? row : convert(row, '$', 0));
}

/** JSON.stringify writes it as it is. Conservative: an unusual object is looked at again by `convert`. */
function isCarried(v: unknown, depth: number): boolean {
  switch (typeof v) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(v);
    case 'object': {
      if (v === null) return true;
      if (depth >= valueDepthMax) return false;
      const prototype: unknown = Object.getPrototypeOf(v);
      if (prototype === Object.prototype) return areFieldsCarried(v, depth);
      return prototype === Array.prototype && (v as unknown[]).every((e) => isCarried(e, depth + 1)) && !hasHole(v as unknown[]);
    }
    default:
      return false;
  }
}

function areFieldsCarried(v: object, depth: number): boolean {
  for (const name in v) {
    const field = (v as Record<string, unknown>)[name];
    if (typeof field === 'string') continue;
    if (name === 'toJSON' || (field !== undefined && !isCarried(field, depth + 1))) return false;
  }
  return true;
}

/** `every` passes over holes. */
function hasHole(v: readonly unknown[]): boolean {
  for (let i = 0; i < v.length; i++) if (!(i in v)) return true;
  return false;
}

function convert(v: unknown, path: string, depth: number): unknown {
  if (depth > valueDepthMax) throw refused(path, `it is nested deeper than ${valueDepthMax} levels, or contains itself`);
  switch (typeof v) {
    case 'string':
    case 'boolean':
      return v;
    case 'bigint':
      return v.toString();
    case 'number':
      if (Number.isFinite(v)) return v;
      throw refused(path, `it is ${v}`);
    case 'object':
      return v === null ? null : convertObject(v, path, depth);
    default:
      throw refused(path, `it is ${nameOfKind(v)}`);
  }
}

function convertObject(v: object, path: string, depth: number): unknown {
  switch (kindOf(v)) {
    case 'plain': {
      // Without a prototype, so that a field called `__proto__` or `toJSON` is a field.
      const copy: Record<string, unknown> = Object.create(null);
      for (const [name, field] of Object.entries(v)) if (field !== undefined) copy[name] = convert(field, fieldPath(path, name), depth + 1);
      return copy;
    }
    case 'array':
      return Array.from(v as readonly unknown[], (e, i) => convert(e, `${path}[${i}]`, depth + 1));
    case 'date': {
      if (Number.isNaN((v as Date).getTime())) throw refused(path, 'it is an invalid Date');
      return (v as Date).toISOString();
    }
    default:
      throw refused(path, `it is ${nameOfKind(v)}`);
  }
}

function refused(path: string, why: string): SluiceError {
  return new SluiceError('VALUE_NOT_ENCODABLE', {
    message: `the row cannot be written as JSON at ${path}: ${why}; map it to text, a finite number, null, an array or a plain object before the sink`,
    next: 'fix-the-job',
    path,
  });
}
