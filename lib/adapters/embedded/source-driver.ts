// Reads the splits of one source subtask, one after the other, in batches that are cut at fixed record counts of a split, so that a replay
// makes the same batches and the same watermarks.
//   D1  A split's position is taken where a batch begins; records of an unfinished batch are read again after a restore. So what a reader
//       puts on a side output leaves with its batch, not before it.
//   D2  The watermark is the minimum over the subtask's splits that are not finished; one that was not begun holds it back, so nothing is
//       late only because its file came later. With one split per subtask this is the split's own watermark.
//   D3  Under AT_MOST_ONCE a split is read no further than its reservation, and what an earlier attempt reserved is skipped, counted as lost.
//   D4  Splits go to subtask (ordinal mod parallelism), whatever the parallelism was before.

import type { Source, SourceContext, SourceOutput, Split, SplitPosition, SplitReader } from '../../api/source.ts';
import type { WatermarkStrategy } from '../../api/watermark.ts';
import { batchRecordsMax, noWatermark, type RecordBatch } from '../../core/batch.ts';
import { isSluiceError, SluiceError } from '../../core/errors.ts';
import { consecutiveOrigins } from '../../core/origins.ts';
import { WatermarkGenerator } from '../../operators/watermark-generator.ts';
import { isWatermarkDue, malformedOrigin, sourceWatermark } from '../../runtime/source-progress.ts';
import type { SourceReservations } from './source-reservations.ts';

/** One split as it lies in the checkpoint. */
export interface StoredSplit {
  readonly ordinal: number;
  readonly split: Split;
  /** `undefined` before the first record. */
  readonly position: SplitPosition | undefined;
  readonly hasEnded: boolean;
  /** Largest event time seen. */
  readonly largest: number;
  /** Malformed records that went to a side output; absent while there were none. */
  readonly malformed?: number;
}

interface OwnSplit {
  readonly ordinal: number;
  readonly split: Split;
  position: SplitPosition | undefined;
  hasEnded: boolean;
  largest: number;
  malformed: number;
}

export type Polled =
  | { readonly kind: 'records'; readonly batch: RecordBatch; readonly watermark: number | undefined }
  | { readonly kind: 'watermark'; readonly watermark: number }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'ended' };

export interface SourceDriverRequest {
  readonly source: Source<unknown>;
  readonly context: SourceContext;
  readonly watermarks: WatermarkStrategy<unknown> | undefined;
  /** @param cause  present when the job carries origins */
  readonly side: (tag: string, value: unknown, cause: string | undefined) => void;
  /** What the origin of a record begins with, before the id of its split; `undefined` in jobs without. */
  readonly origins?: string | undefined;
  /** AT_MOST_ONCE only. */
  readonly reservations: SourceReservations | undefined;
  /** Records `from` (included) to `to` (not included) of a split were passed over. */
  readonly countLost: (split: string, from: number, to: number) => void;
}

export class SourceDriver {
  recordsRead = 0;
  readonly #request: SourceDriverRequest;
  readonly #splits: OwnSplit[];
  #current = 0;
  #reader: SplitReader<unknown> | undefined;
  #generator: WatermarkGenerator | undefined;
  #output: SourceOutput<unknown>;
  readonly #reservedBefore: ReadonlyMap<string, number>;
  #index = 0;
  #lostUpTo = 0;
  /** Malformed records of the unfinished batch. */
  readonly #aside: { readonly tag: string; readonly value: unknown }[] = [];
  #emitted = noWatermark;

  constructor(request: SourceDriverRequest, splits: readonly StoredSplit[]) {
    this.#request = request;
    this.#splits = splits.map((stored) => ({ ...stored, malformed: stored.malformed ?? 0 }));
    this.#output = this.#newOutput();
    this.#reservedBefore = request.reservations?.earlier ?? new Map();
  }

