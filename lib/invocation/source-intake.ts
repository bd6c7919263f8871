// What a source subtask takes from an event, on a copy of its entry's splits. A run that is abandoned leaves nothing.
//   S1  A record at or below the position of its split is a repeat and is dropped. One that is not next shows that records are missing before it:
//       it and all later ones stay where they are.
//   S2  While a replay is due, only the replay's records are taken: the event source goes on from where the sealed parents were.
//   S3  Batches are cut and watermarks are made at multiples of the split's record count, so it does not matter how its records came in events.
//   S4  The watermark is the minimum over the subtask's splits, as in a job of one process.
//   S5  Where an event cannot count its records (`uncounted`), a record is a repeat when its place is not behind that of the split, and the others are
//       counted here. Nothing shows then that records are missing: such an event source hands records out from where it was last answered.
//   S6  A split that nobody had heard of begins with the first event of it, where the source adds splits and this subtask is to read them.
//   S7  A record that its source cannot read fails here, so that it is counted and parked like one that an operator throws on.

import type { Split, SplitPosition } from '../api/source.ts';
import { UnreadableRecord } from '../api/unreadable.ts';
import type { WatermarkStrategy } from '../api/watermark.ts';
import { batchRecordsMax, noWatermark, type RecordBatch } from '../core/batch.ts';
import { consecutiveOrigins } from '../core/origins.ts';
import { WatermarkGenerator } from '../operators/watermark-generator.ts';
import { isWatermarkDue, malformedOrigin, sourceWatermark } from '../runtime/source-progress.ts';
import type { EntryHead, SplitProgress } from './entry.ts';
import type { RecordPlace } from './intake.ts';
import type { EventRecord } from './invocation.ts';
import { isReplayDue, type ReplayEnds } from './replay-end.ts';

/** Index of a record whose event knows where it ends, and not how many came before it. */
export const uncounted = -1;

export interface SourceIntakeOptions {
  readonly head: Pick<EntryHead, 'splits' | 'watermark'>;
  /** uid of the source, for messages. */
  readonly uid: string;
  readonly watermarks: WatermarkStrategy<unknown> | undefined;
  readonly isEager: boolean;
  /** Orders places of a source whose events do not count their records; see `Source.comparePlaces`. */
  readonly comparePlaces?: ((a: unknown, b: unknown) => number) | undefined;
  /** A split that is new to the source, if this subtask reads it; see `Source.splitOf`. */
  readonly splitOf?: ((ordinal: number) => Split | undefined) | undefined;
  readonly replayEnds?: ReplayEnds | undefined;
  /** What origins begin with, before the id of the split (`sourceOrigin`); `undefined` in jobs without. */
  readonly origins: string | undefined;
}

/** Carries out what is taken, in order and at once. */
export interface SourceTarget {
  records(batch: RecordBatch, at: RecordPlace): void;
  side(tag: string, value: unknown, cause: string | undefined): void;
  watermark(timestamp: number): void;
}

export interface SplitEvent {
  /** Ordinal of the split. */
  readonly split: number;
  readonly records: readonly EventRecord[];
  readonly isLast: boolean;
  readonly isReplay: boolean;
  /** More records of the same event follow: an eager source makes its watermark behind the last ones. */
  readonly isPart?: boolean | undefined;
  /** A dead letter takes the place of the good record: it is handed on as it came, without a timestamp, and does not count for event time. */
  readonly isParked?: boolean | undefined;
  /** Of a replay: nothing is left up to this place behind its records, though none of them lies there. */
  readonly through?: unknown;
}

/** `all`: everything is taken or was before. `gap`: the first `count` records are; the others wait for what is missing. */
export type Taken =
  | { readonly kind: 'all' }
  | { readonly kind: 'gap'; readonly count: number }
  | { readonly kind: 'replay-first' }
  | { readonly kind: 'unknown-split' };

type OpenSplit = { -readonly [Name in keyof SplitProgress]: SplitProgress[Name] };

export class SourceIntake {
  /** Something differs from the head. */
  hasChanged = false;
  readonly #o: SourceIntakeOptions;
  readonly #splits: OpenSplit[];
  #watermark: number;

  constructor(options: SourceIntakeOptions) {
    this.#o = options;
    this.#splits = options.head.splits.map((split) => ({ ...split }));
    this.#watermark = options.head.watermark;
  }

