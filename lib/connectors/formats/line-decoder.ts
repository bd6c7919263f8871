// line-decoder.ts turns bytes into records that are lines. Whole blocks of ASCII lines become one string at once and the lines are slices
// of it, which is what makes small records fast; a block with other characters goes line by line, so that places stay exact in bytes.

import { isUtf8 } from 'node:buffer';
import type { SourceOutput } from '../../api/source.ts';
import type { ByteWindow } from './byte-window.ts';
import type { Decoder, DecoderContext, OnError } from './format.ts';
import { handleMalformed, reasonOf, recordTooLarge } from './malformed.ts';

const newline = 10;

export interface LineDecoderOptions<T> {
  /** Without the line end; a carriage return before it may still be there. Throws for a malformed record. */
  readonly parse: (line: string) => T;
  /** An empty line is a record; else it is passed over. */
  readonly isBlankRecord: boolean;
  readonly onError: OnError;
  readonly recordBytesMax: number;
  /** What may be wrong when a line never ends. */
  readonly hint: string;
}

export class LineDecoder<T> implements Decoder<T> {
  readonly state: unknown = undefined;
  readonly #ctx: DecoderContext;
  readonly #o: LineDecoderOptions<T>;
  /** The block as text when it is ASCII: character i is byte i of the window. */
  #text: string | undefined;
  /** Behind the last byte of the block, an index into the window; `start` when there is no block. */
  #blockEnd = 0;
  #isUtf8 = true;

  constructor(ctx: DecoderContext, o: LineDecoderOptions<T>) {
    this.#ctx = ctx;
    this.#o = o;
  }

  decode(window: ByteWindow, out: SourceOutput<T>, max: number): number {
    const before = out.count;
    for (let left = max; left > 0; ) {
      if (window.start >= this.#blockEnd && !this.#openBlock(window)) return out.count - before;
      left -= this.#decodeBlock(window, out, left);
      if (window.offset >= window.limit) {
        window.status = 'ended';
        return out.count - before;
      }
      if (window.start >= this.#blockEnd) this.#blockEnd = 0;
    }
    window.status = 'more';
    return out.count - before;
  }

  /** Takes the whole lines of the window, or at the end of the input what is left. */
  #openBlock(window: ByteWindow): boolean {
    const { bytes, start } = window;
    const last = bytes.length === start ? -1 : bytes.lastIndexOf(newline);
    if (window.offset >= window.limit || (start === bytes.length && window.isLast)) {
      window.status = 'ended';
      return false;
    }
    if (last < start && !(window.isLast && start < bytes.length)) {
      if (bytes.length - start > this.#o.recordBytesMax) throw this.#tooLarge(window);
      window.status = 'dry';
      this.#blockEnd = 0;
      return false;
    }
    this.#blockEnd = window.isLast ? bytes.length : last + 1;
    if (window.isAscii) {
      this.#text = start === 0 && this.#blockEnd === bytes.length ? bytes.toString('latin1') : undefined;
      this.#text ??= bytes.toString('latin1', 0, this.#blockEnd);
    } else {
      this.#text = undefined;
      this.#isUtf8 = isUtf8(bytes.subarray(start, this.#blockEnd));
    }
    return true;
  }

  /** Reads lines of the block until it ends or `max` of them were records, good or bad; returns how many were. */
  #decodeBlock(window: ByteWindow, out: SourceOutput<T>, max: number): number {
    const { parse, isBlankRecord, recordBytesMax } = this.#o;
    const { bytes, base, limit } = window;
    const text = this.#text;
    const blockEnd = this.#blockEnd;
    const values = out.values;
    let start = window.start;
    let done = 0;
    while (done < max && start < blockEnd && base + start < limit) {
      let end = text === undefined ? bytes.indexOf(newline, start) : text.indexOf('\n', start);
      if (end < 0) end = blockEnd;
      if (end - start > recordBytesMax) throw this.#tooLarge(window);
      const isBlank = end === start || (end === start + 1 && bytes[start] === 13);
      if (!isBlank || isBlankRecord) {
        done++;
        const line = text === undefined ? bytes.toString('utf8', start, end) : text.slice(start, end);
        try {
          if (text === undefined && !this.#isUtf8 && !isUtf8(bytes.subarray(start, end))) throw new Error('the bytes are not UTF-8 text');
          values[out.count] = parse(line);
          out.count++;
        } catch (cause) {
          handleMalformed(this.#ctx, this.#o.onError, { line: window.line, text: line, reason: reasonOf(cause), cause }, out);
        }
      }
      start = end === blockEnd ? blockEnd : end + 1;
      window.start = start;
      window.line++;
    }
    return done;
  }

  #tooLarge(window: ByteWindow): Error {
    return recordTooLarge(this.#ctx, window.line, this.#o.recordBytesMax, this.#o.hint);
  }
}
