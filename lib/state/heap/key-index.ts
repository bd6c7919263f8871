// From key to slot number, a batch at a time. An open-addressed table of (hash, slot) pairs is walked in three tight passes over the batch
// (hash every key, probe for every hash, compare every key), so that the cache misses of many keys overlap; one look-up after the other in
// a Map waits for each (docs/decisions/002-columnar-heap.md has the figures).
//   X1  A hash only finds candidates; keys are compared by value, so keys with one hash are two keys.
//   X2  A probe looks at no more than `probesMax` pairs. Keys that find no place so near live in a Map, so that crafted hashes cost a
//       Map look-up and nothing worse.
//   X3  Removing shifts later pairs of the chain back, so chains have no holes and no marks.

import { batchRecordsMax } from '../../core/batch.ts';
import type { CompositeKey, StateKey } from '../../core/key-codec.ts';

const probesMax = 32;
const capacityMin = 1024;

export class KeyIndex {
  /** The key of each slot; `undefined` where the slot is free. */
  readonly keys: (StateKey | undefined)[] = [];
  /** Pairs (hash, slot + 1); a pair with 0 is empty. At most half of them are used. */
  #table = new Int32Array(capacityMin * 2);
  #mask = capacityMin - 1;
  #used = 0;
  /** Keys that had no place near their hash (X2). */
  readonly #crowded = new Map<unknown, number>();
  #hashes = new Int32Array(batchRecordsMax);
  #candidates = new Int32Array(batchRecordsMax);

  /**
   * Finds the slot of each of the first `count` keys.
   * @param absent  called for a key that has none; gives the slot that was made for it by `add`
   */
  resolve(keys: readonly StateKey[], count: number, slots: Int32Array, absent: (key: StateKey) => number): void {
    if (count > this.#hashes.length) {
      this.#hashes = new Int32Array(count);
      this.#candidates = new Int32Array(count);
    }
    const hashes = this.#hashes;
    const candidates = this.#candidates;
    const table = this.#table;
    const mask = this.#mask;
    for (let i = 0; i < count; i++) {
      const key = keys[i];
      hashes[i] = typeof key === 'string' ? hashText(key) : hashOf(key as StateKey);
    }
    for (let i = 0; i < count; i++) {
      const hash = hashes[i] as number;
      let at = hash & mask;
      let probes = 1;
      while (table[at * 2 + 1] !== 0 && table[at * 2] !== hash && probes < probesMax) {
        at = (at + 1) & mask;
        probes += 1;
      }
      candidates[i] = table[at * 2] === hash ? (table[at * 2 + 1] as number) : 0;
    }
    const known = this.keys;
    for (let i = 0; i < count; i++) {
      const key = keys[i] as StateKey;
      const candidate = candidates[i] as number;
      if (candidate !== 0 && known[candidate - 1] === key) slots[i] = candidate - 1;
      else slots[i] = this.#find(key, hashes[i] as number) ?? absent(key);
    }
  }

  find(key: StateKey): number | undefined {
    return this.#find(key, hashOf(key));
  }

  /** The key has no slot yet, and the slot is free. */
  add(key: StateKey, slot: number): void {
    this.keys[slot] = key;
    if ((this.#used + 1) * 2 > this.#mask + 1) this.#grow();
    this.#place(hashOf(key), slot);
  }

  remove(slot: number): void {
    const key = this.keys[slot] as StateKey;
    this.keys[slot] = undefined;
    if (this.#crowded.size > 0 && this.#crowded.delete(identityOf(key))) return;
    const table = this.#table;
    const mask = this.#mask;
    let hole = hashOf(key) & mask;
    while (table[hole * 2 + 1] !== slot + 1) hole = (hole + 1) & mask;
    this.#used -= 1;
    for (let at = (hole + 1) & mask; table[at * 2 + 1] !== 0; at = (at + 1) & mask) {
      const home = (table[at * 2] as number) & mask;
      // A pair may move back only if its own home does not lie behind the hole.
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      table[hole * 2] = table[at * 2] as number;
      table[hole * 2 + 1] = table[at * 2 + 1] as number;
      hole = at;
    }
    table[hole * 2 + 1] = 0;
  }

  #find(key: StateKey, hash: number): number | undefined {
    const table = this.#table;
    const mask = this.#mask;
    let at = hash & mask;
    for (let probes = 0; probes < probesMax; probes++) {
      const held = table[at * 2 + 1] as number;
      if (held === 0) break;
      if (table[at * 2] === hash && isSame(this.keys[held - 1] as StateKey, key)) return held - 1;
      at = (at + 1) & mask;
    }
    return this.#crowded.size === 0 ? undefined : this.#crowded.get(identityOf(key));
  }

  #place(hash: number, slot: number): void {
    const table = this.#table;
    const mask = this.#mask;
    let at = hash & mask;
    for (let probes = 0; probes < probesMax; probes++) {
      if (table[at * 2 + 1] === 0) {
        table[at * 2] = hash;
        table[at * 2 + 1] = slot + 1;
        this.#used += 1;
        return;
      }
      at = (at + 1) & mask;
    }
    this.#crowded.set(identityOf(this.keys[slot] as StateKey), slot);
  }

  #grow(): void {
    const old = this.#table;
    const capacity = (this.#mask + 1) * 2;
    this.#table = new Int32Array(capacity * 2);
    this.#mask = capacity - 1;
    this.#used = 0;
    for (let at = 0; at < old.length; at += 2) {
      const held = old[at + 1] as number;
      if (held !== 0) this.#place(old[at] as number, held - 1);
    }
  }
}

function isSame(a: StateKey, b: StateKey): boolean {
  if (a === b) return true;
  if (typeof a === 'object') return typeof b === 'object' && a.encoded === b.encoded;
  return Number.isNaN(a) && Number.isNaN(b);
}

/** What a Map finds a key by; the word before it tells an object from a string that looks like its encoding. */
function identityOf(key: StateKey): unknown {
  return typeof key === 'object' ? `object ${key.encoded}` : typeof key === 'string' ? `string ${key}` : key;
}

const offset = 0x811c9dc5;
const prime = 0x01000193;

/**
 * FNV-1a over UTF-16 units, finished by a mix (public domain; Fowler, Noll, Vo), since the table uses the low bits.
 * 32 bits; exported for the tests that craft keys with one hash.
 */
export function hashText(text: string): number {
  let hash = offset;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), prime);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

const bits = new DataView(new ArrayBuffer(8));

function hashOf(key: StateKey): number {
  switch (typeof key) {
    case 'string':
      return hashText(key);
    case 'number':
      return hashNumber(key);
    case 'object':
      return hashText((key as CompositeKey).encoded);
    case 'boolean':
      return key ? 1 : 2;
    default:
      return hashText(key.toString(36));
  }
}

function hashNumber(n: number): number {
  let hash = n | 0;
  if (hash !== n) {
    bits.setFloat64(0, n);
    hash = Math.imul(bits.getInt32(0), prime) ^ bits.getInt32(4);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
