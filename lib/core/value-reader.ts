import type { Buffer } from 'node:buffer';
import { viewOf } from './bytes.ts';
import { SluiceError } from './errors.ts';
import { bigintBytesMax, valueDepthMax } from './limits.ts';
import { MutableOwned, markedArray, markedObject, seal } from './owned.ts';
import { setField } from './plain-data.ts';
import * as tag from './value-tags.ts';

/**
 * Reads what a `ValueWriter` wrote, from any bytes: a length is compared with what is left before anything is allocated, nesting is
 * bounded, and whatever cannot have been written is `DATA_DAMAGED`.
 */
export class ValueReader {
  readonly #bytes: Buffer;
  /** Made when the first number of eight bytes comes. */
  #view: DataView | undefined;
  readonly #what: string;
  #at: number;
  #owning = false;
  #mutables = 0;

  /**
   * @param offset  where to begin
   * @param what    what the bytes are, for errors
   */
  constructor(bytes: Uint8Array, offset = 0, what = 'value') {
    this.#bytes = viewOf(bytes);
    this.#at = offset;
    this.#what = what;
  }

  /** Where the next byte is read. */
  get offset(): number {
    return this.#at;
  }

  /** Bytes that are left. */
  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  /** A value that the caller may change. */
  readValue(): unknown {
    this.#owning = false;
    return this.#read(0);
  }

  /** A value in its stored form (see owned.ts), as if `own` had been given it, without a second copy. */
  readStored(): unknown {
    this.#owning = true;
    this.#mutables = 0;
    const v = this.#read(0);
    return this.#mutables === 0 ? v : new MutableOwned(v);
  }

  readByte(): number {
    if (this.#at >= this.#bytes.length) throw this.damaged('it ends too early');
    return this.#bytes[this.#at++]!;
  }

  readVarint(): number {
    let n = 0;
    let unit = 1;
    for (let i = 0; i < 8; i++) {
      const b = this.readByte();
      n += (b & 0x7f) * unit;
      if (b < 0x80) {
        if (n > Number.MAX_SAFE_INTEGER) break;
        return n;
      }
      unit *= 128;
    }
    throw this.damaged('a number is longer than any that is written');
  }

  readFloat64(): number {
    this.#need(8);
    this.#at += 8;
    return this.#numbers().getFloat64(this.#at - 8, true);
  }

  /** The bytes of `writeBytes`: a copy, so that a small value does not keep a whole file in memory. */
  readBytes(): Uint8Array {
    return this.readRaw(this.readVarint());
  }

  /** A copy of the next bytes. */
  readRaw(length: number): Uint8Array {
    this.#need(length);
    this.#at += length;
    return new Uint8Array(this.#bytes.subarray(this.#at - length, this.#at));
  }

  /** The next bytes, not copied: for who reads them at once and keeps nothing of them. */
  viewRaw(length: number): Uint8Array {
    this.#need(length);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** The text of `readString`, for texts that come again and again, such as names: the last ones are remembered instead of made again. */
  readName(): string {
    return this.#name();
  }

  readString(): string {
    const t = this.readByte();
    if ((t & 0xe0) === tag.tagShortText) return this.#shortText(t & 0x1f);
    if (t === tag.tagText || t === tag.tagText16) return this.#longText(t);
    this.#at--;
    throw this.damaged(`text is expected, byte ${t} begins something else`);
  }

  /** The text of `writeBinaryString`. */
  readBinaryString(): string {
    const length = this.readVarint();
    this.#need(length);
    this.#at += length;
    return this.#bytes.toString('latin1', this.#at - length, this.#at);
  }

  /**
   * Reads a format byte.
   * @param newest  the newest format that this reader knows
   * @returns the format, 1 to `newest`
   * @throws SluiceError `FORMAT_NEWER` when it was written by a later version, `DATA_DAMAGED` when no version wrote it
   */
  readFormat(newest: number): number {
    const found = this.readByte();
    if (found > newest) {
      throw new SluiceError('FORMAT_NEWER', {
        message: `${this.#what} has format ${found}, this version reads formats up to ${newest}; use the version that wrote it, or a later one`,
        next: 'repair-state',
        what: this.#what,
        found,
        newest,
      });
    }
    if (found === 0) throw this.damaged('no format has number 0');
    return found;
  }

  /** @throws SluiceError `DATA_DAMAGED` when bytes are left */
  expectEnd(): void {
    if (this.remaining !== 0) throw this.damaged(`${this.remaining} bytes follow it`);
  }

  /** The error for bytes that cannot have been written. */
  damaged(why: string): SluiceError {
    return new SluiceError('DATA_DAMAGED', {
      message: `${this.#what} is damaged at byte ${this.#at} of ${this.#bytes.length}: ${why}`,
      next: 'repair-state',
      what: this.#what,
      position: this.#at,
    });
  }

  #numbers(): DataView {
    this.#view ??= new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
    return this.#view;
  }

  #need(bytes: number): void {
    if (bytes > this.#bytes.length - this.#at) throw this.damaged('it ends too early');
  }

  #read(depth: number): unknown {
    const t = this.readByte();
    if (t <= tag.smallIntMax) return t;
    switch (t & 0xf0) {
      case tag.tagShortText:
      case tag.tagShortText | 0x10:
        return this.#shortText(t & 0x1f);
      case tag.tagShortArray:
        return this.#array(t & 0x0f, depth);
      case tag.tagShortObject:
        return this.#object(t & 0x0f, depth);
      default:
        return this.#readTagged(t, depth);
    }
  }

  #readTagged(t: number, depth: number): unknown {
    switch (t) {
      case tag.tagUndefined:
        return undefined;
      case tag.tagNull:
        return null;
      case tag.tagFalse:
        return false;
      case tag.tagTrue:
        return true;
      case tag.tagPositive:
        return this.readVarint();
      case tag.tagNegative:
        return -1 - this.readVarint();
      case tag.tagFloat:
        return this.readFloat64();
      case tag.tagBigint64:
        this.#need(8);
        this.#at += 8;
        return this.#numbers().getBigInt64(this.#at - 8, true);
      case tag.tagBigintPositive:
        return this.#bigint();
      case tag.tagBigintNegative:
        return -this.#bigint();
      case tag.tagText:
      case tag.tagText16:
        return this.#longText(t);
      case tag.tagBytes:
        this.#mutables++;
        return this.readBytes();
      case tag.tagDate:
        this.#mutables++;
        return new Date(this.readFloat64());
      case tag.tagArray:
        return this.#array(this.readVarint(), depth);
      case tag.tagObject:
        return this.#object(this.readVarint(), depth);
      case tag.tagMap:
        return this.#map(this.readVarint(), depth);
      case tag.tagSet:
        return this.#set(this.readVarint(), depth);
      default:
        this.#at--;
        throw this.damaged(`no kind of value begins with byte ${t}`);
    }
  }

