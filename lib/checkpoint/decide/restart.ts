// Does a failed job begin another attempt in this process, and when? One file for all strategies: they share what is remembered.

import type { RestartStrategy } from '../../api/restart-strategy.ts';

/** What is remembered between failures; begin with `noFailures`. */
export interface RestartHistory {
  /** Restarts so far, or since the delay was reset. */
  readonly restarts: number;
  /** Times of failures that may still count (failureRate), oldest first. */
  readonly failuresMs: readonly number[];
}

export const noFailures: RestartHistory = { restarts: 0, failuresMs: [] };

export interface RestartFacts {
  readonly strategy: RestartStrategy;
  readonly history: RestartHistory;
  readonly nowMs: number;
  /** When the failed attempt began to run. */
  readonly startedMs: number;
  /** What the next failure would do anyway: wrong jobs and wrong commands are not cured by trying again. */
  readonly isFatal: boolean;
  /** 32 random bits, for jitter. */
  readonly bits: number;
}

export type Restart =
  | { readonly kind: 'restart'; readonly delayMs: number; readonly history: RestartHistory }
  | { readonly kind: 'fail'; readonly why: string };

export function decideRestart(facts: RestartFacts): Restart {
  const { strategy, history, nowMs } = facts;
  if (facts.isFatal) return { kind: 'fail', why: 'another attempt would meet the same error' };
  switch (strategy.kind) {
    case 'none':
      return { kind: 'fail', why: 'the job has no restart strategy' };
    case 'fixedDelay':
      if (history.restarts >= strategy.attempts)
        return { kind: 'fail', why: `${times(history.restarts)} restarted, and no more are allowed` };
      return { kind: 'restart', delayMs: strategy.delayMs, history: { restarts: history.restarts + 1, failuresMs: [] } };
    case 'failureRate': {
      const failuresMs = [...history.failuresMs.filter((ms) => ms > nowMs - strategy.intervalMs && ms <= nowMs), nowMs];
      if (failuresMs.length > strategy.failuresMax) {
        return { kind: 'fail', why: `${failuresMs.length} failures within ${strategy.intervalMs} ms, ${strategy.failuresMax} are allowed` };
      }
      return { kind: 'restart', delayMs: strategy.delayMs, history: { restarts: history.restarts + 1, failuresMs } };
    }
    case 'exponentialDelay': {
      const restarts = nowMs - facts.startedMs >= strategy.resetAfterMs ? 0 : history.restarts;
      return { kind: 'restart', delayMs: grownDelay(strategy, restarts, facts.bits), history: { restarts: restarts + 1, failuresMs: [] } };
    }
  }
}

function grownDelay(strategy: Extract<RestartStrategy, { kind: 'exponentialDelay' }>, restarts: number, bits: number): number {
  const grown = Math.min(strategy.initialMs * strategy.multiplier ** restarts, strategy.maxMs);
  const part = (bits / 2 ** 32) * 2 - 1; // -1 to below 1
  return Math.max(strategy.initialMs, Math.min(Math.round(grown * (1 + strategy.jitter * part)), strategy.maxMs));
}

function times(n: number): string {
  return n === 1 ? 'once' : `${n} times`;
}
