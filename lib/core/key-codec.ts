import { Buffer } from 'node:buffer';
import { bytesToBinaryString } from './bytes.ts';
import { SluiceError } from './errors.ts';
import { decodeKeyAt } from './key-decoding.ts';
import { keyTag } from './key-tags.ts';
import { fieldPath, kindOf, nameOfKind } from './kinds.ts';
import { keyDepthMax } from './limits.ts';
import { namesOf, refused } from './plain-data.ts';

// key-codec.ts owns the identity of keys: two keys are the same key exactly when their encodings are equal. An encoding is a binary
// string (each character one byte), so `===` compares keys, `<` orders them, and it can be the key of a Map.
//
//   K1  One key has one encoding, and one encoding is one key; no encoding is a prefix of another.
//   K2  Byte order is key order: false, true; numbers by value, NaN last; bigints by value; strings by code point; bytes; tuples and
//       objects element by element, the shorter first. Kinds follow each other in that order, so 1 and 1n are different keys.
//   K3  -0 is 0. Every NaN is one key. A lone surrogate is kept and sorts at its own code point. NUL is a character like others.
//   K4  An object is its own enumerable string-named properties, whatever their order; names like `__proto__` are just names.
//   K5  Encoding copies: what happens to the value afterwards changes no key. Decoding runs no setter and touches no prototype.

/** A key that is its own normal form. */
export type PrimitiveKey = string | number | bigint | boolean;

/**
 * A tuple, plain object or byte string as a key, encoded once. `value` is the key in its one canonical form, deeply frozen (property
 * names in code point order); where it holds bytes, which cannot be frozen, each read gives a fresh copy.
 */
export class CompositeKey {
  readonly encoded: string;
  #value: unknown;

  constructor(encoded: string) {
    this.encoded = encoded;
  }

  get value(): unknown {
    if (this.#value !== undefined) return this.#value;
    const { value, holdsBytes } = decodeKeyAt(this.encoded, 0);
    if (!holdsBytes) this.#value = value;
    return value;
  }
}

/** A key in normal form, as records carry it and state is looked up by it. */
export type StateKey = PrimitiveKey | CompositeKey;

/**
 * The order-preserving encoding of a key: a tag byte, then
 *
 * - boolean: the tag alone;
 * - number: the IEEE 754 bits, big-endian, the sign bit flipped (all bits when negative);
 * - bigint: the number of magnitude bytes, then the magnitude, big-endian, all complemented when negative;
 * - string: its code points as generalised UTF-8 (WTF-8, lone surrogates as three bytes), with 00 written 01 01 and 01 written 01 02,
 *   then 00;
 * - bytes: escaped and ended in the same way;
 * - tuple: its elements, then 00;
 * - object: its properties in code point order of their names, each a string and a value, then 00.
 *
 * @returns a binary string; the empty string is never an encoding
 * @throws SluiceError `KEY_NOT_SUPPORTED` naming the path of a part that cannot be in a key: null, undefined, Date, Map, Set, a
 *   function, a symbol, a class instance (Buffer too), an accessor, a symbol-named property, or more than 64 levels
 */
export function encodeKey(value: unknown): string {
  try {
    return encodeAt(value, 0);
  } catch (e) {
    throw e === refused ? refuse(value) : e;
  }
}

/**
 * The key that `encodeKey` was given, in canonical form and deeply frozen (bytes excepted).
 * @throws SluiceError `DATA_DAMAGED` when the text is not exactly one encoding
 */
export function decodeKey(encoded: string): unknown {
  return decodeKeyAt(encoded, 0).value;
}

/**
 * The form in which a key is carried on the hot path. Strings, numbers, bigints and booleans are themselves (-0 becomes 0), so a Map
 * finds them by value; other keys are encoded here, once, and are looked up by `encoded`. The two kinds need a Map each: a user's
 * string may look like an encoding.
 * @throws SluiceError `KEY_NOT_SUPPORTED` as `encodeKey`
 */
export function normalizeKey(value: unknown): StateKey {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return value;
    case 'number':
      return value === 0 ? 0 : value;
    default:
      return new CompositeKey(encodeKey(value));
  }
}

