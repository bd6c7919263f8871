// A source whose splits split and merge, as a test says. Records go to the open shard whose range holds their key.

import type { Source, Split, SplitChange, SplitPosition, SplitReader } from '../../lib/api/source.ts';
import { murmur3Binary } from '../../lib/core/hash.ts';
import { encodedOf, normalizeKey } from '../../lib/core/key-codec.ts';

export interface Shard<T> {
  readonly split: Split & { readonly range: { readonly from: number; readonly to: number } };
  readonly records: T[];
  isClosed: boolean;
}

export const placementOfKey = (key: unknown): number => murmur3Binary(encodedOf(normalizeKey(key)));

const rangeMax = 2 ** 32 - 1;

export class Shards<T> {
  readonly all: Shard<T>[] = [];
  readonly changes: SplitChange[] = [];
  readonly #keyOf: (value: T) => unknown;
  readonly #initial: readonly Split[];
  #names = 0;

  /** @param count  of shards to begin with, of even ranges */
  constructor(keyOf: (value: T) => unknown, count: number) {
    this.#keyOf = keyOf;
    const size = Math.ceil((rangeMax + 1) / count);
    this.#initial = Array.from({ length: count }, (_, i) => this.#open(i * size, Math.min(rangeMax, (i + 1) * size - 1)).split);
  }

  put(...values: readonly T[]): void {
    for (const value of values) this.shardOf(this.#keyOf(value)).records.push(value);
  }

  /** The open shard of a key. */
  shardOf(key: unknown): Shard<T> {
    const at = placementOfKey(key);
    return this.all.find(({ isClosed, split: { range } }) => !isClosed && range.from <= at && at <= range.to)!;
  }

  /** @param at  first placement of the second child */
  split(shard: Shard<T>, at?: number): readonly Shard<T>[] {
    const { from, to } = shard.split.range;
    const middle = at ?? Math.floor((from + to) / 2) + 1;
    return this.#change([shard], () => [this.#open(from, middle - 1), this.#open(middle, to)]);
  }

  /** Two neighbours, the lower one first. */
  merge(low: Shard<T>, high: Shard<T>): Shard<T> {
    return this.#change([low, high], () => [this.#open(low.split.range.from, high.split.range.to)])[0]!;
  }

  /** Nothing more comes. */
  end(): void {
    for (const shard of this.all) shard.isClosed = true;
  }

  source(isBounded = true): Source<T> {
    return {
      kind: 'shards',
      isRereadable: true,
      isBounded,
      isEager: true,
      enumerate: async () => this.#initial,
      open: (split, from) => this.open(split.id, from),
      evolution: {
        changes: async () => this.changes,
        endOf: async ({ id }) => {
          const { records, isClosed } = this.#shard(id);
          return isClosed ? { index: records.length, at: records.length } : undefined;
        },
      },
    };
  }

  open(id: string, from: SplitPosition | undefined): SplitReader<T> {
    const shard = this.#shard(id);
    let next = from?.index ?? 0;
    return {
      poll: (out, max) => {
        const records = shard.records.slice(next, next + max);
        for (const record of records) out.values[out.count++] = record;
        next += records.length;
        return records.length;
      },
      ready: () => (next < shard.records.length || shard.isClosed ? undefined : Promise.resolve()),
      get hasEnded() {
        return shard.isClosed && next === shard.records.length;
      },
      position: () => ({ index: next, at: next }),
      close: () => undefined,
    };
  }

  #shard(id: string): Shard<T> {
    return this.all.find(({ split }) => split.id === id)!;
  }

  #open(from: number, to: number): Shard<T> {
    const shard: Shard<T> = { split: { id: `shard-${this.#names++}`, range: { from, to } }, records: [], isClosed: false };
    this.all.push(shard);
    return shard;
  }

  #change(parents: readonly Shard<T>[], open: () => readonly Shard<T>[]): readonly Shard<T>[] {
    for (const parent of parents) parent.isClosed = true;
    const children = open();
    this.changes.push({ parents: parents.map(({ split }) => split.id), children: children.map(({ split }) => split) });
    return children;
  }
}
