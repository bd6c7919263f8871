// Cuts one split into events, as an event source mapping does.
//   F1  Events end at fixed record counts of the split wherever the source lets them, so that another reading makes the same events.
//   F2  Every record has its own position, so that any prefix of an event can be committed.

import type { Source, SourceContext, Split, SplitPosition, SplitReader } from '../../api/source.ts';
import { isSluiceError, SluiceError } from '../../core/errors.ts';
import { type EventPart, pollRecords } from '../../invocation/event-records.ts';
import type { EventRecord } from '../../invocation/invocation.ts';

/** Where a split stands: behind every record that was answered as committed. */
export interface SplitMark {
  readonly position: SplitPosition | undefined;
  /** Malformed records so far. */
  readonly malformed: number;
  readonly hasEnded: boolean;
}

export const unreadSplit: SplitMark = { position: undefined, malformed: 0, hasEnded: false };

export interface SplitFeedOptions {
  readonly source: Source<unknown>;
  readonly context: SourceContext;
  readonly split: Split;
  readonly from: SplitMark;
  /** Good records of an event at most, and malformed ones. */
  readonly recordsMax: number;
}

export class SplitFeed {
  readonly #o: SplitFeedOptions;
  readonly #reader: SplitReader<unknown>;
  #records: EventRecord[] = [];
  #index: number;
  #malformed: number;
  #hasEnded = false;
  #isClosed = false;

  constructor(o: SplitFeedOptions) {
    this.#o = o;
    this.#index = o.from.position?.index ?? 0;
    this.#malformed = o.from.malformed;
    this.#reader = o.source.open(o.split, o.from.position, o.context);
  }

  /**
   * The next event; `undefined` behind the last one. Waits until there is one.
   * @throws SluiceError of the source
   */
  async next(): Promise<EventPart | undefined> {
    if (this.#hasEnded) return undefined;
    try {
      for (;;) {
        this.#take();
        const { isEager } = this.#o.source;
        if (this.#isFull() || this.#hasEnded || (isEager && this.#records.length > 0)) return this.#cut();
        await this.#reader.ready();
        if (this.#isClosed) return undefined; // a closed reader waits for nothing, and has nothing
      }
    } catch (cause) {
      throw this.#failed(cause);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reader.close();
  }

  #take(): void {
    const { recordsMax } = this.#o;
    while (!this.#isFull()) {
      const wanted = recordsMax - (this.#index % recordsMax);
      const { records, isLast } = pollRecords(this.#reader, { recordsMax: wanted, malformed: this.#malformed });
      this.#hasEnded = isLast;
      if (records.length === 0) return;
      const aside = records.filter(({ side }) => side !== undefined).length;
      this.#malformed += aside;
      this.#index += records.length - aside;
      this.#records = this.#records.length === 0 ? [...records] : [...this.#records, ...records];
      if (isLast) return;
    }
  }

  #isFull(): boolean {
    const { recordsMax } = this.#o;
    const { length } = this.#records;
    // A stretch of malformed records is cut somewhere too.
    return length > 0 && (this.#index % recordsMax === 0 || length >= recordsMax * 2);
  }

  #cut(): EventPart {
    const records = this.#records;
    this.#records = [];
    return { records, isLast: this.#hasEnded };
  }

  #failed(cause: unknown): unknown {
    if (isSluiceError(cause)) return cause;
    const { uid } = this.#o.context;
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `source ${uid} failed at record ${this.#index} of split ${this.#o.split.id}: ${why}`;
    return new SluiceError('USER_FUNCTION_FAILED', { message, next: 'try-again', cause, operator: uid });
  }
}

/** Where the split stands behind an event. */
export function markBehind(mark: SplitMark, { records, isLast }: EventPart): SplitMark {
  return {
    position: records.at(-1)?.after ?? mark.position,
    malformed: mark.malformed + records.filter(({ side }) => side !== undefined).length,
    hasEnded: isLast,
  };
}
