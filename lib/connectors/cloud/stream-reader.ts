// Reads one shard of a stream from a place on, page by page.
//   R1  One request is under way, and none while records wait to be handed out.
//   R2  A page may be empty though records follow; the next one is then asked for a little later, since a shard answers five requests a second.
//   R3  Reading goes on at the record that was read last, itself included. A stream that begins behind it has thrown records away, which is never passed
//       over without a word.
//       What is malformed, and goes to a side output, has a place of its own too: that of the first record of its message.
//   R4  A cursor lives for minutes only. One that is too old is made anew at the last record that was read, whatever froze the reader in between.

import type { SourceOutput, SplitPosition, SplitReader } from '../../api/source.ts';
import type { StreamPage, StreamRecord } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import { compareStreamPlaces, type StreamPlace } from './stream-places.ts';

const pageRecordsMax = 1_000;
const pauseMs = 200;

/** One shard, page by page. */
export interface RecordPages {
  /** @param after  number of the record that was read last @returns a cursor */
  begin(after: string | undefined): Promise<string>;
  /** @returns `expired`: the cursor is too old, and `begin` gives another */
  read(cursor: string, recordsMax: number): Promise<StreamPage | 'expired'>;
  /** For messages. Given where the first page has to begin with the record that was read last, itself included. */
  readonly beginsAtLast?: string;
}

export interface StreamReaderOptions<T> {
  readonly pages: RecordPages;
  readonly from: SplitPosition | undefined;
  readonly clock: Clock;
  /** Makes records of one record of the stream. */
  readonly read: (record: StreamRecord, out: SourceOutput<T>) => void;
}

type Event<T> =
  | { readonly kind: 'record'; readonly value: T | undefined; readonly at: StreamPlace }
  | { readonly kind: 'side'; readonly give: (out: SourceOutput<T>) => void; readonly at: StreamPlace };

export class StreamReader<T> implements SplitReader<T> {
  readonly #o: StreamReaderOptions<T>;
  /** Nothing up to here is handed out. */
  #after: StreamPlace | undefined;
  /** Of the last record that was read. */
  #last: StreamPlace | undefined;
  #waiting: Event<T>[] = [];
  #position: SplitPosition;
  #cursor: string | undefined;
  #hasReadAll = false;
  #wasEmpty = false;
  #loading: Promise<void> | undefined;
  #pause: { cancel(): void } | undefined;
  #isClosed = false;
  #hasBegun = false;

  constructor(o: StreamReaderOptions<T>) {
    this.#o = o;
    this.#after = o.from?.at as StreamPlace | undefined;
    this.#position = o.from ?? { index: 0, at: undefined };
  }

  get hasEnded(): boolean {
    return this.#hasReadAll && this.#waiting.length === 0;
  }

  poll(out: SourceOutput<T>, max: number): number {
    let count = 0;
    let at = 0;
    for (; at < this.#waiting.length; at++) {
      const event = this.#waiting[at]!;
      if (count === max) break;
      if (event.kind === 'side') {
        this.#position = { index: this.#position.index, at: event.at };
        event.give(out);
        continue;
      }
      out.values[out.count++] = event.value;
      count++;
      this.#position = { index: this.#position.index + 1, at: event.at };
    }
    this.#waiting = this.#waiting.slice(at);
    return count;
  }

  ready(): Promise<void> | undefined {
    if (this.#waiting.length > 0 || this.#hasReadAll) return undefined;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  position(): SplitPosition {
    return this.#position;
  }

  close(): void {
    this.#isClosed = true;
    this.#pause?.cancel();
  }

  /** Reads one page, and waits before it when the last one was empty. */
  async #load(): Promise<void> {
    const { pages, clock } = this.#o;
    if (this.#wasEmpty) {
      const pause = clock.sleep(pauseMs);
      this.#pause = pause;
      await pause.done;
      if (this.#isClosed) return;
    }
    this.#cursor ??= await pages.begin(this.#after?.sequence);
    const page = await pages.read(this.#cursor, pageRecordsMax);
    if (page === 'expired') {
      this.#after = this.#last ?? this.#after;
      this.#cursor = undefined;
      this.#hasBegun = false;
      return;
    }
    const { records, next } = page;
    this.#checkBegin(records);
    for (const record of records) this.#take(record);
    this.#wasEmpty = records.length === 0;
    this.#cursor = next;
    this.#hasReadAll = next === undefined;
  }

  #checkBegin([first]: readonly StreamRecord[]): void {
    const { beginsAtLast: shard } = this.#o.pages;
    if (shard === undefined || first === undefined || this.#hasBegun) return;
    this.#hasBegun = true;
    const last = this.#after?.sequence;
    if (last === undefined || BigInt(first.sequence) <= BigInt(last)) return;
    throw inputTrimmed(shard, { first: `behind ${last}`, last: `before ${first.sequence}` });
  }

  #take(record: StreamRecord): void {
    const { sequence } = record;
    const first = { sequence, sub: 0 };
    const sides: Event<T>[] = [];
    const out: SourceOutput<T> = {
      values: [],
      count: 0,
      side: (tag, value) => sides.push({ kind: 'side', give: (to) => to.side(tag, value), at: first }),
    };
    this.#o.read(record, out);
    const isBehind = (at: StreamPlace): boolean => this.#after === undefined || compareStreamPlaces(at, this.#after) > 0;
    // A message that gives nothing has been read, too.
    if (out.count + sides.length === 0) sides.push({ kind: 'side', give: () => undefined, at: first });
    if (isBehind(first)) this.#waiting.push(...sides);
    for (let sub = 0; sub < out.count; sub++) {
      const at = { sequence, sub };
      if (isBehind(at)) this.#waiting.push({ kind: 'record', value: out.values[sub], at });
    }
    this.#last = { sequence, sub: Math.max(0, out.count - 1) };
  }
}

/** What is to be read again is gone. */
export function inputTrimmed(what: string, lost: { readonly first: string; readonly last: string }): SluiceError {
  return new SluiceError('INPUT_CHANGED', {
    message: `${what} no longer has all records that are to be read again: those from ${lost.first} to ${lost.last} were thrown away`,
    next: 'repair-state',
    advice: 'restore a newer checkpoint, and let the source keep its records for longer than checkpoints are retained',
    ...lost,
  });
}
