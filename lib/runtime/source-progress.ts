// What both runtimes make of how far a source has been read: when a watermark is due and which, and what the origins of its records begin with.

import type { Source } from '../api/source.ts';
import type { WatermarkStrategy } from '../api/watermark.ts';
import { batchRecordsMax, noWatermark } from '../core/batch.ts';

/** Decided by record counts of a split, never by the clock, so that a replay makes the same watermarks. */
export function isWatermarkDue(facts: {
  /** Records of the split so far. */
  readonly index: number;
  readonly hasEnded: boolean;
  readonly isEager: boolean;
}): boolean {
  return facts.index % batchRecordsMax === 0 || facts.hasEnded || facts.isEager;
}

/**
 * The minimum over the splits that are not finished; one that was not begun holds it back, so nothing is late only because its split came later.
 * Idle ones do not, until they speak again.
 * @param emitted  the watermark so far
 * @returns `undefined` when it does not advance
 */
export function sourceWatermark(
  splits: readonly { readonly hasEnded: boolean; readonly largest: number; readonly silence?: { readonly isIdle: boolean } | undefined }[],
  strategy: WatermarkStrategy<unknown> | undefined,
  emitted: number,
): number | undefined {
  if (strategy === undefined || strategy.kind === 'none') return undefined;
  let minimum = Number.POSITIVE_INFINITY;
  for (const { hasEnded, largest, silence } of splits) {
    if (hasEnded || silence?.isIdle === true) continue;
    if (largest === noWatermark) return undefined;
    minimum = Math.min(minimum, largest - strategy.boundMs - 1);
  }
  return minimum === Number.POSITIVE_INFINITY || minimum <= emitted ? undefined : minimum;
}

/**
 * What the origin of a record begins with, before the id of its split. What cannot be read again never gives the same record twice, but whoever
 * restored counts on from an earlier index.
 */
export function sourceOrigin(uid: string, { isRereadable }: Pick<Source<unknown>, 'isRereadable'>, generation: number): string {
  return isRereadable ? `${uid}/` : `${uid}/${generation}/`;
}

/** @param n  which malformed record of the split, from 0 */
export function malformedOrigin(prefix: string, n: number): string {
  return `${prefix}malformed-${n}`;
}