/** The encoding of a normal form. */
export function encodedOf(k: StateKey): string {
  return typeof k === 'object' ? k.encoded : encodeKey(k);
}

/** The key as user code sees it. */
export function keyValue(k: StateKey): unknown {
  return typeof k === 'object' ? k.value : k;
}

/** The normal form of an encoding that was read back. */
export function keyOfEncoded(encoded: string): StateKey {
  const value = decodeKey(encoded);
  return typeof value === 'object' ? new CompositeKey(encoded) : (value as PrimitiveKey);
}

function encodeAt(v: unknown, depth: number): string {
  switch (typeof v) {
    case 'string':
      return keyTag.string + escapedText(v) + keyTag.end;
    case 'number':
      return encodeNumber(v);
    case 'boolean':
      return v ? keyTag.true : keyTag.false;
    case 'bigint':
      return encodeBigint(v);
    case 'object':
      if (v !== null && depth < keyDepthMax) return encodeObject(v, depth);
  }
  throw refused;
}

function encodeObject(v: object, depth: number): string {
  switch (kindOf(v)) {
    case 'bytes':
      return keyTag.bytes + escapedBinary(bytesToBinaryString(v as Uint8Array)) + keyTag.end;
    case 'array':
      return encodeTuple(v as readonly unknown[], depth);
    case 'plain':
      return encodeProperties(v as Readonly<Record<string, unknown>>, depth);
    default:
      throw refused;
  }
}

function encodeTuple(v: readonly unknown[], depth: number): string {
  let out: string = keyTag.tuple;
  for (let i = 0; i < v.length; i++) out += encodeAt(v[i], depth + 1);
  return out + keyTag.end;
}

function encodeProperties(v: Readonly<Record<string, unknown>>, depth: number): string {
  const names = namesOf(v);
  let out: string = keyTag.object;
  let previous = '';
  for (let i = 0; i < names.length; i++) {
    const name = keyTag.string + escapedText(names[i]!) + keyTag.end;
    if (name < previous) return encodeSorted(v, names, depth);
    out += name + encodeAt(v[names[i]!], depth + 1);
    previous = name;
  }
  return out + keyTag.end;
}

