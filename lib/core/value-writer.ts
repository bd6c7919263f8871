import { Buffer } from 'node:buffer';
import { SluiceError } from './errors.ts';
import { kindOf } from './kinds.ts';
import { formatBytes, valueDepthMax, writerBytesMax } from './limits.ts';
import { isMarked, MutableOwned } from './owned.ts';
import { checkArray, checkBare, explainRefusal, namesOf, refused } from './plain-data.ts';
import * as tag from './value-tags.ts';

const ancestorsFromDepth = 8; // flat values pay nothing for the search for cycles
const handOverFromBytes = 4_096; // below it a copy is cheaper than a new buffer

/**
 * Writes values one after the other into one growing buffer. The layout is told in value-codec.ts. A value that is refused leaves the
 * writer as it was.
 */
export class ValueWriter {
  #buffer: Buffer;
  #view: DataView;
  #at = 0;
  readonly #ancestors: object[] = [];

  /** @param capacity  bytes to begin with; the buffer doubles when it is full */
  constructor(capacity = 256) {
    this.#buffer = roomFor(Math.max(capacity, 64));
    this.#view = viewOn(this.#buffer);
  }

  /** Bytes written since the last `take` or `reset`. */
  get length(): number {
    return this.#at;
  }

  /**
   * Writes a value of user code, or the stored form of one.
   * @throws SluiceError `VALUE_NOT_ENCODABLE` naming the path
   */
  writeValue(v: unknown): void {
    const start = this.#at;
    try {
      this.#write(v, 0);
    } catch (e) {
      this.#at = start;
      throw e === refused ? explainRefusal(v) : e;
    } finally {
      if (this.#ancestors.length !== 0) this.#ancestors.length = 0;
    }
  }

  /** Writes one byte, 0 to 255. */
  writeByte(b: number): void {
    this.#room(1);
    this.#buffer[this.#at++] = b;
  }

  /** Writes a whole number from 0 to 2^53 − 1, seven bits a byte, the lowest first. */
  writeVarint(n: number): void {
    this.#room(8);
    while (n > 0x7fffffff) {
      this.#buffer[this.#at++] = (n % 128) | 0x80;
      n = Math.floor(n / 128);
    }
    while (n > 0x7f) {
      this.#buffer[this.#at++] = (n & 0x7f) | 0x80;
      n >>>= 7;
    }
    this.#buffer[this.#at++] = n;
  }

  /** Writes a number as its eight bytes, little-endian. */
  writeFloat64(n: number): void {
    this.#room(8);
    this.#view.setFloat64(this.#at, n, true);
    this.#at += 8;
  }

  /** Writes a length and the bytes. */
  writeBytes(bytes: Uint8Array): void {
    this.writeVarint(bytes.length);
    this.writeRaw(bytes);
  }

  /** Writes bytes without a length. */
  writeRaw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Writes text, any text, as `writeValue` would. */
  writeString(s: string): void {
    const length = s.length;
    if (length <= tag.shortTextMax) {
      this.#room(length + 1);
      const buffer = this.#buffer;
      let at = this.#at;
      buffer[at++] = tag.tagShortText | length;
      let i = 0;
      for (; i < length; i++) {
        const c = s.charCodeAt(i);
        if (c > 0x7f) break;
        buffer[at++] = c;
      }
      if (i === length) {
        this.#at = at;
        return;
      }
    }
    this.#writeLongText(s);
  }

  /** Writes a binary string (each character one byte, as an encoded key) as its length and its bytes. */
  writeBinaryString(s: string): void {
    this.writeVarint(s.length);
    this.#room(s.length);
    if (s.length < 32) for (let i = 0; i < s.length; i++) this.#buffer[this.#at + i] = s.charCodeAt(i);
    else this.#buffer.write(s, this.#at, s.length, 'latin1');
    this.#at += s.length;
  }

  /** Forgets what was written and keeps the buffer. */
  reset(): void {
    this.#at = 0;
  }

  /** The bytes written, which are the caller's from now on; the writer is empty afterwards. */
  take(): Uint8Array {
    const length = this.#at;
    this.#at = 0;
    const isCopied = length < handOverFromBytes;
    const bytes = isCopied
      ? new Uint8Array(this.#buffer.subarray(0, length))
      : new Uint8Array(this.#buffer.buffer, this.#buffer.byteOffset, length);
    if (isCopied) giveBack(this.#buffer);
    this.#buffer = nothing;
    this.#view = viewOn(nothing);
    return bytes;
  }

  #write(v: unknown, depth: number): void {
    if (typeof v === 'number') this.#writeNumber(v);
    else if (typeof v === 'string') this.writeString(v);
    else if (typeof v === 'object' && v !== null) this.#writeObject(v, depth);
    else if (typeof v === 'bigint') this.#writeBigint(v);
    else if (typeof v === 'function' || typeof v === 'symbol') throw refused;
    else this.writeByte(v === null ? tag.tagNull : v === undefined ? tag.tagUndefined : v === true ? tag.tagTrue : tag.tagFalse);
  }

  #writeNumber(n: number): void {
    this.#room(9);
    const whole = n | 0;
    if (whole !== n || (n === 0 && 1 / n < 0)) {
      this.#buffer[this.#at++] = tag.tagFloat;
      this.#view.setFloat64(this.#at, Number.isNaN(n) ? Number.NaN : n, true);
      this.#at += 8;
    } else if (whole >= 0 && whole <= tag.smallIntMax) {
      this.#buffer[this.#at++] = whole;
    } else {
      this.#buffer[this.#at++] = whole >= 0 ? tag.tagPositive : tag.tagNegative;
      this.writeVarint(whole >= 0 ? whole : -1 - whole);
    }
  }

  #writeBigint(n: bigint): void {
    if (BigInt.asIntN(64, n) === n) {
      this.#room(9);
      this.#buffer[this.#at++] = tag.tagBigint64;
      this.#view.setBigInt64(this.#at, n, true);
      this.#at += 8;
      return;
    }
    const hex = (n < 0n ? -n : n).toString(16);
    this.writeByte(n < 0n ? tag.tagBigintNegative : tag.tagBigintPositive);
    this.writeBytes(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').reverse());
  }

  #writeLongText(s: string): void {
    const wellFormed = s.isWellFormed();
    const bytes = wellFormed ? Buffer.byteLength(s, 'utf8') : s.length * 2;
    this.writeByte(wellFormed ? tag.tagText : tag.tagText16);
    this.writeVarint(bytes);
    this.#room(bytes);
    this.#buffer.write(s, this.#at, bytes, wellFormed ? 'utf8' : 'utf16le');
    this.#at += bytes;
  }

  #writeObject(v: object, depth: number): void {
    if (v instanceof MutableOwned) {
      this.#write(v.value, depth);
      return;
    }
    this.#enter(v, depth);
    const kind = kindOf(v);
    if (kind === 'plain') this.#writeProperties(v as Record<string, unknown>, depth);
    else if (kind === 'array') this.#writeElements(v as unknown[], depth);
    else if (kind === 'map') this.#writeEntries(v as Map<unknown, unknown>, depth);
    else if (kind === 'set') this.#writeMembers(v as Set<unknown>, depth);
    else if (kind === 'date') this.#writeDate(v as Date);
    else if (kind === 'bytes') this.#writeByteString(v as Uint8Array);
    else throw refused;
  }

