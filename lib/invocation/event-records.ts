// Turns what a split reader hands out into records of an event.

import type { SourceOutput, SplitReader } from '../api/source.ts';
import type { EventRecord } from './invocation.ts';

export interface EventPart {
  readonly records: readonly EventRecord[];
  /** The split has no records after these. */
  readonly isLast: boolean;
}

export interface EventPartOptions {
  /** Good records at most. */
  readonly recordsMax: number;
  /** Malformed records of the split so far. */
  readonly malformed: number;
  /** Malformed records have places of their own, which the reader tells while it hands them out; else they share that of the good one behind them. */
  readonly isPlaced?: boolean;
}

/**
 * Hands out what is loaded, one record at a time, so that each has its position. Without records and not the last: await `reader.ready()`.
 */
export function pollRecords(reader: SplitReader<unknown>, p: EventPartOptions): EventPart {
  const records: EventRecord[] = [];
  let nth = p.malformed;
  const aside: (Omit<EventRecord, 'after'> & Partial<EventRecord>)[] = [];
  const out: SourceOutput<unknown> = {
    values: [],
    count: 0,
    side: (tag, value) =>
      void aside.push({ value, side: tag.id, nth: nth++, ...(p.isPlaced === true ? { after: reader.position() } : {}) }),
  };
  for (let good = 0; good < p.recordsMax && !reader.hasEnded; good++) {
    out.count = 0;
    const polled = reader.poll(out, 1);
    const after = reader.position();
    for (const malformed of aside.splice(0)) records.push({ after, ...malformed });
    if (polled === 0) break;
    records.push({ value: out.values[0], after });
  }
  return { records, isLast: reader.hasEnded };
}

/**
 * Waits until there is something, or the split has ended.
 * @param p.isFarEnough  that nothing came up to this place is enough, too
 */
export async function readRecords(
  reader: SplitReader<unknown>,
  p: EventPartOptions & { readonly isFarEnough?: (at: unknown) => boolean },
): Promise<EventPart> {
  for (;;) {
    const part = pollRecords(reader, p);
    if (part.records.length > 0 || part.isLast || p.recordsMax === 0 || p.isFarEnough?.(reader.position().at) === true) return part;
    await reader.ready();
  }
}
