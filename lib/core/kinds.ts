// kinds.ts owns one question: what sort of object is this, by its prototype? Keys, values and ownership must give the same answer.

/** `other` is everything that is never part of a key or a value: class instances, errors, promises, other typed arrays. */
export type ObjectKind = 'plain' | 'array' | 'map' | 'set' | 'date' | 'bytes' | 'other';

/**
 * The kind of an object. Exact prototypes only: a subclass would come back as something else, so it is `other` (a `Buffer` too). An
 * object without prototype is `plain`, and so is a literal made in another realm.
 */
export function kindOf(o: object): ObjectKind {
  const prototype: unknown = Object.getPrototypeOf(o);
  if (prototype === Object.prototype || prototype === null) return 'plain';
  switch (prototype) {
    case Array.prototype:
      return Array.isArray(o) ? 'array' : 'other';
    case Map.prototype:
      return 'map';
    case Set.prototype:
      return 'set';
    case Date.prototype:
      return 'date';
    case Uint8Array.prototype:
      return 'bytes';
    default:
      return isForeignObjectPrototype(prototype as object) ? 'plain' : 'other';
  }
}

function isForeignObjectPrototype(prototype: object): boolean {
  return (
    Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf') && Object.hasOwn(prototype, '__lookupGetter__')
  );
}

/** What to call a thing in a message that refuses it. */
export function nameOfKind(v: unknown): string {
  if (v === null) return 'null';
  if (typeof v !== 'object') return typeof v === 'undefined' ? 'undefined' : `a ${typeof v}`;
  if (Array.isArray(v)) return Object.getPrototypeOf(v) === Array.prototype ? 'an array' : `a ${classOf(v)} (a subclass of Array)`;
  if (kindOf(v) === 'plain') return 'an object';
  return `a ${classOf(v)}`;
}

function classOf(v: object): string {
  const made: unknown = (Object.getPrototypeOf(v) as { constructor?: { name?: unknown } } | null)?.constructor?.name;
  return typeof made === 'string' && made !== '' ? made : 'class instance';
}

/** One more step of a path: `$.a`, `$["a b"]`. */
export function fieldPath(path: string, name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}