  #bigint(): bigint {
    const magnitude = viewOf(this.readBytes()).reverse();
    if (magnitude.length === 0 || magnitude.length > bigintBytesMax) throw this.damaged('the length of a bigint is none that is written');
    return BigInt(`0x${magnitude.toString('hex')}`);
  }

  #shortText(length: number): string {
    this.#need(length);
    const start = this.#at;
    this.#at += length;
    return this.#bytes.toString('latin1', start, this.#at);
  }

  #name(): string {
    const t = this.#bytes[this.#at];
    if (t === undefined || (t & 0xe0) !== tag.tagShortText) return this.readString();
    const length = t & 0x1f;
    const start = this.#at + 1;
    const slot = length === 0 ? 0 : (this.#bytes[start]! * 31 + this.#bytes[start + length - 1]! * 7 + length) & (names.length - 1);
    const known = names[slot]!;
    if (known.length === length) {
      let i = 0;
      while (i < length && known.charCodeAt(i) === this.#bytes[start + i]) i++;
      if (i === length) {
        this.#at = start + length;
        return known;
      }
    }
    this.#at++;
    names[slot] = this.#shortText(length);
    return names[slot];
  }

  #longText(t: number): string {
    const length = this.readVarint();
    this.#need(length);
    const start = this.#at;
    this.#at += length;
    if (t === tag.tagText16) {
      if (length % 2 !== 0) throw this.damaged('UTF-16 text has half a unit');
      return this.#bytes.toString('utf16le', start, this.#at);
    }
    const text = this.#bytes.toString('utf8', start, this.#at);
    // Decoding puts U+FFFD where bytes are not UTF-8; where the text may really hold one, a strict decoder decides.
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, this.#at))) throw this.damaged('text is not UTF-8');
    return text;
  }

  #checkCount(count: number, bytesEach: number, depth: number): void {
    if (depth >= valueDepthMax) throw this.damaged('it is nested too deep');
    if (count * bytesEach > this.remaining) throw this.damaged('it ends too early');
  }

  #array(length: number, depth: number): unknown {
    this.#checkCount(length, 1, depth);
    const before = this.#mutables;
    const out = this.#owning ? markedArray() : [];
    for (let i = 0; i < length; i++) out.push(this.#read(depth + 1));
    return this.#owning ? seal(out, this.#mutables !== before) : out;
  }

  #object(count: number, depth: number): unknown {
    this.#checkCount(count, 2, depth);
    const before = this.#mutables;
    const out: Record<string, unknown> = this.#owning ? markedObject() : {};
    for (let i = 0; i < count; i++) setField(out, this.#name(), this.#read(depth + 1));
    return this.#owning ? seal(out, this.#mutables !== before) : out;
  }

  #map(size: number, depth: number): unknown {
    this.#checkCount(size, 2, depth);
    this.#mutables++;
    const out = new Map<unknown, unknown>();
    for (let i = 0; i < size; i++) {
      const key = this.#read(depth + 1);
      out.set(key, this.#read(depth + 1));
    }
    if (out.size !== size) throw this.damaged('a Map has a key twice');
    return out;
  }

  #set(size: number, depth: number): unknown {
    this.#checkCount(size, 1, depth);
    this.#mutables++;
    const out = new Set<unknown>();
    for (let i = 0; i < size; i++) out.add(this.#read(depth + 1));
    if (out.size !== size) throw this.damaged('a Set has a member twice');
    return out;
  }
}

const names: string[] = new Array<string>(256).fill('');

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictUtf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
