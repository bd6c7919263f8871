// row-hash.mjs hashes the canonical text of a result row (flink/QUERIES.md: fields in decimal or ASCII, joined by `|`)
// without building the text: each function takes the hash so far and gives the hash after its bytes, FNV-1a, 32 bits.
// A row is `finishRow(hashInt(hashBar(hashText(rowStart, word)), count))`; a checksum is the wrapping sum of its rows.

import { mix } from './generator.mjs';

const prime = 0x01000193;
const bar = 124;
const zero = 48;
const digits = new Uint8Array(16);
/** A whole number above this is hashed as two parts, each within 31 bits; the lower part has seven digits. */
const partMax = 10_000_000;

/** The hash of no bytes. */
export const rowStart = 0x811c9dc5 | 0;

/** The field separator. */
export function hashBar(h) {
  return Math.imul(h ^ bar, prime);
}

/** An ASCII text. */
export function hashText(h, text) {
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), prime);
  return h;
}

/** A whole number from 0 to 2⁵³ − 1, in decimal. */
export function hashInt(h, n) {
  if (n > 0x7fffffff) {
    const high = Math.floor(n / partMax);
    return hashPadded(hashInt(h, high), (n - high * partMax) | 0);
  }
  let at = digits.length;
  let rest = n | 0;
  do {
    const tenth = (rest / 10) | 0;
    digits[--at] = zero + rest - tenth * 10;
    rest = tenth;
  } while (rest !== 0);
  for (; at < digits.length; at++) h = Math.imul(h ^ digits[at], prime);
  return h;
}

function hashPadded(h, sevenDigits) {
  let rest = sevenDigits;
  for (let at = 6; at >= 0; at--) {
    const tenth = (rest / 10) | 0;
    digits[at] = zero + rest - tenth * 10;
    rest = tenth;
  }
  for (let at = 0; at < 7; at++) h = Math.imul(h ^ digits[at], prime);
  return h;
}

/** What a finished row adds to the checksum. */
export function finishRow(h) {
  return mix(h);
}

/** The checksum as it is printed: eight hexadecimal digits. */
export function hex(sum) {
  return (sum >>> 0).toString(16).padStart(8, '0');
}
