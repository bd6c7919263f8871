// What is kept of one seed once its trace is not wanted, and what stands for a seed that gave no outcome.

import type { Outcome } from './scenario.ts';

/** What a worker sends for each seed. */
export type Verdict = Omit<Outcome, 'trace' | 'told'>;

/** The verdict on a seed whose simulation came to no end. */
export function noOutcome(seed: number, failure: string): Verdict {
  return {
    seed,
    failures: [failure],
    traceHash: 0,
    steps: 0,
    planned: [],
    struck: [],
    runs: 0,
    completed: 0,
    ending: 'stuck',
    rewinds: 0,
    takeOvers: 0,
    rivals: 0,
    mode: '',
  };
}