/** A name ends with 00 and is no prefix of another, so sorting whole properties sorts by name. */
function encodeSorted(v: Readonly<Record<string, unknown>>, names: readonly string[], depth: number): string {
  const properties = names.map((name) => keyTag.string + escapedText(name) + keyTag.end + encodeAt(v[name], depth + 1));
  return keyTag.object + properties.sort(byBytes).join('') + keyTag.end;
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const float = new DataView(new ArrayBuffer(8));
const numberTag = keyTag.number.charCodeAt(0);
const encodedNaN = `${keyTag.number}\xff\xf8\0\0\0\0\0\0`;

function encodeNumber(n: number): string {
  if (Number.isNaN(n)) return encodedNaN;
  float.setFloat64(0, n === 0 ? 0 : n);
  let high = float.getUint32(0);
  let low = float.getUint32(4);
  high = n < 0 ? ~high : high ^ 0x80000000;
  if (n < 0) low = ~low;
  // biome-ignore format: the bytes read as one row
  return String.fromCharCode(
    numberTag, high >>> 24, (high >>> 16) & 0xff, (high >>> 8) & 0xff, high & 0xff, low >>> 24, (low >>> 16) & 0xff, (low >>> 8) & 0xff, low & 0xff,
  );
}

function encodeBigint(n: bigint): string {
  if (n === 0n) return `${keyTag.bigint}\x80`;
  let hex = (n < 0n ? -n : n).toString(16);
  if (hex.length % 2 === 1) hex = `0${hex}`;
  const bytes = Buffer.from(hex, 'hex');
  const head =
    bytes.length < 0x7f
      ? [0x80 + bytes.length]
      : [0xff, bytes.length >>> 24, (bytes.length >>> 16) & 0xff, (bytes.length >>> 8) & 0xff, bytes.length & 0xff];
  const all = Buffer.concat([Uint8Array.from(head), bytes]);
  if (n < 0n) for (let i = 0; i < all.length; i++) all[i] = all[i]! ^ 0xff;
  return keyTag.bigint + all.toString('latin1');
}

// Most keys are printable ASCII, which is its own escaped WTF-8. The test costs less than any copy.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the two control characters are the ones that need an escape.
const plainText = /^[\u0002-\u007f]*$/;

function escapedText(s: string): string {
  if (s.length < 32) {
    for (let i = 0; i < s.length; i++) {
      const c = s.charCodeAt(i);
      if (c < 2 || c > 0x7f) return escapedBinary(wtf8Of(s));
    }
    return s;
  }
  return plainText.test(s) ? s : escapedBinary(wtf8Of(s));
}

/** The WTF-8 bytes of any JavaScript string as a binary string: UTF-8, but a lone surrogate becomes three bytes like other code points. */
function wtf8Of(s: string): string {
  if (s.isWellFormed()) return Buffer.from(s, 'utf8').toString('latin1');
  let out = '';
  for (const character of s) {
    const c = character.codePointAt(0)!;
    if (c >= 0xd800 && c <= 0xdfff) out += String.fromCharCode(0xe0 | (c >> 12), 0x80 | ((c >> 6) & 0x3f), 0x80 | (c & 0x3f));
    else out += Buffer.from(character, 'utf8').toString('latin1');
  }
  return out;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the two control characters are the ones that need an escape.
const needsEscape = /[\u0000\u0001]/g;

function escapedBinary(s: string): string {
  return s.replace(needsEscape, (c) => (c === '\0' ? '\x01\x01' : '\x01\x02'));
}

function refuse(root: unknown): SluiceError {
  const found = findUnsupported(root, '$', 0) ?? { path: '$', why: `it is ${nameOfKind(root)}` };
  return new SluiceError('KEY_NOT_SUPPORTED', {
    message: `key at ${found.path} cannot be used: ${found.why}; a key is a string, number, bigint, boolean, Uint8Array, or a tuple or plain object of these`,
    next: 'fix-the-job',
    path: found.path,
  });
}

interface Unsupported {
  readonly path: string;
  readonly why: string;
}

function findUnsupported(v: unknown, path: string, depth: number): Unsupported | undefined {
  if (typeof v !== 'object' || v === null)
    return ['string', 'number', 'bigint', 'boolean'].includes(typeof v) ? undefined : { path, why: `it is ${nameOfKind(v)}` };
  if (depth >= keyDepthMax)
    return { path: `${path.slice(0, 40)}…`, why: `it is nested deeper than ${keyDepthMax} levels, or refers to itself` };
  const kind = kindOf(v);
  if (kind === 'bytes') return undefined;
  if (kind === 'array') {
    for (let i = 0; i < (v as unknown[]).length; i++) {
      const found = findUnsupported((v as unknown[])[i], `${path}[${i}]`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (kind === 'plain') return findUnsupportedProperty(v, path, depth);
  const hint = Buffer.isBuffer(v)
    ? ', a subclass of Uint8Array; make it one with new Uint8Array(buffer)'
    : kind === 'date'
      ? '; use its getTime()'
      : '';
  return { path, why: `it is ${nameOfKind(v)}${hint}` };
}

function findUnsupportedProperty(v: object, path: string, depth: number): Unsupported | undefined {
  for (const name of Reflect.ownKeys(v)) {
    if (typeof name === 'symbol') return { path: `${path}[${String(name)}]`, why: 'the property is named by a symbol' };
    const property = Object.getOwnPropertyDescriptor(v, name)!;
    const here = fieldPath(path, name);
    if (!('value' in property)) return { path: here, why: 'it is an accessor' };
    if (property.enumerable !== true) return { path: here, why: 'the property is not enumerable' };
    const found = findUnsupported(property.value, here, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
