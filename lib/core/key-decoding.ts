import { Buffer } from 'node:buffer';
import { binaryStringToBytes } from './bytes.ts';
import { SluiceError } from './errors.ts';
import { keyTag } from './key-tags.ts';
import { bigintBytesMax, keyDepthMax } from './limits.ts';
import { setField } from './plain-data.ts';

// key-decoding.ts owns the way back from an encoded key. It accepts exactly what key-codec.ts writes: any other text is damage, so
// that two encodings can never mean one key.

/** A decoded key, and whether it holds bytes, which nothing can freeze. */
export interface DecodedKey {
  readonly value: unknown;
  readonly holdsBytes: boolean;
  /** Where the encoding ends. */
  readonly end: number;
}

/**
 * Decodes the one key that fills the text from `start` on.
 * @throws SluiceError `DATA_DAMAGED`
 */
export function decodeKeyAt(encoded: string, start: number): DecodedKey {
  const decoder = new KeyDecoder(encoded, start);
  const value = decoder.read(0);
  if (decoder.at !== encoded.length) throw decoder.damaged('something follows the key');
  return { value, holdsBytes: decoder.holdsBytes, end: decoder.at };
}

const tagCode = {
  false: keyTag.false.charCodeAt(0),
  true: keyTag.true.charCodeAt(0),
  number: keyTag.number.charCodeAt(0),
  bigint: keyTag.bigint.charCodeAt(0),
  string: keyTag.string.charCodeAt(0),
  bytes: keyTag.bytes.charCodeAt(0),
  tuple: keyTag.tuple.charCodeAt(0),
  object: keyTag.object.charCodeAt(0),
} as const;

const float = new DataView(new ArrayBuffer(8));
const encodedNaNHigh = 0xfff80000 | 0;

class KeyDecoder {
  readonly text: string;
  at: number;
  holdsBytes = false;

  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }

  read(depth: number): unknown {
    if (depth > keyDepthMax) throw this.damaged('it is nested too deep');
    switch (this.text.charCodeAt(this.at++)) {
      case tagCode.false:
        return false;
      case tagCode.true:
        return true;
      case tagCode.number:
        return this.#number();
      case tagCode.bigint:
        return this.#bigint();
      case tagCode.string:
        return textOfWtf8(this.#escaped(), this);
      case tagCode.bytes:
        this.holdsBytes = true;
        return binaryStringToBytes(this.#escaped());
      case tagCode.tuple:
        return this.#tuple(depth);
      case tagCode.object:
        return this.#object(depth);
      default:
        this.at--;
        throw this.damaged(
          this.at >= this.text.length ? 'it ends too early' : `no kind of key begins with byte ${this.text.charCodeAt(this.at)}`,
        );
    }
  }

  damaged(why: string): SluiceError {
    return new SluiceError('DATA_DAMAGED', {
      message: `encoded key is damaged at byte ${this.at} of ${this.text.length}: ${why}`,
      next: 'repair-state',
      what: 'key',
      position: this.at,
    });
  }

  #take(length: number): string {
    if (length > this.text.length - this.at) throw this.damaged('it ends too early');
    this.at += length;
    return this.text.slice(this.at - length, this.at);
  }

  #number(): number {
    if (this.text.length - this.at < 8) throw this.damaged('it ends too early');
    const high = this.#word();
    const low = this.#word();
    const isNegative = high >= 0;
    float.setInt32(0, isNegative ? ~high : high ^ 0x80000000);
    float.setInt32(4, isNegative ? ~low : low);
    const n = float.getFloat64(0);
    if (Object.is(n, -0) || (Number.isNaN(n) && (high !== encodedNaNHigh || low !== 0)))
      throw this.damaged('the number is not in its one form');
    return n;
  }

  #word(): number {
    const { text, at } = this;
    this.at += 4;
    return (text.charCodeAt(at) << 24) | (text.charCodeAt(at + 1) << 16) | (text.charCodeAt(at + 2) << 8) | text.charCodeAt(at + 3);
  }

  #bigint(): bigint {
    const head = this.#take(1).charCodeAt(0);
    if (head === 0x80) return 0n;
    const x = head > 0x80 ? 0 : 0xff;
    let length = (head ^ x) - 0x80;
    if (length === 0x7f) {
      const long = this.#take(4);
      length = 0;
      for (let i = 0; i < 4; i++) length = length * 256 + (long.charCodeAt(i) ^ x);
      if (length < 0x7f) throw this.damaged('the length of a bigint is not in its one form');
    }
    if (length === 0 || length > bigintBytesMax) throw this.damaged('the length of a bigint is none that is written');
    const magnitude = binaryStringToBytes(this.#take(length));
    if (x !== 0) for (let i = 0; i < length; i++) magnitude[i] = magnitude[i]! ^ x;
    if (magnitude[0] === 0) throw this.damaged('a bigint has leading zeros');
    const n = BigInt(`0x${Buffer.from(magnitude).toString('hex')}`);
    return x === 0 ? n : -n;
  }

  /** The unescaped bytes up to the end mark. */
  #escaped(): string {
    const end = this.text.indexOf(keyTag.end, this.at);
    if (end < 0) throw this.damaged('a string has no end');
    const raw = this.text.slice(this.at, end);
    if (!raw.includes('\x01')) {
      this.at = end + 1;
      return raw;
    }
    if (!onlyOurEscapes.test(raw)) throw this.damaged('an escape is not one of ours');
    this.at = end + 1;
    return raw.replace(ourEscape, (pair) => (pair === '\x01\x01' ? '\0' : '\x01'));
  }

  #tuple(depth: number): readonly unknown[] {
    const out: unknown[] = [];
    while (this.text.charCodeAt(this.at) !== 0) out.push(this.read(depth + 1));
    this.at++;
    return Object.freeze(out);
  }

  #object(depth: number): object {
    const out: Record<string, unknown> = {};
    let previous = '';
    while (this.text.charCodeAt(this.at) !== 0) {
      const start = this.at;
      if (this.text.charCodeAt(start) !== tagCode.string) throw this.damaged('a property has no name');
      const name = this.read(depth + 1) as string;
      const encodedName = this.text.slice(start, this.at);
      if (encodedName <= previous) throw this.damaged('the properties are not in order');
      previous = encodedName;
      setField(out, name, this.read(depth + 1));
    }
    this.at++;
    return Object.freeze(out);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: byte 1 is the escape.
const ourEscape = /\u0001[\u0001\u0002]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: byte 1 is the escape.
const onlyOurEscapes = /^(?:[^\u0001]|\u0001[\u0001\u0002])*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is the whole of ASCII.
const ascii = /^[\u0000-\u007f]*$/;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOfWtf8(bytes: string, decoder: KeyDecoder): string {
  if (ascii.test(bytes)) return bytes;
  // Lone surrogates (ed, then a0 to bf) are not UTF-8; the text between them is.
  const pieces = bytes.split(/(\xed[\xa0-\xbf][\x80-\xbf])/);
  let text = '';
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i]!;
    if (i % 2 === 1) {
      const unit = 0xd000 | ((piece.charCodeAt(1) & 0x3f) << 6) | (piece.charCodeAt(2) & 0x3f);
      const last = text.charCodeAt(text.length - 1);
      if (unit >= 0xdc00 && last >= 0xd800 && last < 0xdc00) throw decoder.damaged('a surrogate pair is written as two');
      text += String.fromCharCode(unit);
      continue;
    }
    try {
      text += strictUtf8.decode(binaryStringToBytes(piece));
    } catch {
      throw decoder.damaged('a string is not UTF-8');
    }
  }
  return text;
}
