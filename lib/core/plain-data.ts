import { SluiceError } from './errors.ts';
import { fieldPath, kindOf, nameOfKind } from './kinds.ts';
import { valueDepthMax } from './limits.ts';

// plain-data.ts owns the rules of what a value may be. The codec and the ownership copy walk values in their own ways and ask here, so
// that both refuse the same things. Their walks are fast and keep no path; when one refuses, it throws `refused` and `explainRefusal`
// walks once more, slowly, to say where and why. No walk runs a getter.

/** Thrown inside a walk, never out of it. */
export const refused: object = Object.freeze({ refused: true });

/** The property names of a plain object in their own order; throws `refused` for symbols, accessors and hidden properties. */
export function namesOf(o: object): string[] {
  const names = Object.getOwnPropertyNames(o);
  for (let i = 0; i < names.length; i++) {
    const property = Object.getOwnPropertyDescriptor(o, names[i]!)!;
    if (property.enumerable !== true || property.get !== undefined || property.set !== undefined) throw refused;
  }
  if (Object.getOwnPropertySymbols(o).length !== 0) throw refused;
  return names;
}

/** Defines a property so that no name, `__proto__` included, reaches a setter or a prototype. */
export function setField(o: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(o, name, { value, enumerable: true, configurable: true, writable: true });
  else o[name] = value;
}

/**
 * Throws `refused` when an array has enumerable properties that are no elements, as a match of a regular expression has. Counting the
 * values is much faster than listing the names; a count that is right in spite of a hole is possible, so holes are searched for too.
 */
export function checkArray(a: readonly unknown[]): void {
  if ((Object.values(a).length !== a.length || hasHole(a)) && strayOf(a) !== undefined) throw refused;
}

function hasHole(a: readonly unknown[]): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] === undefined && !(i in a)) return true;
  return false;
}

/** Throws `refused` when a Map, Set or Date carries properties beside its content. */
export function checkBare(o: object): void {
  if (Reflect.ownKeys(o).length !== 0) throw refused;
}

function strayOf(o: object): string | symbol | undefined {
  return Array.isArray(o) ? Object.keys(o).find((name) => !isIndex(name)) : Reflect.ownKeys(o)[0];
}

function isIndex(name: string): boolean {
  const n = Number(name);
  return Number.isInteger(n) && n >= 0 && n < 2 ** 32 - 1 && String(n) === name;
}

const mayBe = 'a value is plain data, Map, Set, Date, bigint, Uint8Array or undefined';

/**
 * The error for a value that a walk refused.
 * @param path  what the value is called, `$` by default
 */
export function explainRefusal(root: unknown, path = '$'): SluiceError {
  const found = findRefused(root, path, []) ?? { path, why: 'it changed while it was read' };
  return new SluiceError('VALUE_NOT_ENCODABLE', {
    message: `value at ${found.path} cannot be stored: ${found.why}; ${mayBe}`,
    next: 'fix-the-job',
    path: found.path,
  });
}

interface Found {
  readonly path: string;
  readonly why: string;
}

function findRefused(v: unknown, path: string, ancestors: object[]): Found | undefined {
  if (typeof v === 'function' || typeof v === 'symbol') return { path, why: `it is ${nameOfKind(v)}` };
  if (typeof v !== 'object' || v === null) return undefined;
  if (ancestors.includes(v)) return { path, why: 'it refers back to an object that holds it' };
  if (ancestors.length >= valueDepthMax) return { path: `${path.slice(0, 60)}…`, why: `it is nested deeper than ${valueDepthMax} levels` };
  ancestors.push(v);
  const found = findInside(v, path, ancestors);
  ancestors.pop();
  return found;
}

function findInside(v: object, path: string, ancestors: object[]): Found | undefined {
  switch (kindOf(v)) {
    case 'plain':
      return findInProperties(v, path, ancestors);
    case 'array':
      return findStray(v, path) ?? firstFound(v as unknown[], (i) => `${path}[${i}]`, ancestors);
    case 'map': {
      const entries = [...(v as Map<unknown, unknown>)];
      const keys = entries.map(([k]) => k);
      const values = entries.map(([, x]) => x);
      const nameOf = (i: number): string =>
        `${path}.get(${typeof keys[i] === 'string' ? JSON.stringify(keys[i]) : typeof keys[i] === 'object' ? '…' : String(keys[i])})`;
      return findStray(v, path) ?? firstFound(keys, (i) => `${path}.keys()[${i}]`, ancestors) ?? firstFound(values, nameOf, ancestors);
    }
    case 'set':
      return findStray(v, path) ?? firstFound([...(v as Set<unknown>)], (i) => `${path}.values()[${i}]`, ancestors);
    case 'date':
      return findStray(v, path);
    case 'bytes':
      return undefined;
    default:
      return { path, why: `it is ${nameOfKind(v)}${hintFor(v)}` };
  }
}

function hintFor(v: object): string {
  if (v instanceof Uint8Array) return ', a subclass of Uint8Array; make it one with new Uint8Array(…)';
  if (ArrayBuffer.isView(v) || v instanceof ArrayBuffer) return '; bytes are kept as Uint8Array';
  return '; a class instance would come back without its class, so store its plain fields';
}

function firstFound(values: readonly unknown[], pathOf: (i: number) => string, ancestors: object[]): Found | undefined {
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v === null || (typeof v !== 'object' && typeof v !== 'function' && typeof v !== 'symbol')) continue;
    const found = findRefused(v, pathOf(i), ancestors);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findStray(v: object, path: string): Found | undefined {
  const stray = strayOf(v);
  return stray === undefined ? undefined : { path, why: `it has a property ${String(stray)} beside its content` };
}

function findInProperties(v: object, path: string, ancestors: object[]): Found | undefined {
  for (const name of Reflect.ownKeys(v)) {
    if (typeof name === 'symbol') return { path: `${path}[${String(name)}]`, why: 'the property is named by a symbol' };
    const property = Object.getOwnPropertyDescriptor(v, name)!;
    const here = fieldPath(path, name);
    if (!('value' in property)) return { path: here, why: 'it is an accessor' };
    if (property.enumerable !== true) return { path: here, why: 'the property is not enumerable' };
    const found = findRefused(property.value, here, ancestors);
    if (found !== undefined) return found;
  }
  return undefined;
}
