// decoding-reader.ts joins a file port and a format to one split reader: it reads ahead in chunks while the engine works on what is there,
// and hands out records without ever waiting.
//   R1  At most one chunk is loaded ahead of the one that is being decoded, and one read is under way.
//   R2  A failed read is kept and told once by `ready` or `poll`; it is never an unhandled rejection.
//   R3  `position` is behind the last record handed out, also when more has been loaded.

import type { SourceOutput, SplitPosition, SplitReader } from '../../api/source.ts';
import { KiB } from '../../core/limits.ts';
import type { FileReader } from '../../core/ports.ts';
import { ByteWindow } from '../formats/byte-window.ts';
import type { Decoder, DecoderContext, Format } from '../formats/format.ts';

/** Large enough that a read costs little for each record, small enough that many splits fit into memory and first records come soon. */
export const chunkBytes: number = 256 * KiB;

export interface DecodingReaderOptions<T> {
  readonly format: Format<T>;
  readonly ctx: DecoderContext;
  /** Opens the bytes at a place. */
  readonly open: (offset: number) => Promise<FileReader>;
  readonly from: SplitPosition | undefined;
  /** Where the split begins; the rest of a line that began before it is not ours. */
  readonly begin: number;
  /** Records that begin at or behind this place belong to the next split. */
  readonly limit: number;
  /** Place at which the bytes end, when that is known; fewer are an error made by `cutShort`. */
  readonly end: number | undefined;
  readonly cutShort: (readBytes: number) => Error;
}

interface Place {
  readonly offset: number;
  readonly line: number;
  readonly state?: unknown;
}

export class DecodingReader<T> implements SplitReader<T> {
  readonly #o: DecodingReaderOptions<T>;
  readonly #decoder: Decoder<T>;
  readonly #window: ByteWindow;
  #index: number;
  /** What must be passed over before the first record. */
  #head: 'byte-order-mark' | 'rest-of-line' | 'nothing';
  #reader: FileReader | undefined;
  #readTo: number;
  #loaded: Uint8Array | undefined;
  #hasReadAll = false;
  #loading: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isClosed = false;

  constructor(o: DecodingReaderOptions<T>) {
    this.#o = o;
    const place = (o.from?.at as Place | undefined) ?? undefined;
    this.#index = o.from?.index ?? 0;
    this.#decoder = o.format.createDecoder(o.ctx, place?.state);
    // One byte earlier tells whether a line begins exactly where the split does.
    const offset = place?.offset ?? (o.begin > 0 ? o.begin - 1 : 0);
    this.#head = place !== undefined && place.offset > 0 ? 'nothing' : o.begin > 0 ? 'rest-of-line' : 'byte-order-mark';
    this.#window = new ByteWindow({ offset, line: place?.line ?? 1, limit: o.limit });
    this.#readTo = offset;
  }

  get hasEnded(): boolean {
    return this.#window.status === 'ended';
  }

  poll(out: SourceOutput<T>, max: number): number {
    if (this.#failure !== undefined) throw this.#failure.error;
    const before = out.count;
    const wanted = before + max;
    // A stretch of malformed records gives none, and is passed in one call: at most what is loaded.
    while (out.count < wanted && this.#window.status !== 'ended') {
      if (this.#head !== 'nothing' && !this.#passHead()) {
        if (!this.#feed()) break;
        continue;
      }
      this.#decoder.decode(this.#window, out, wanted - out.count);
      if (this.#window.status === 'dry' && !this.#feed()) break;
    }
    const count = out.count - before;
    this.#index += count;
    return count;
  }

  ready(): Promise<void> | undefined {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (this.#window.status !== 'dry' || this.#loaded !== undefined || this.#hasReadAll) return undefined;
    this.#load();
    return this.#loading?.then(() => {
      if (this.#failure !== undefined) throw this.#failure.error;
    });
  }

  position(): SplitPosition {
    const { offset, line } = this.#window;
    const state = this.#decoder.state;
    const isUntouched = this.#head === 'rest-of-line';
    // Before the line that is ours has been found the place is the beginning, so that the next reader looks for it again.
    if (isUntouched) return { index: this.#index, at: undefined };
    return { index: this.#index, at: state === undefined ? { offset, line } : { offset, line, state } };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#loaded = undefined;
    await this.#reader?.close();
  }

  #passHead(): boolean {
    const isPassed = this.#head === 'byte-order-mark' ? this.#window.skipByteOrderMark() : this.#window.skipToLineEnd();
    if (isPassed) this.#head = 'nothing';
    return isPassed;
  }

  /** Gives the window what has been loaded; false when that is nothing. */
  #feed(): boolean {
    const chunk = this.#loaded;
    if (chunk !== undefined) {
      this.#loaded = undefined;
      this.#window.append(chunk);
      this.#load();
      return true;
    }
    if (this.#hasReadAll && !this.#window.isLast) {
      this.#window.isLast = true;
      return true;
    }
    this.#load();
    return false;
  }

  /** Starts a read unless one is under way, a chunk is waiting or nothing is left. */
  #load(): void {
    if (this.#loading !== undefined || this.#loaded !== undefined || this.#hasReadAll || this.#isClosed) return;
    this.#loading = this.#read().then(
      () => {
        this.#loading = undefined;
      },
      (error: unknown) => {
        this.#loading = undefined;
        if (!this.#isClosed) this.#failure = { error };
      },
    );
  }

  async #read(): Promise<void> {
    const end = this.#o.end ?? Number.POSITIVE_INFINITY;
    if (this.#readTo >= end) {
      this.#hasReadAll = true;
      return;
    }
    if (this.#reader === undefined) {
      const reader = await this.#o.open(this.#readTo);
      this.#reader = reader;
      if (this.#isClosed) return reader.close();
    }
    const chunk = await this.#reader.read(Math.min(chunkBytes, end - this.#readTo));
    if (this.#isClosed) return;
    this.#readTo += chunk.length;
    if (chunk.length > 0) this.#loaded = chunk;
    else if (this.#o.end !== undefined) throw this.#o.cutShort(this.#readTo);
    if (chunk.length === 0 || this.#readTo >= end) this.#hasReadAll = true;
  }
}
