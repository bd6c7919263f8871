import { isUtf8 } from 'node:buffer';
import type { SourceOutput } from '../../api/source.ts';
import { nearest } from '../../core/suggest.ts';
import type { ByteWindow } from './byte-window.ts';
import { type CsvColumnType, fieldValue } from './csv-columns.ts';
import { recordEnd, splitFields } from './csv-fields.ts';
import type { Decoder, DecoderContext, OnError } from './format.ts';
import { handleMalformed, malformed, reasonOf, recordTooLarge } from './malformed.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;

export interface CsvDecoderOptions {
  readonly columns: ReadonlyMap<string, CsvColumnType>;
  readonly hasHeader: boolean;
  readonly delimiter: string;
  readonly onError: OnError;
  readonly recordBytesMax: number;
  /** The names of the header when it has been read. */
  readonly state: unknown;
}

/** Reads CSV records. Its state is the header, so that reading can go on in the middle of a file without looking at its beginning. */
export class CsvDecoder<T> implements Decoder<T> {
  readonly #ctx: DecoderContext;
  readonly #o: CsvDecoderOptions;
  readonly #delimiterByte: number;
  #names: readonly string[] | undefined;
  #types: readonly CsvColumnType[] = [];
  #hasProtoColumn = false;

  constructor(ctx: DecoderContext, o: CsvDecoderOptions) {
    this.#ctx = ctx;
    this.#o = o;
    this.#delimiterByte = o.delimiter.charCodeAt(0);
    if (o.state !== undefined) this.#useNames(o.state as readonly string[]);
    else if (!o.hasHeader) this.#useNames([...o.columns.keys()]);
  }

  get state(): unknown {
    return this.#names;
  }

  decode(window: ByteWindow, out: SourceOutput<T>, max: number): number {
    const before = out.count;
    for (let left = max; left > 0; ) {
      const { start, line } = window;
      const end = this.#findEnd(window);
      if (end < 0) return out.count - before;
      const text = this.#take(window, end);
      if (text === '') continue;
      left--;
      if (this.#names === undefined) {
        this.#readHeader(text, line);
        continue;
      }
      try {
        if (!window.isAscii && !isUtf8(window.bytes.subarray(start, end))) throw new Error('the bytes are not UTF-8 text');
        out.values[out.count] = this.#record(text) as T;
        out.count++;
      } catch (cause) {
        handleMalformed(this.#ctx, this.#o.onError, { line, text, reason: reasonOf(cause), cause }, out);
      }
    }
    window.status = 'more';
    return out.count - before;
  }

  /** Index of the end of the next record; -1 when it is not there yet or nothing follows, with the status set. */
  #findEnd(window: ByteWindow): number {
    const { bytes, start, isLast } = window;
    if (start === bytes.length) {
      window.status = isLast ? 'ended' : 'dry';
      return -1;
    }
    const plain = bytes.indexOf(newline, start);
    const lineEnd = plain < 0 ? bytes.length : plain;
    const hasQuote = bytes.subarray(start, lineEnd).includes(quote);
    const found = hasQuote
      ? recordEnd(bytes, start, this.#delimiterByte, isLast)
      : { end: plain < 0 && !isLast ? -1 : lineEnd, isOpen: false };
    const seen = (found.end < 0 ? bytes.length : found.end) - start;
    if (seen > this.#o.recordBytesMax) {
      const hint = found.isOpen ? 'a quote that is opened there is not closed' : 'csv() expects records that end with a line';
      throw recordTooLarge(this.#ctx, window.line, this.#o.recordBytesMax, hint);
    }
    if (found.end < 0) window.status = 'dry';
    return found.end;
  }

  /** The text of the record that ends at `end`, and the window behind it. */
  #take(window: ByteWindow, end: number): string {
    const { bytes, start } = window;
    const isReturned = end > start && bytes[end - 1] === carriageReturn;
    const text = window.isAscii
      ? bytes.toString('latin1', start, isReturned ? end - 1 : end)
      : bytes.toString('utf8', start, isReturned ? end - 1 : end);
    for (let at = bytes.indexOf(newline, start); at >= 0 && at <= end && at < bytes.length; at = bytes.indexOf(newline, at + 1))
      window.line++;
    window.start = Math.min(end + 1, bytes.length);
    return text;
  }

  #readHeader(text: string, line: number): void {
    const broken = (reason: string): Error => malformed(this.#ctx, { line, text, reason, isStructure: true });
    let names: string[];
    try {
      names = splitFields(text, this.#o.delimiter);
    } catch (e) {
      throw broken(`the header cannot be read: ${reasonOf(e)}`);
    }
    const twice = names.find((name, i) => names.indexOf(name) < i);
    if (twice !== undefined) throw broken(`the header names column '${twice}' twice`);
    for (const column of this.#o.columns.keys()) {
      if (names.includes(column)) continue;
      const close = nearest(column, names);
      throw broken(`the header has no column '${column}'${close === undefined ? '' : `; did you mean '${close}'?`}`);
    }
    this.#useNames(names);
  }

  #useNames(names: readonly string[]): void {
    this.#names = names;
    this.#types = names.map((name) => this.#o.columns.get(name) ?? 'string');
    this.#hasProtoColumn = names.includes('__proto__');
  }

  #record(text: string): Record<string, unknown> {
    const names = this.#names!;
    const fields = splitFields(text, this.#o.delimiter);
    if (fields.length !== names.length)
      throw new Error(`the record has ${fields.length} ${fields.length === 1 ? 'field' : 'fields'}, ${names.length} are expected`);
    const record: Record<string, unknown> = {};
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      const type = this.#types[i]!;
      const value = type === 'string' ? fields[i]! : fieldValue(fields[i]!, type, name);
      if (this.#hasProtoColumn) Object.defineProperty(record, name, { value, writable: true, enumerable: true, configurable: true });
      else record[name] = value;
    }
    return record;
  }
}
