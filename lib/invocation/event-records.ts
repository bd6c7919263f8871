// Turns what a split reader hands out into records of an event.

import type { SourceOutput, SplitReader } from '../api/source.ts';
import type { EventRecord } from './invocation.ts';

export interface EventPart {
  readonly records: readonly EventRecord[];
  /** The split has no records after these. */
  readonly isLast: boolean;
}

/**
 * Hands out what is loaded, one record at a time, so that each has its position. Without records and not the last: await `reader.ready()`.
 * @param p.recordsMax  good records at most
 * @param p.malformed  malformed records of the split so far
 */
export function pollRecords(reader: SplitReader<unknown>, p: { readonly recordsMax: number; readonly malformed: number }): EventPart {
  const records: EventRecord[] = [];
  let nth = p.malformed;
  const aside: { readonly value: unknown; readonly side: string; readonly nth: number }[] = [];
  const out: SourceOutput<unknown> = {
    values: [],
    count: 0,
    side: (tag, value) => void aside.push({ value, side: tag.id, nth: nth++ }),
  };
  for (let good = 0; good < p.recordsMax && !reader.hasEnded; good++) {
    out.count = 0;
    const polled = reader.poll(out, 1);
    const after = reader.position();
    for (const malformed of aside.splice(0)) records.push({ ...malformed, after });
    if (polled === 0) break;
    records.push({ value: out.values[0], after });
  }
  return { records, isLast: reader.hasEnded };
}

/** Waits until there is something, or the split has ended. */
export async function readRecords(
  reader: SplitReader<unknown>,
  p: { readonly recordsMax: number; readonly malformed: number },
): Promise<EventPart> {
  for (;;) {
    const part = pollRecords(reader, p);
    if (part.records.length > 0 || part.isLast || p.recordsMax === 0) return part;
    await reader.ready();
  }
}
