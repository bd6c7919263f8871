import { kindOf } from './kinds.ts';
import { valueDepthMax } from './limits.ts';
import { checkArray, checkBare, explainRefusal, namesOf, refused, setField } from './plain-data.ts';

// owned.ts owns the rule "state owns its values": what a user function hands to state is copied once, and what it gets back cannot
// change what is stored. The stored form of a value is
//
//   O1  itself, when it is a primitive;
//   O2  a deeply frozen copy, when it is made of plain objects and arrays; a read gives that same object;
//   O3  a `MutableOwned`, when a Map, Set, Date or bytes lie inside: they cannot be frozen, so each read gives a fresh copy, in which
//       plain objects and arrays are frozen too.
//
// A copy carries a private mark, so that handing a read value back costs nothing and copies nothing. (A WeakSet of all copies would
// do the same, but a million entries in one cost microseconds each and long pauses of the collector.)

class ReturnGiven {
  // A constructor may return another object; the fields of a subclass are then put on that one.
  constructor(o: object) {
    // biome-ignore lint/correctness/noConstructorReturn: it is the point of this class.
    return o;
  }
}

class Mark extends ReturnGiven {
  #holdsMutable = false;

  static set(o: object): void {
    new Mark(o);
  }
  static isOn(o: object): boolean {
    return #holdsMutable in o;
  }
  static isPure(o: object): boolean {
    return #holdsMutable in o && !o.#holdsMutable;
  }
  static setHoldsMutable(o: object): void {
    (o as Mark).#holdsMutable = true;
  }
}

/** The stored form of a value that holds a Map, Set, Date or bytes. Nobody outside state may see `value`. */
export class MutableOwned {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/**
 * The stored form of a value that user code hands to state.
 *
 * @param path  what the value is called in an error, `$` by default
 * @throws SluiceError `VALUE_NOT_ENCODABLE` naming the path of the first part that cannot be stored: functions, symbols, class
 *   instances (a Buffer too), accessors, symbol-named or hidden properties, cycles, more than 1,000 levels
 */
export function own(v: unknown, path?: string): unknown {
  if (typeof v !== 'object') {
    if (typeof v === 'function' || typeof v === 'symbol') throw explainRefusal(v, path);
    return v;
  }
  if (v === null || Mark.isPure(v)) return v;
  if (Object.getPrototypeOf(v) === Uint8Array.prototype) return new MutableOwned(new Uint8Array(v as Uint8Array));
  try {
    const copier = new Copier(true);
    const copy = copier.copy(v, 0);
    return copier.mutables === 0 ? copy : new MutableOwned(copy);
  } catch (e) {
    throw e === refused ? explainRefusal(v, path) : e;
  }
}

/** What user code gets to see of a stored form. */
export function expose(stored: unknown): unknown {
  return stored instanceof MutableOwned ? new Copier(false).copy(stored.value, 0) : stored;
}

/** True for the frozen copies of state and what was read from them: their shape is known to be in order. */
export function isMarked(o: object): boolean {
  return Mark.isOn(o);
}

/** A new plain object that will be filled and then frozen by `seal`. The mark comes first: put on later, it costs ten times as much. */
export function markedObject(): Record<string, unknown> {
  const o = {};
  Mark.set(o);
  return o;
}

/** A new array that will be filled and then frozen by `seal`. */
export function markedArray(): unknown[] {
  const a: unknown[] = [];
  Mark.set(a);
  return a;
}

/** Ends the filling of a marked object or array. */
export function seal<T extends object>(o: T, holdsMutable: boolean): T {
  if (holdsMutable) Mark.setHoldsMutable(o);
  return Object.freeze(o);
}

const ancestorsFromDepth = 8; // flat values pay nothing for the search for cycles

class Copier {
  /** Maps, Sets, Dates and byte strings met so far. */
  mutables = 0;
  readonly #checks: boolean;
  readonly #ancestors: object[] = [];

  /** @param checks  false when the value is already a stored one */
  constructor(checks: boolean) {
    this.#checks = checks;
  }

  copy(v: unknown, depth: number): unknown {
    if (typeof v !== 'object') {
      if (typeof v === 'function' || typeof v === 'symbol') throw refused;
      return v;
    }
    if (v === null || Mark.isPure(v)) return v;
    this.#enter(v, depth);
    switch (kindOf(v)) {
      case 'plain':
        return this.#object(v as Record<string, unknown>, depth);
      case 'array':
        return this.#array(v as unknown[], depth);
      case 'map':
        return this.#map(v as Map<unknown, unknown>, depth);
      case 'set':
        return this.#set(v as Set<unknown>, depth);
      case 'date':
        if (this.#checks) checkBare(v);
        this.mutables++;
        return new Date((v as Date).getTime());
      case 'bytes':
        this.mutables++;
        return new Uint8Array(v as Uint8Array);
      default:
        throw refused;
    }
  }

  #enter(v: object, depth: number): void {
    if (!this.#checks) return;
    if (depth >= valueDepthMax) throw refused;
    this.#ancestors[depth] = v;
    if (depth >= ancestorsFromDepth) for (let i = 0; i < depth; i++) if (this.#ancestors[i] === v) throw refused;
  }

  #object(v: Record<string, unknown>, depth: number): object {
    const names = this.#checks && !Mark.isOn(v) ? namesOf(v) : Object.keys(v);
    const before = this.mutables;
    const copy = markedObject();
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      setField(copy, name, this.copy(v[name], depth + 1));
    }
    return seal(copy, this.mutables !== before);
  }

  #array(v: readonly unknown[], depth: number): object {
    if (this.#checks && !Mark.isOn(v)) checkArray(v);
    const before = this.mutables;
    const copy = markedArray();
    for (let i = 0; i < v.length; i++) copy.push(this.copy(v[i], depth + 1));
    return seal(copy, this.mutables !== before);
  }

  #map(v: Map<unknown, unknown>, depth: number): object {
    if (this.#checks) checkBare(v);
    this.mutables++;
    const copy = new Map<unknown, unknown>();
    for (const [k, x] of v) copy.set(this.copy(k, depth + 1), this.copy(x, depth + 1));
    return copy;
  }

  #set(v: Set<unknown>, depth: number): object {
    if (this.#checks) checkBare(v);
    this.mutables++;
    const copy = new Set<unknown>();
    for (const x of v) copy.add(this.copy(x, depth + 1));
    return copy;
  }
}
