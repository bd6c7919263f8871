// Where the delivery of each split stands, so that a restart of the runner does not begin at the first record. A hint: it may lag, and the
// subtask drops what it knows. It is never ahead of what was answered as committed, and never goes back.

import type { Clock } from '../../core/ports.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { JobItems } from '../../invocation/ports.ts';
import { type SplitMark, unreadSplit } from './split-feed.ts';

const noteEveryMs = 250; // a restart delivers again what came since, and that is dropped quickly

export class MappingProgress {
  readonly #items: JobItems;
  readonly #clock: Clock;
  readonly #notedMs = new Map<string, number>();

  constructor(items: JobItems, clock: Clock) {
    this.#items = items;
    this.#clock = clock;
  }

  read(subtask: string, ordinal: number): Promise<SplitMark> {
    return readMark(this.#items, subtask, ordinal);
  }

  /** Notes it, unless that was done a moment ago; an end always. */
  async note(subtask: string, ordinal: number, mark: SplitMark): Promise<void> {
    const name = nameOf(subtask, ordinal);
    const now = this.#clock.now();
    const sinceMs = now - (this.#notedMs.get(name) ?? Number.NEGATIVE_INFINITY);
    if (!mark.hasEnded && sinceMs >= 0 && sinceMs < noteEveryMs) return;
    this.#notedMs.set(name, now);
    await this.#items.put({ name, content: { bytes: encodeValue(mark), change: '' }, expects: 'any' });
  }
}

/** Where a run would begin to deliver the split. */
export async function readMark(items: Pick<JobItems, 'get'>, subtask: string, ordinal: number): Promise<SplitMark> {
  const item = await items.get(nameOf(subtask, ordinal));
  return item === undefined ? unreadSplit : (decodeValue(item.bytes) as SplitMark);
}

function nameOf(subtask: string, ordinal: number): string {
  return `mapping/${subtask}/${ordinal}`;
}
