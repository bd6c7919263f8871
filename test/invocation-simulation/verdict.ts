// What is kept of one seed once its trace is not wanted.

export interface Verdict {
  readonly seed: number;
  readonly failures: readonly string[];
  readonly traceHash: number;
  readonly steps: number;
  readonly ending: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** The verdict on a seed whose simulation came to no end. */
export function noOutcome(seed: number, failure: string): Verdict {
  return { seed, failures: [failure], traceHash: 0, steps: 0, ending: 'stuck', counts: {} };
}
