// Records of a mapping's event, in order, as the source reads them.
//   R1  How many records came before is the subtask's to know: an event says only where each of its records ends.
//   R2  A record that cannot be read, and that the format does not pass over, ends the event: what lies before it is taken first.
//   R3  What is malformed has a place of its own, so that it is known when it comes again with other records behind it.

import type { Source, SourceOutput } from '../api/source.ts';
import type { EventRecord } from '../invocation/invocation.ts';
import { uncounted } from '../invocation/source-intake.ts';

/** A record as its service delivers it. */
export interface DeliveredRecord {
  /** Its place: a decimal text. */
  readonly number: string;
  readonly data: Uint8Array | undefined;
  readonly key?: Uint8Array | undefined;
}

export interface ReadEvents {
  readonly events: readonly EventRecord[];
  /** Number of each, in order, and of what could not be read behind them. */
  readonly numbers: readonly string[];
}

/** Pure. @throws what reading the first record of all throws */
export function readEvents(source: Pick<Source<unknown>, 'readRecord'>, records: readonly DeliveredRecord[]): ReadEvents {
  const events: EventRecord[] = [];
  const numbers: string[] = [];
  const give = (event: EventRecord, number: string): void => {
    events.push(event);
    numbers.push(number);
  };
  for (const { number, data, key } of records) {
    const placeOf = (sub: number): EventRecord['after'] => ({ index: uncounted, at: { sequence: number, sub } });
    const out: SourceOutput<unknown> = {
      values: [],
      count: 0,
      side: ({ id: side }, value) => give({ value, after: placeOf(0), side }, number),
    };
    const before = events.length;
    try {
      source.readRecord?.(data, out, key);
    } catch (error) {
      events.length = before;
      numbers.length = before;
      if (before === 0) throw error;
      numbers.push(number);
      return { events, numbers };
    }
    for (let sub = 0; sub < out.count; sub++) give({ value: out.values[sub], after: placeOf(sub) }, number);
  }
  return { events, numbers };
}