  /** Every split has been read: the subtask's own end is due. */
  get hasEnded(): boolean {
    return this.#o.splitOf === undefined && this.#splits.every(({ hasEnded }) => hasEnded);
  }

  take(event: SplitEvent, to: SourceTarget): Taken {
    const split = this.#splitOf(event.split);
    if (split === undefined) return { kind: 'unknown-split' };
    if (!event.isReplay && isReplayDue(split, this.#o.replayEnds ?? noEnd)) return { kind: 'replay-first' };
    const { fresh, gapAt } = freshRecords(this.#counted(event.records, split), split);
    for (let at = 0; at < fresh.length; ) at = this.#takeBatch(split, { event, records: fresh, from: at }, to);
    if (gapAt !== undefined) return { kind: 'gap', count: gapAt };
    if (event.through !== undefined && event.isPart !== true) this.#passTo(split, event.through);
    if (event.isLast && !split.hasEnded) this.#end(split, to);
    return { kind: 'all' };
  }

  /** The event with each record's place among those of its split, also where the event source cannot count. */
  counted<E extends Pick<SplitEvent, 'split' | 'records'>>(event: E): E {
    const split = this.#splitOf(event.split);
    return split === undefined ? event : { ...event, records: this.#counted(event.records, split) };
  }

  /** Name of the good record that ends at a position, which is counted; see `RecordPlace`. */
  nameOf(ordinal: number, after: SplitPosition): { readonly place: string; readonly record: string } {
    const split = this.#splitOf(ordinal);
    return { place: split === undefined ? '' : placeOf(this.#o.uid, split), record: String(after.index - 1) };
  }

  /** How many good records of the event are not taken yet, and the first of them. */
  pending(event: Pick<SplitEvent, 'split' | 'records'>): {
    readonly count: number;
    readonly first: { readonly place: string; readonly record: string } | undefined;
  } {
    const split = this.#splitOf(event.split);
    const fresh =
      split === undefined ? [] : freshRecords(this.#counted(event.records, split), split).fresh.filter(({ side }) => side === undefined);
    const [first] = fresh;
    return { count: fresh.length, first: first === undefined ? undefined : this.nameOf(event.split, first.after) };
  }

  parts(): Pick<EntryHead, 'splits' | 'watermark'> {
    return { splits: this.#splits.map((split) => ({ ...split })), watermark: this.#watermark };
  }

  #splitOf(ordinal: number): OpenSplit | undefined {
    const known = this.#splits.find((split) => split.ordinal === ordinal);
    const added = known === undefined ? this.#o.splitOf?.(ordinal) : undefined;
    if (added === undefined) return known;
    const begun = unreadSplit(ordinal, added);
    this.#splits.push(begun);
    return begun;
  }

  #counted(records: readonly EventRecord[], split: OpenSplit): readonly EventRecord[] {
    const { comparePlaces } = this.#o;
    return comparePlaces === undefined ? records : countedRecords(records, split, comparePlaces);
  }

  /** @returns index of the first record that is not in the batch */
  #takeBatch(
    split: OpenSplit,
    p: { readonly event: SplitEvent; readonly records: readonly EventRecord[]; readonly from: number },
    to: SourceTarget,
  ): number {
    const { event, records, from } = p;
    const first = indexOf(split);
    const full = batchRecordsMax - (first % batchRecordsMax);
    const values: unknown[] = [];
    const aside: EventRecord[] = [];
    let at = from;
    for (; at < records.length && values.length < full; at++) {
      const record = records[at] as EventRecord;
      if (record.side === undefined) values.push(record.value);
      else aside.push(record);
    }
    this.hasChanged = true;
    this.#passAside(split, aside, to);
    split.position = (records[at - 1] as EventRecord).after;
    split.silence = undefined;
    if (values.length === 0) return at;
    this.#passRecords(split, { values, first, isParked: event.isParked === true }, to);
    const isEager = this.#o.isEager && event.isPart !== true;
    if (isWatermarkDue({ index: first + values.length, hasEnded: false, isEager })) this.#advance(to);
    return at;
  }

  #passAside(split: OpenSplit, aside: readonly EventRecord[], to: SourceTarget): void {
    const prefix = this.#prefixOf(split);
    for (const { side, value } of aside) {
      to.side(side as string, value, prefix === undefined ? undefined : malformedOrigin(prefix, split.malformed));
      split.malformed += 1;
    }
  }

  #passRecords(
    split: OpenSplit,
    part: { readonly values: unknown[]; readonly first: number; readonly isParked: boolean },
    to: SourceTarget,
  ): void {
    const { first, isParked } = part;
    const values = part.values.some(isUnreadable) ? part.values.map((value) => readable(value, isParked)) : part.values;
    const prefix = this.#prefixOf(split);
    const origins = prefix === undefined ? undefined : consecutiveOrigins(prefix, first);
    const batch: RecordBatch = { values, count: values.length, keys: undefined, timestamps: undefined, origins };
    const { watermarks, uid } = this.#o;
    if (watermarks !== undefined && !isParked) {
      const generator = new WatermarkGenerator(watermarks, `source ${uid}`, split.largest);
      generator.stamp(batch);
      split.largest = generator.largest;
    }
    to.records(batch, { place: placeOf(uid, split), record: (index) => String(first + index) });
  }

  #passTo(split: OpenSplit, at: unknown): void {
    const { comparePlaces } = this.#o;
    if (comparePlaces === undefined || (split.position?.at !== undefined && comparePlaces(at, split.position.at) <= 0)) return;
    this.hasChanged = true;
    split.position = { index: indexOf(split), at };
  }

  #end(split: OpenSplit, to: SourceTarget): void {
    this.hasChanged = true;
    split.hasEnded = true;
    this.#advance(to);
  }

  #advance(to: SourceTarget): void {
    const watermark = sourceWatermark(this.#splits, this.#o.watermarks, this.#watermark);
    if (watermark === undefined) return;
    this.#watermark = watermark;
    to.watermark(watermark);
  }

  #prefixOf({ split }: OpenSplit): string | undefined {
    const { origins } = this.#o;
    return origins === undefined ? undefined : `${origins}${split.id}/`;
  }
}

