// What follows from the acknowledgements of a checkpoint?
//   C1  Only a number above the last complete one may complete, so completions are in order and a late one revives nothing.
//   C2  A checkpoint that was given up stays so, whatever arrives.

export interface CompletionFacts<H> {
  readonly checkpoint: number;
  /** 0 before the first. */
  readonly lastCompleted: number;
  /** Why it was given up, if it was. */
  readonly givenUp: string | undefined;
  /** Everyone who has to acknowledge, by name. */
  readonly expected: readonly string[];
  readonly acknowledged: ReadonlyMap<string, H>;
}

export type Completion<H> =
  /** Handles in order of `expected`. */
  | { readonly kind: 'complete'; readonly handles: readonly H[] }
  | { readonly kind: 'wait'; readonly missing: readonly string[] }
  | { readonly kind: 'abort'; readonly reason: string }
  | { readonly kind: 'superseded'; readonly by: number };

export function decideCompletion<H>(facts: CompletionFacts<H>): Completion<H> {
  if (facts.checkpoint <= facts.lastCompleted) return { kind: 'superseded', by: facts.lastCompleted };
  if (facts.givenUp !== undefined) return { kind: 'abort', reason: facts.givenUp };
  const missing = facts.expected.filter((name) => !facts.acknowledged.has(name));
  if (missing.length > 0) return { kind: 'wait', missing };
  return { kind: 'complete', handles: facts.expected.map((name) => facts.acknowledged.get(name)!) };
}
