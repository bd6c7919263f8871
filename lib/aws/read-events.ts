// Records of a mapping's event, in order, as the source reads them.
//   R1  How many records came before is the subtask's to know: an event says only where each of its records ends.
//   R2  A record that cannot be read, and that the format does not pass over, ends the event: what lies before it is taken first.

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
  let aside: { readonly side: string; readonly value: unknown; readonly number: string }[] = [];
  const give = (after: EventRecord['after']): void => {
    for (const { side, value, number } of aside) {
      events.push({ value, after, side });
      numbers.push(number);
    }
    aside = [];
  };
  for (const { number, data, key } of records) {
    const out: SourceOutput<unknown> = {
      values: [],
      count: 0,
      side: ({ id: side }, value) => aside.push({ side, value, number }),
    };
    try {
      source.readRecord?.(data, out, key);
    } catch (error) {
      if (events.length === 0) throw error;
      numbers.push(number);
      return { events, numbers };
    }
    for (let sub = 0; sub < out.count; sub++) {
      const after = { index: uncounted, at: { sequence: number, sub } };
      give(after);
      events.push({ value: out.values[sub], after });
      numbers.push(number);
    }
  }
  const last = aside.at(-1);
  if (last !== undefined) give({ index: uncounted, at: { sequence: last.number, sub: 0 } });
  return { events, numbers };
}