function isUnreadable(value: unknown): value is UnreadableRecord {
  return value instanceof UnreadableRecord;
}

/** @throws the error of a record that cannot be read; parked, it is its bytes */
function readable(value: unknown, isParked: boolean): unknown {
  if (!isUnreadable(value)) return value;
  if (isParked) return value.bytes;
  throw value.error;
}

export function unreadSplit(ordinal: number, split: Split): SplitProgress {
  return { ordinal, split, position: undefined, hasEnded: false, largest: noWatermark, malformed: 0, replayUntil: 0 };
}

function placeOf(uid: string, { split }: Pick<SplitProgress, 'split'>): string {
  return `${uid}/${split.id}`;
}

const noEnd: ReplayEnds = () => undefined;

function indexOf({ position }: Pick<SplitProgress, 'position'>): number {
  return position?.index ?? 0;
}

/** Pure: the records of an event, those that it does not count counted on from the split's position. */
export function countedRecords(
  records: readonly EventRecord[],
  split: Pick<SplitProgress, 'position' | 'malformed'>,
  comparePlaces: (a: unknown, b: unknown) => number,
): readonly EventRecord[] {
  let index = indexOf(split);
  let { malformed } = split;
  return records.map((record) => {
    if (record.after.index !== uncounted) return record;
    const isRepeat = split.position !== undefined && comparePlaces(record.after.at, split.position.at) <= 0;
    const { at } = record.after;
    if (record.side !== undefined) return { ...record, nth: isRepeat ? -1 : malformed++, after: { index, at } };
    return { ...record, after: { index: isRepeat ? index : ++index, at } };
  });
}

function freshRecords(
  records: readonly EventRecord[],
  split: Pick<SplitProgress, 'position' | 'malformed' | 'hasEnded'>,
): { readonly fresh: readonly EventRecord[]; readonly gapAt: number | undefined } {
  const fresh: EventRecord[] = [];
  let index = indexOf(split);
  let { malformed } = split;
  let whole = { fresh: 0, records: 0 };
  for (const [at, record] of records.entries()) {
    const isGood = record.side === undefined;
    const place = isGood ? record.after.index : (record.nth ?? malformed) + 1;
    const next = isGood ? index + 1 : malformed + 1;
    // Malformed records are taken with the good one that they stand before, or not at all: the position lies behind good records.
    if (place > next) return { fresh: fresh.slice(0, whole.fresh), gapAt: whole.records };
    if (place === next) {
      fresh.push(record);
      if (isGood) index += 1;
      else malformed += 1;
    }
    if (isGood) whole = { fresh: fresh.length, records: at + 1 };
  }
  return { fresh, gapAt: undefined };
}
