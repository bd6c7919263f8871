// row-hash.mjs hashes the canonical text of a result row (flink/QUERIES.md: fields in decimal or ASCII, joined by `|`)
// without building the text: each function takes the hash so far and gives the hash after its bytes, FNV-1a, 32 bits.
// A row is `finishRow(hashInt(hashBar(hashText(rowStart, word)), count))`; a checksum is the wrapping sum of its rows.

import { mix } from './generator.mjs';

const prime = 0x01000193;
const bar = 124;
const zero = 48;
/** A whole number of more than 31 bits is hashed as two parts; the lower one has seven digits. */
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

/**
 * A whole number from 0 to 2⁵³ − 1, in decimal. Digits are computed from the left in groups of four: going through a
 * buffer from the right costs twice the time. Functions are few and flat, so that they are inlined where it matters.
 */
export function hashInt(h, n) {
  if (n < 10_000) return leadingDigits(h, n);
  if (n <= 0x7fffffff) {
    const high = (n / 10_000) | 0;
    if (high < 10_000) return fourDigits(leadingDigits(h, high), n - high * 10_000);
    const top = (high / 10_000) | 0;
    return fourDigits(fourDigits(leadingDigits(h, top), high - top * 10_000), n - high * 10_000);
  }
  const upper = Math.floor(n / partMax);
  const lower = (n - upper * partMax) | 0;
  const hundreds = (lower / 10_000) | 0;
  // Three digits, then four: a group of four whose leading digit is left out.
  return fourDigits(threeDigits(hashInt(h, upper), hundreds), lower - hundreds * 10_000);
}

function leadingDigits(h, n) {
  if (n >= 1_000) return fourDigits(h, n);
  if (n >= 100) return threeDigits(h, n);
  if (n < 10) return Math.imul(h ^ (zero + n), prime);
  const tens = (n / 10) | 0;
  return Math.imul(Math.imul(h ^ (zero + tens), prime) ^ (zero + n - tens * 10), prime);
}

function threeDigits(h, n) {
  const hundreds = (n / 100) | 0;
  const tens = (n / 10) | 0;
  const next = Math.imul(h ^ (zero + hundreds), prime);
  return Math.imul(Math.imul(next ^ (zero + tens - hundreds * 10), prime) ^ (zero + n - tens * 10), prime);
}

function fourDigits(h, n) {
  const thousands = (n / 1_000) | 0;
  const hundreds = (n / 100) | 0;
  const tens = (n / 10) | 0;
  let next = Math.imul(h ^ (zero + thousands), prime);
  next = Math.imul(next ^ (zero + hundreds - thousands * 10), prime);
  next = Math.imul(next ^ (zero + tens - hundreds * 10), prime);
  return Math.imul(next ^ (zero + n - tens * 10), prime);
}

/** What a finished row adds to the checksum. */
export function finishRow(h) {
  return mix(h);
}

/** The checksum as it is printed: eight hexadecimal digits. */
export function hex(sum) {
  return (sum >>> 0).toString(16).padStart(8, '0');
}