  stored(): readonly StoredSplit[] {
    return this.#splits.map(({ ordinal, split, position, hasEnded, largest, malformed }) => {
      const stored = { ordinal, split, position, hasEnded, largest };
      return malformed === 0 ? stored : { ...stored, malformed };
    });
  }

  /** A promise while nothing can be polled. Rejects when reading failed. */
  ready(): Promise<void> | undefined {
    return this.#reader?.ready()?.catch((cause: unknown) => {
      throw this.#failed(cause);
    });
  }

  /** A promise while a reservation has to be stored before the next record. */
  reserve(): Promise<void> | undefined {
    const { reservations } = this.#request;
    const split = this.#splits[this.#current];
    if (reservations === undefined || split === undefined || split.hasEnded) return undefined;
    return reservations.renew(
      this.#reservedName(split),
      this.#reader === undefined ? Math.max(split.position?.index ?? 0, this.#skipTo(split)) : this.#index + this.#output.count,
    );
  }

  poll(): Polled {
    for (;;) {
      const split = this.#splits[this.#current];
      if (split === undefined) return { kind: 'ended' };
      if (split.hasEnded) {
        this.#current += 1;
        continue;
      }
      const polled = this.#pollReader(split);
      if (polled !== undefined) return polled;
    }
  }

  #pollReader(split: OwnSplit): Polled | undefined {
    try {
      return this.#pollSplit(split, this.#reader ?? this.#open(split));
    } catch (cause) {
      throw this.#failed(cause);
    }
  }

  /** What a source throws is told with its uid and place; a source that tells more itself is left alone. */
  #failed(cause: unknown): unknown {
    if (isSluiceError(cause)) return cause;
    const { uid } = this.#request.context;
    const split = this.#splits[this.#current]?.split.id;
    const place = `record ${this.#index + this.#output.count} of split ${split}`;
    const message = `source ${uid} failed at ${place}: ${cause instanceof Error ? cause.message : String(cause)}`;
    return new SluiceError('USER_FUNCTION_FAILED', { message, next: 'try-again', cause, operator: uid });
  }

  async close(): Promise<void> {
    await this.#reader?.close();
    this.#reader = undefined;
  }

  #open(split: OwnSplit): SplitReader<unknown> {
    const { source, context, watermarks } = this.#request;
    const reader = source.open(split.split, split.position, context);
    this.#reader = reader;
    this.#index = split.position?.index ?? 0;
    this.#lostUpTo = this.#skipTo(split);
    this.#generator = watermarks === undefined ? undefined : new WatermarkGenerator(watermarks, `source ${context.uid}`, split.largest);
    return reader;
  }

  /** @returns `undefined` when the split has ended without records left */
  #pollSplit(split: OwnSplit, reader: SplitReader<unknown>): Polled | undefined {
    if (this.#index < this.#lostUpTo && !this.#skip(split, reader)) return { kind: 'nothing' };
    const output = this.#output;
    const full = batchRecordsMax - (this.#index % batchRecordsMax);
    const { reservations } = this.#request;
    const allowed = reservations === undefined ? full : reservations.allowance(this.#reservedName(split)) - this.#index;
    const wanted = Math.min(full, allowed);
    while (output.count < wanted && reader.poll(output, wanted - output.count) > 0);
    const aside = this.#aside.length;
    const isCut = output.count === full || reader.hasEnded || (output.count > 0 && output.count === allowed) || aside >= batchRecordsMax;
    if (!isCut && !(this.#request.source.isEager && output.count + aside > 0)) return { kind: 'nothing' };
    return this.#cut(split, reader);
  }

  /** Reads past what an earlier attempt may have handed out. True when there is nothing more to skip. */
  #skip(split: OwnSplit, reader: SplitReader<unknown>): boolean {
    const scratch: SourceOutput<unknown> = { values: [], count: 0, side: () => void (split.malformed += 1) };
    while (this.#index < this.#lostUpTo && !reader.hasEnded) {
      scratch.count = 0;
      const skipped = reader.poll(scratch, Math.min(batchRecordsMax, this.#lostUpTo - this.#index));
      if (skipped === 0 && !reader.hasEnded) return false;
      this.#request.countLost(this.#reservedName(split), this.#index, this.#index + skipped);
      this.#index += skipped;
    }
    return true;
  }

  #skipTo(split: OwnSplit): number {
    return this.#reservedBefore.get(this.#reservedName(split)) ?? 0;
  }

  #reservedName({ split }: OwnSplit): string {
    return `${this.#request.context.uid}/${split.id}`;
  }

  #cut(split: OwnSplit, reader: SplitReader<unknown>): Polled | undefined {
    const { values, count } = this.#output;
    const isCutByAside = this.#aside.length >= batchRecordsMax;
    const prefix = this.#originPrefix(split);
    for (const { tag, value } of this.#aside.splice(0)) {
      this.#request.side(tag, value, prefix === undefined ? undefined : malformedOrigin(prefix, split.malformed));
      split.malformed += 1;
    }
    const origins = prefix === undefined ? undefined : consecutiveOrigins(prefix, this.#index);
    const batch: RecordBatch = { values, count, keys: undefined, timestamps: undefined, origins };
    this.#output = this.#newOutput();
    this.#generator?.stamp(batch);
    this.#index += count;
    this.recordsRead += count;
    this.#request.reservations?.used(count);
    split.position = reader.position();
    split.largest = this.#generator?.largest ?? noWatermark;
    if (reader.hasEnded) {
      split.hasEnded = true;
      void closeRead(reader);
      this.#reader = undefined;
      this.#current += 1;
    }
    const { isEager } = this.#request.source;
    const isDue = isCutByAside || isWatermarkDue({ index: this.#index, hasEnded: split.hasEnded, isEager });
    const watermark = isDue ? this.#watermark() : undefined;
    if (count > 0) return { kind: 'records', batch, watermark };
    return watermark === undefined ? undefined : { kind: 'watermark', watermark };
  }

  #originPrefix({ split }: OwnSplit): string | undefined {
    const { origins } = this.#request;
    return origins === undefined ? undefined : `${origins}${split.id}/`;
  }

  #watermark(): number | undefined {
    const watermark = sourceWatermark(this.#splits, this.#request.watermarks, this.#emitted);
    if (watermark !== undefined) this.#emitted = watermark;
    return watermark;
  }

  /** Largest event time read so far. */
  get largestTimestamp(): number {
    return this.#splits.reduce((largest, split) => Math.max(largest, split.largest), noWatermark);
  }

  /** The watermark that a restored source stands at, so that a replay begins with the event time of the checkpoint. */
  restoredWatermark(): number | undefined {
    return this.#watermark();
  }

  #newOutput(): SourceOutput<unknown> {
    return { values: new Array(batchRecordsMax), count: 0, side: (tag, value) => void this.#aside.push({ tag: tag.id, value }) };
  }
}

/** All of it has been read, so that it cannot be closed is nobody's trouble. */
async function closeRead(reader: SplitReader<unknown>): Promise<void> {
  try {
    await reader.close();
  } catch {
    // See above.
  }
}

/** The splits of one subtask: those of a checkpoint when there are any, else those that the source names now. */
export function splitsOf(all: readonly StoredSplit[], subtask: number, parallelism: number): readonly StoredSplit[] {
  return all.filter(({ ordinal }) => ordinal % parallelism === subtask).sort((a, b) => a.ordinal - b.ordinal);
}

export function freshSplits(splits: readonly Split[]): readonly StoredSplit[] {
  return splits.map((split, ordinal) => ({ ordinal, split, position: undefined, hasEnded: false, largest: noWatermark }));
}
