import { crc32 as zlibCrc32 } from 'node:zlib';

// hash.ts owns the two hashes that stored data depends on: MurmurHash3 (x86, 32 bit) places keys, CRC-32 finds damage. Neither is
// ever an identity: keys with the same hash stay different keys.

const c1 = 0xcc9e2d51;
const c2 = 0x1b873593;

/** Mixes one 32-bit little-endian block into the state. */
function mixBlock(hash: number, block: number): number {
  let k = Math.imul(block, c1);
  k = (k << 15) | (k >>> 17);
  hash ^= Math.imul(k, c2);
  hash = (hash << 13) | (hash >>> 19);
  return (Math.imul(hash, 5) + 0xe6546b64) | 0;
}

function mixTail(hash: number, tail: number): number {
  let k = Math.imul(tail, c1);
  k = (k << 15) | (k >>> 17);
  return hash ^ Math.imul(k, c2);
}

function finish(hash: number, length: number): number {
  hash ^= length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * MurmurHash3, x86 32-bit variant.
 * @returns an unsigned 32-bit number
 * @see Austin Appleby, SMHasher, MurmurHash3.cpp (public domain algorithm)
 */
export function murmur3(bytes: Uint8Array, seed = 0): number {
  const length = bytes.length;
  const blocksEnd = length & ~3;
  let hash = seed | 0;
  let i = 0;
  for (; i < blocksEnd; i += 4) hash = mixBlock(hash, bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24));
  let tail = 0;
  for (let j = length - 1; j >= i; j--) tail = (tail << 8) | bytes[j]!;
  if (i < length) hash = mixTail(hash, tail);
  return finish(hash, length);
}

/** `murmur3` of a binary string: each character is one byte (0–255). */
export function murmur3Binary(s: string, seed = 0): number {
  const length = s.length;
  const blocksEnd = length & ~3;
  let hash = seed | 0;
  let i = 0;
  for (; i < blocksEnd; i += 4) {
    hash = mixBlock(hash, s.charCodeAt(i) | (s.charCodeAt(i + 1) << 8) | (s.charCodeAt(i + 2) << 16) | (s.charCodeAt(i + 3) << 24));
  }
  let tail = 0;
  for (let j = length - 1; j >= i; j--) tail = (tail << 8) | s.charCodeAt(j);
  if (i < length) hash = mixTail(hash, tail);
  return finish(hash, length);
}

/**
 * `murmur3` of the byte `lead`, the characters of `s` and a zero byte, without making that text; for the hot path of key groups.
 * @returns -1 when a character is not within 2 and 127, so that one character is not one byte of its own
 */
export function murmur3Framed(lead: number, s: string): number {
  let hash = 0;
  let block = lead;
  let shift = 8;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c < 2 || c > 0x7f) return -1;
    block |= c << shift;
    shift += 8;
    if (shift === 32) {
      hash = mixBlock(hash, block);
      block = 0;
      shift = 0;
    }
  }
  // The closing zero adds nothing to a block but its place.
  hash = shift === 24 ? mixBlock(hash, block) : mixTail(hash, block);
  return finish(hash, s.length + 2);
}

/**
 * CRC-32 (the one of zip and gzip), for finding damaged bytes.
 * @param previous  the sum of the bytes before these, to sum a file piece by piece
 * @returns an unsigned 32-bit number
 */
export function crc32(bytes: Uint8Array, previous = 0): number {
  return zlibCrc32(bytes, previous);
}
