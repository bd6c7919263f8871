/**
 * Orders the writes of one subtask to one row: a later write has a larger tag. A target that keeps with each row the tag of its last write, and
 * refuses a smaller one, is never set back by a process that was left behind. Tags of different subtasks are not comparable, so rows have to come
 * keyed by what they are known by.
 *
 * After a restore the rows of the new generation replace all of the old one; until the replay has caught up a row may show an earlier value. A job that
 * is made anew over the rows of an earlier one replaces those likewise, because it began later.
 *
 * A target that refuses a row under a larger tag should say so aloud when the two have another `begunMs`: another run of the job writes the same rows.
 */
export interface RowTag {
  /** When the generation began, ms since the epoch: larger for each later one of a job, and for a job that is made later. */
  readonly begunMs: number;
  readonly generation: number;
  /** Of the entry that made the row; the same each time the entry is delivered. */
  readonly n: number;
  /** Place among the rows that the entry has for the sink: an entry may write one row several times, and be delivered by two processes at once. */
  readonly index: number;
}

/** The tag of a row of a call, from that of the call's first row. */
export function rowTagAt({ begunMs, generation, n, index }: RowTag, row: number): RowTag {
  return { begunMs, generation, n, index: index + row };
}

/** Below 0: `a` is the older write. 0: it is the same one, made again. */
export function compareRowTags(a: RowTag, b: RowTag): number {
  return a.begunMs - b.begunMs || a.generation - b.generation || a.n - b.n || a.index - b.index;
}
