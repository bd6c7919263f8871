// stream-places.ts is where in a shard a record lies, and which keys a shard has. Pure.
//   P1  Numbers of records are not dense and have up to 129 digits: they are compared as whole numbers, never counted with. A record of the stream
//       may hold several of ours, so a place is the number and the record's place behind it.
//   P2  Of a shard's range the highest 32 bits count. Where a border lies within one such number, the number is that of the upper shard.
//   P3  Which shard a producer puts a record in is decided by the MD5 of its partition key. State of a key follows its records only when the partition key is
//       the text of the key.

import { createHash } from 'node:crypto';
import type { Split, SplitChange, SplitRange } from '../../api/source.ts';
import type { StreamShard } from '../../api/targets.ts';
import { decodeKey } from '../../core/key-codec.ts';

/** Plain data. */
export interface StreamPlace {
  readonly sequence: string;
  /** Place among the records that the stream's record holds, from 0. */
  readonly sub: number;
}

export function compareStreamPlaces(a: unknown, b: unknown): number {
  const [left, right] = [a as StreamPlace, b as StreamPlace];
  const difference = BigInt(left.sequence) - BigInt(right.sequence);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return left.sub - right.sub;
}

const droppedBits = 96n; // of 128

export function splitOfShard({ id, hashes }: StreamShard): Split & { readonly range: SplitRange } {
  const from = Number(hashes.from >> droppedBits);
  const to = Number((hashes.to + 1n) >> droppedBits) - 1;
  return { id, range: { from, to: Math.max(from, to) } };
}

/** Shards that come first: those whose parents the stream has forgotten. */
export function firstShards(shards: readonly StreamShard[]): readonly StreamShard[] {
  const known = new Set(shards.map(({ id }) => id));
  return shards.filter(({ parents }) => !parents.some((parent) => known.has(parent)));
}

/** What has become of shards that gave way to others. */
export function shardChanges(shards: readonly StreamShard[]): readonly SplitChange[] {
  const known = new Set(shards.map(({ id }) => id));
  const changes = new Map<string, { readonly parents: readonly string[]; readonly children: Split[] }>();
  for (const shard of shards) {
    const parents = shard.parents.filter((parent) => known.has(parent)).sort();
    if (parents.length === 0) continue;
    const change = changes.get(parents.join()) ?? { parents, children: [] };
    changes.set(parents.join(), change);
    change.children.push(splitOfShard(shard));
  }
  return [...changes.values()];
}

/** @param key  encoded */
export function placementOfPartitionKey(key: string): number {
  const value = decodeKey(key);
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return createHash('md5').update(text, 'utf8').digest().readUInt32BE(0);
}
