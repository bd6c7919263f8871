import type { AggregateFunction } from '../api/functions.ts';

// aggregates.ts holds ready aggregate functions. Their accumulators lie in checkpoints: changing their shape needs a new state version.

/** How many records there were. */
export function count(): AggregateFunction<unknown, number, number> {
  return {
    createAccumulator: () => 0,
    add: (_value, n) => n + 1,
    getResult: (n) => n,
    merge: (a, b) => a + b,
  };
}

/** The arithmetic mean; `NaN` of nothing. */
export function average(): AggregateFunction<number, { sum: number; n: number }, number> {
  return {
    createAccumulator: () => ({ sum: 0, n: 0 }),
    add: (value, { sum, n }) => ({ sum: sum + value, n: n + 1 }),
    getResult: ({ sum, n }) => sum / n,
    merge: (a, b) => ({ sum: a.sum + b.sum, n: a.n + b.n }),
  };
}