  #writeProperties(v: Record<string, unknown>, depth: number): void {
    const names = isMarked(v) ? Object.keys(v) : namesOf(v);
    this.#writeCount(names.length, tag.tagShortObject, tag.tagObject);
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      this.writeString(name);
      this.#write(v[name], depth + 1);
    }
  }

  #writeElements(v: readonly unknown[], depth: number): void {
    if (!isMarked(v)) checkArray(v);
    this.#writeCount(v.length, tag.tagShortArray, tag.tagArray);
    for (let i = 0; i < v.length; i++) this.#write(v[i], depth + 1);
  }

  #writeEntries(v: Map<unknown, unknown>, depth: number): void {
    checkBare(v);
    this.writeByte(tag.tagMap);
    this.writeVarint(v.size);
    for (const [key, value] of v) {
      this.#write(key, depth + 1);
      this.#write(value, depth + 1);
    }
  }

  #writeMembers(v: Set<unknown>, depth: number): void {
    checkBare(v);
    this.writeByte(tag.tagSet);
    this.writeVarint(v.size);
    for (const member of v) this.#write(member, depth + 1);
  }

  #writeDate(v: Date): void {
    checkBare(v);
    this.writeByte(tag.tagDate);
    this.writeFloat64(v.getTime());
  }

  #writeByteString(v: Uint8Array): void {
    this.writeByte(tag.tagBytes);
    this.writeBytes(v);
  }

  #writeCount(count: number, shortTag: number, longTag: number): void {
    if (count <= tag.shortCountMax) {
      this.writeByte(shortTag | count);
    } else {
      this.writeByte(longTag);
      this.writeVarint(count);
    }
  }

  #enter(v: object, depth: number): void {
    if (depth >= valueDepthMax) throw refused;
    this.#ancestors[depth] = v;
    if (depth >= ancestorsFromDepth) for (let i = 0; i < depth; i++) if (this.#ancestors[i] === v) throw refused;
  }

  #room(bytes: number): void {
    if (this.#at + bytes > this.#buffer.length) this.#grow(this.#at + bytes);
  }

  #grow(needed: number): void {
    if (needed > writerBytesMax) {
      throw new SluiceError('VALUE_TOO_LARGE', {
        message: `a value needs ${formatBytes(needed)}, more than the ${formatBytes(writerBytesMax)} that can be written at once`,
        next: 'fix-the-job',
      });
    }
    const larger = roomFor(Math.min(writerBytesMax, Math.max(needed, this.#buffer.length * 2, 64)));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
    this.#view = viewOn(larger);
  }
}

const nothing = Buffer.alloc(0);

/** Of a writer that has nothing written any more: most writers live for a few lines, and write less than this holds. */
let spare: Buffer | undefined;
const spareBytesMax = 8_192;

function roomFor(bytes: number): Buffer {
  const room = spare;
  if (room === undefined || room.length < bytes) return Buffer.allocUnsafeSlow(Math.max(bytes, handOverFromBytes));
  spare = undefined;
  return room;
}

function giveBack(room: Buffer): void {
  if (room.length <= spareBytesMax && room.length > (spare?.length ?? 0)) spare = room;
}

function viewOn(buffer: Buffer): DataView {
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}
