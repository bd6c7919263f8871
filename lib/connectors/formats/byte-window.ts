import { Buffer, isAscii } from 'node:buffer';

const newline = 10;

/**
 * The bytes of an input that are in memory and not read yet. The reader appends at the end, the decoder moves `start`.
 *
 * `base` is the place of `bytes[0]` in the input, so `base + start` is the position. Indices into `bytes` hold until the next `append`.
 */
export class ByteWindow {
  bytes: Buffer = Buffer.alloc(0);
  start = 0;
  base: number;
  /** Number of the line that holds `start`, from 1. */
  line: number;
  /** No bytes follow after `bytes`. */
  isLast = false;
  /** `more`: the decoder stopped because it had handed out enough; `dry`: it needs more bytes; `ended`: nothing follows. */
  status: 'more' | 'dry' | 'ended' = 'dry';
  /** Every byte in the window is below 128, so characters are bytes and cannot be broken UTF-8. */
  isAscii = true;
  /** Records that begin at this place of the input or behind it are not ours. */
  readonly limit: number;

  constructor(p: { readonly offset: number; readonly line: number; readonly limit: number }) {
    this.base = p.offset;
    this.line = p.line;
    this.limit = p.limit;
  }

  get offset(): number {
    return this.base + this.start;
  }

  append(chunk: Uint8Array): void {
    const added = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const rest = this.bytes.length - this.start;
    this.base += this.start;
    this.isAscii = (rest === 0 || this.isAscii) && isAscii(added);
    this.bytes = rest === 0 ? added : Buffer.concat([this.bytes.subarray(this.start), added], rest + added.length);
    this.start = 0;
  }

  /** Moves behind the byte order mark that some programs put first; false while too few bytes are there to tell. */
  skipByteOrderMark(): boolean {
    const { bytes } = this;
    if (bytes.length >= 3) {
      if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.start = 3;
      return true;
    }
    return this.isLast || (bytes.length > 0 && bytes[0] !== 0xef);
  }

  /** Drops what is left of a line that began before us; false when its end has not been seen yet. */
  skipToLineEnd(): boolean {
    const end = this.bytes.indexOf(newline, this.start);
    this.start = end < 0 ? this.bytes.length : end + 1;
    return end >= 0 || this.isLast;
  }
}
