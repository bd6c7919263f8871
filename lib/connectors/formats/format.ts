// format.ts owns the contract between a format and whoever reads or writes bytes with it. A format knows records, not files: the reader
// feeds it bytes and asks for records, the sink hands it rows and gets text.
//   F1  The records do not depend on how the bytes were cut into chunks.
//   F2  After every record the window says where the next one begins (`start`, `line`) and the decoder what else a reader must know to go
//       on from there (`state`); a fresh decoder made from that gives exactly the records that follow.
//   F3  `decode` never waits. It ends `dry` when it needs more bytes than there are; bytes are added only then.

import type { OutputTag } from '../../api/functions.ts';
import type { SourceOutput } from '../../api/source.ts';
import { MiB } from '../../core/limits.ts';

/** What a source does with a record that cannot be read: fail the job, leave it out and count it, or send it to a side output. */
export type OnError = 'fail' | 'skip' | OutputTag<MalformedRecord>;

/** What arrives at the side output for a record that could not be read. */
export interface MalformedRecord {
  /** Path of the file, or `host:port`, or `stdin`. */
  readonly file: string;
  /** Line on which the record begins, from 1; in a byte range of a file, from the beginning of the range. */
  readonly line: number;
  /** The record as it stands in the input; bytes that are not UTF-8 are replaced. */
  readonly text: string;
  readonly reason: string;
}

export interface FormatOptions {
  /** Default `'fail'`: error `MALFORMED_RECORD`. A broken file structure, such as an array that is never closed, always fails. */
  readonly onError?: OnError;
  /** The longest record in bytes; default 16 MiB. A longer one always fails with `RECORD_TOO_LARGE`. */
  readonly recordBytesMax?: number;
}

/** A record is held in memory as a whole, so an endless one (a forgotten quote, a binary file) must end with an error and not with the memory. */
export const recordBytesMaxDefault: number = 16 * MiB;

export interface DecoderContext {
  /** For messages. */
  readonly file: string;
  /** Byte at which the lines that are counted begin; 0 except in a byte range. */
  readonly linesFrom: number;
  countSkipped(): void;
}

/**
 * The bytes of an input that are in memory and not read yet. The reader appends at the end, the decoder moves `start`.
 * Its class is byte-window.ts; declared here without a type of Node's, so that a job needs no `@types/node` to compile.
 */
export interface InputWindow {
  readonly bytes: Uint8Array;
  start: number;
  /** Place of `bytes[0]` in the input. */
  readonly base: number;
  /** Number of the line that holds `start`, from 1. */
  line: number;
  /** No bytes follow after `bytes`. */
  readonly isLast: boolean;
  /** `more`: the decoder stopped because it had handed out enough; `dry`: it needs more bytes; `ended`: nothing follows. */
  status: 'more' | 'dry' | 'ended';
  /** Every byte in the window is below 128. */
  readonly isAscii: boolean;
  /** Records that begin at this place of the input or behind it are not ours. */
  readonly limit: number;
}

export interface Decoder<T> {
  /** Adds at most `max` records at `out.values[out.count++]`, moves the window past them and sets its `status`; returns how many. */
  decode(window: InputWindow, out: SourceOutput<T>, max: number): number;
  /** Plain data that a later decoder needs besides the place in the bytes; `undefined` when nothing. */
  readonly state: unknown;
}

export interface Encoder<T> {
  /** Text that stands at the beginning of every part; often empty. */
  readonly head: string;
  /** One row with its line end. Throws `VALUE_NOT_ENCODABLE`. */
  encode(row: T): string;
}

/** How records lie in bytes. Made by `ndjson`, `jsonArray`, `lines` and `csv`. */
export interface Format<T> {
  /** Such as `ndjson`; for messages. */
  readonly name: string;
  /** File name extension of written parts, without the dot. */
  readonly extension: string;
  /** A record is a line, so that a byte range can be read alone. */
  readonly isSplittable: boolean;
  /** @param state  what `Decoder.state` was at the position to go on from; `undefined` at the beginning */
  createDecoder(ctx: DecoderContext, state: unknown): Decoder<T>;
  /** Where a message is not just a small file. Adds its records; what is malformed goes as `onError` says. */
  readMessage?(text: string, ctx: DecoderContext, out: SourceOutput<T>): void;
  /** Throws `FORMAT_NOT_WRITABLE` when the format cannot be written as a stream of parts. */
  createEncoder(): Encoder<T>;
}
