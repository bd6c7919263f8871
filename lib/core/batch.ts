// A batch is what flows between operators: columns of the same length, so that an operator's loop touches plain arrays and allocates
// nothing of its own for a record. Elements other than records (watermarks, barriers …) never lie inside a batch; they end it.
//   B1  `values`, and each optional column that is present, hold at least `count` entries; entries from `count` on mean nothing.
//   B2  A batch that was handed to a channel belongs to the receiver: the sender never touches its arrays again.
//   B3  `keys[i]` was made once, when the record was routed; later changes of the record do not move it.
//   B4  `origins` costs nothing where no sink asks: loops look at it once a batch, and have a second form for the batches that carry it.

import type { StateKey } from './key-codec.ts';
import type { Origins } from './origins.ts';

export interface RecordBatch {
  values: unknown[];
  count: number;
  /** Routing keys; present exactly on keyed inputs. */
  keys: StateKey[] | undefined;
  /** Event times in ms; absent where the stream has none. `noTimestamp` marks a single record without one. */
  timestamps: number[] | undefined;
  /** What caused each record; present only on the ways to a sink that asks for it. */
  origins?: Origins | undefined;
}

/** Event time of a record that has none. */
export const noTimestamp: number = Number.NEGATIVE_INFINITY;

export function emptyBatch(hasTimestamps = false, isKeyed = false): RecordBatch {
  return { values: [], count: 0, keys: isKeyed ? [] : undefined, timestamps: hasTimestamps ? [] : undefined, origins: undefined };
}

/** Records `from` (included) to `to` (not included), in arrays of their own. */
export function partOfBatch(batch: RecordBatch, from: number, to: number): RecordBatch {
  const { values, keys, timestamps, origins } = batch;
  return {
    values: values.slice(from, to),
    count: to - from,
    keys: keys?.slice(from, to),
    timestamps: timestamps?.slice(from, to),
    origins: origins === undefined ? undefined : { at: (index) => origins.at(from + index) },
  };
}

/** What travels over a channel, in order. */
export type StreamElement =
  | { readonly kind: 'records'; readonly batch: RecordBatch }
  | { readonly kind: 'watermark'; readonly timestamp: number }
  | { readonly kind: 'barrier'; readonly checkpoint: number }
  | { readonly kind: 'idle' }
  | { readonly kind: 'end' };

/** The watermark that ends event time: every timer and window fires. */
export const finalWatermark: number = Number.MAX_SAFE_INTEGER;
/** The watermark before the first one arrived. */
export const noWatermark: number = Number.MIN_SAFE_INTEGER;
/** Records in a full batch; sources cut batches at multiples of it, counted per split, so a replay makes the same batches. */
export const batchRecordsMax = 1024;
