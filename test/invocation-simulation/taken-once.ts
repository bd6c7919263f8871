// What AT_MOST_ONCE promises of the input: no record is taken a second time, in whatever generation. What is lost, nobody asks.

import type { EntryHead } from '../../lib/invocation/entry.ts';

export class TakenOnce {
  /** By subtask and ordinal: how far a split was ever read. */
  readonly #furthest = new Map<string, number>();

  /** @param head  of an entry that was appended, or that begins a ring @returns what is wrong with it */
  *check({ subtask, generation, splits }: EntryHead): Generator<string> {
    for (const { ordinal, position } of splits) {
      const split = `${subtask}/${ordinal}`;
      const furthest = this.#furthest.get(split) ?? 0;
      const index = position?.index ?? 0;
      if (index < furthest)
        yield `AT_MOST_ONCE: split ${split} was read up to ${furthest}, and generation ${generation} takes it from ${index}`;
      this.#furthest.set(split, Math.max(furthest, index));
    }
  }
}
