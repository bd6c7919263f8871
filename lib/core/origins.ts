// What caused a record, as a text: the place of a record in a source, or the timer that fired, and the way from there. The same cause gives
// the same text after a replay, a restore or a rescale, and two records of one stream never share one (copies that `broadcast` makes excepted).
//
//   source record     <source uid>/<split>/<index>          index: of the record in its split, from 0
//   timer             <operator uid>@event/<key>/<time>     or @processing; see operators/origin-tracker.ts
//   n-th output       <cause>.<n>                           of one call of a user function that may have several, from 0
//   a way among many  <cause>(<sender>)                     where one cause can reach an operator on two ways; see graph/origins.ts
//
//   O1  Uids have none of / @ ( ), so a text is read from its end in one way only: that makes it unique, by induction over the operators.
//   O2  An index is turned into a text when somebody asks. Most records are dropped or summed up before anyone does.

/** The causes of the records of a batch. */
export interface Origins {
  /** @param index  of a record of the batch, from 0 */
  at(index: number): string;
}

/** Records that follow each other in a split. */
export function consecutiveOrigins(prefix: string, first: number): Origins {
  return { at: (index) => prefix + (first + index) };
}

export function listedOrigins(texts: readonly string[]): Origins {
  return { at: (index) => texts[index] as string };
}

/** Some records of another batch, by their indexes in it. */
export function pickedOrigins(from: Origins, picks: readonly number[]): Origins {
  return { at: (index) => from.at(picks[index] as number) };
}

/** Records that came by one of several ways. */
export function markedOrigins(from: Origins, mark: string): Origins {
  return { at: (index) => from.at(index) + mark };
}

/** @param n  which output of the same call, from 0 */
export function outputOrigin(cause: string, n: number): string {
  return `${cause}.${n}`;
}
