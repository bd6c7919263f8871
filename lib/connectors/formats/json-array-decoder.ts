// json-array-decoder.ts finds the elements of one top-level array in bytes and leaves their meaning to JSON.parse. Every character that
// matters for finding them is ASCII, so bytes of other characters are passed over without being understood. An element that was cut by the
// end of a chunk is scanned on from where the scan stopped.

import { isUtf8 } from 'node:buffer';
import type { SourceOutput } from '../../api/source.ts';
import type { ByteWindow } from './byte-window.ts';
import type { Decoder, DecoderContext, OnError } from './format.ts';
import { handleMalformed, malformed, reasonOf, recordTooLarge } from './malformed.ts';

/** What may come next: the array, an element or the end, an element, a comma or the end, nothing. */
type Phase = 'array' | 'first' | 'element' | 'separator' | 'nothing';

// Bytes by their names.
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const newline = 0x0a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function isSpace(c: number): boolean {
  return c === 0x20 || c === newline || c === 0x0d || c === 0x09;
}

export class JsonArrayDecoder<T> implements Decoder<T> {
  readonly #ctx: DecoderContext;
  readonly #onError: OnError;
  readonly #recordBytesMax: number;
  #phase: Phase;
  // The scan of the element at the window's start: how far, how deep, and the lines passed.
  #scanned = 0;
  #depth = 0;
  #isInString = false;
  #linesScanned = 0;

  constructor(ctx: DecoderContext, onError: OnError, recordBytesMax: number, state: unknown) {
    this.#ctx = ctx;
    this.#onError = onError;
    this.#recordBytesMax = recordBytesMax;
    this.#phase = (state as Phase | undefined) ?? 'array';
  }

  get state(): unknown {
    return this.#phase;
  }

  decode(window: ByteWindow, out: SourceOutput<T>, max: number): number {
    const before = out.count;
    for (let left = max; left > 0; ) {
      if (this.#scanned === 0 && !this.#skipSpace(window)) break;
      if (this.#phase !== 'element' && !(this.#phase === 'first' && window.bytes[window.start] !== closeBracket)) {
        this.#punctuation(window);
        continue;
      }
      const end = this.#elementEnd(window);
      if (end < 0) break;
      this.#emit(window, end, out);
      left--;
      if (left === 0) window.status = 'more';
    }
    return out.count - before;
  }

  /** Moves to the next byte that means something; false when there is none yet, with the status set. */
  #skipSpace(window: ByteWindow): boolean {
    const { bytes } = window;
    let at = window.start;
    for (; at < bytes.length && isSpace(bytes[at]!); at++) if (bytes[at] === newline) window.line++;
    window.start = at;
    if (at < bytes.length) return true;
    if (!window.isLast) window.status = 'dry';
    else if (this.#phase === 'nothing') window.status = 'ended';
    else
      throw this.#broken(
        window,
        this.#phase === 'array' ? 'the file is empty, jsonArray() expects one array' : 'the file ends before its array is closed',
      );
    return false;
  }

  #punctuation(window: ByteWindow): void {
    const c = window.bytes[window.start]!;
    if (this.#phase === 'array') {
      if (c !== openBracket) {
        const hint = c === openBrace ? ' (one record a line? then use ndjson())' : '';
        throw this.#broken(window, `the file does not begin with '[', jsonArray() expects one array${hint}`);
      }
      this.#phase = 'first';
    } else if (this.#phase === 'nothing') {
      throw this.#broken(window, 'something follows behind the end of the array');
    } else if (c === closeBracket) {
      this.#phase = 'nothing';
    } else if (c === comma) {
      this.#phase = 'element';
    } else {
      throw this.#broken(window, "',' or ']' is expected behind an element");
    }
    window.start++;
  }

  /** Index behind the element that begins at the window's start; -1 when its end is not there yet, with the status set. */
  #elementEnd(window: ByteWindow): number {
    const { bytes, start } = window;
    const first = bytes[start]!;
    if (first === comma || first === closeBracket) throw this.#broken(window, 'an element is missing');
    const isScalar = first !== openBrace && first !== openBracket && first !== quote;
    const end = isScalar ? this.#scalarEnd(window) : this.#nestedEnd(window);
    const seen = (end < 0 ? bytes.length : end) - start;
    if (seen > this.#recordBytesMax)
      throw recordTooLarge(this.#ctx, window.line, this.#recordBytesMax, 'an element of the array may not be closed');
    if (end >= 0) return end;
    if (window.isLast) throw this.#broken(window, 'the file ends within an element');
    window.status = 'dry';
    return -1;
  }

  #scalarEnd(window: ByteWindow): number {
    const { bytes, start } = window;
    for (let at = start + this.#scanned; at < bytes.length; at++) {
      const c = bytes[at]!;
      if (c === comma || c === closeBracket || isSpace(c)) return at;
    }
    this.#scanned = bytes.length - start;
    return -1;
  }

  #nestedEnd(window: ByteWindow): number {
    const { bytes, start } = window;
    const length = bytes.length;
    let at = start + this.#scanned;
    let depth = this.#depth;
    let isInString = this.#isInString;
    let lines = this.#linesScanned;
    for (; at < length; at++) {
      const c = bytes[at]!;
      if (isInString) {
        if (c === quote) {
          isInString = false;
          if (depth === 0) return this.#found(at + 1, lines);
        } else if (c === backslash) {
          if (at + 1 === length) break; // the escaped byte decides, and it is in the next chunk
          at++;
        }
      } else if (c === quote) isInString = true;
      else if (c === openBrace || c === openBracket) depth++;
      else if (c === closeBrace || c === closeBracket) {
        if (--depth === 0) return this.#found(at + 1, lines);
      } else if (c === newline) lines++;
    }
    this.#scanned = at - start;
    this.#depth = depth;
    this.#isInString = isInString;
    this.#linesScanned = lines;
    return -1;
  }

  #found(end: number, lines: number): number {
    this.#linesScanned = lines;
    return end;
  }

  #emit(window: ByteWindow, end: number, out: SourceOutput<T>): void {
    const { bytes, start } = window;
    const text = window.isAscii ? bytes.toString('latin1', start, end) : bytes.toString('utf8', start, end);
    const line = window.line;
    window.start = end;
    window.line += this.#linesScanned;
    this.#phase = 'separator';
    this.#scanned = 0;
    this.#depth = 0;
    this.#isInString = false;
    this.#linesScanned = 0;
    try {
      if (!window.isAscii && !isUtf8(bytes.subarray(start, end))) throw new Error('the bytes are not UTF-8 text');
      out.values[out.count] = JSON.parse(text) as T;
      out.count++;
    } catch (cause) {
      handleMalformed(this.#ctx, this.#onError, { line, text, reason: reasonOf(cause), cause }, out);
    }
  }

  #broken(window: ByteWindow, reason: string): Error {
    const text = window.bytes.toString('utf8', window.start, Math.min(window.bytes.length, window.start + 160));
    return malformed(this.#ctx, { line: window.line, text, reason, isStructure: true });
  }
}
