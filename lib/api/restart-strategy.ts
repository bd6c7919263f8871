import { type Duration, parseDuration } from '../core/duration.ts';
import { SluiceError } from '../core/errors.ts';
import { checkOptions, checkWhole } from './option-checks.ts';

// restart-strategy.ts holds what happens after a failure, as plain data; deciding by it is the runtime's part.

export type RestartStrategy =
  | { readonly kind: 'none' }
  | { readonly kind: 'fixedDelay'; readonly attempts: number; readonly delayMs: number }
  | { readonly kind: 'failureRate'; readonly failuresMax: number; readonly intervalMs: number; readonly delayMs: number }
  | {
      readonly kind: 'exponentialDelay';
      readonly initialMs: number;
      readonly maxMs: number;
      readonly multiplier: number;
      /** A run without failure for so long makes the next delay the initial one again. */
      readonly resetAfterMs: number;
      /** Part of the delay, 0 to 1, by which it may be shorter or longer. */
      readonly jitter: number;
    };

export interface FixedDelayOptions {
  /** Restarts before the job fails for good, at least 1. */
  attempts: number;
  /** `'1 s'` by default. */
  delay?: Duration;
}

export interface FailureRateOptions {
  /** Failures within `interval` that the job survives, at least 1. */
  maxFailures: number;
  interval: Duration;
  /** `'1 s'` by default. */
  delay?: Duration;
}

export interface ExponentialDelayOptions {
  /** `'1 s'` by default. */
  initial?: Duration;
  /** `'1 min'` by default. */
  max?: Duration;
  /** 2 by default, more than 1. */
  multiplier?: number;
  /** `'1 h'` by default. */
  resetAfter?: Duration;
  /** 0.1 by default. */
  jitter?: number;
}

/** Makes restart strategies for `env.setRestartStrategy`. All throw `OPTION_UNKNOWN`, `OPTION_INVALID` or `DURATION_INVALID`. */
export const RestartStrategies: {
  /** The first failure fails the job. */
  none(): RestartStrategy;
  /** A number of restarts, each after the same time. */
  fixedDelay(o: FixedDelayOptions): RestartStrategy;
  /** Restarts as long as failures are rare enough. */
  failureRate(o: FailureRateOptions): RestartStrategy;
  /** Restarts without limit, after times that grow. */
  exponentialDelay(o?: ExponentialDelayOptions): RestartStrategy;
} = {
  none: () => ({ kind: 'none' }),

  fixedDelay(o) {
    const owner = 'RestartStrategies.fixedDelay';
    checkOptions(owner, o, ['attempts', 'delay']);
    return { kind: 'fixedDelay', attempts: checkWhole(owner, 'attempts', o.attempts, 1), delayMs: ms(owner, 'delay', o.delay ?? '1 s', 0) };
  },

  failureRate(o) {
    const owner = 'RestartStrategies.failureRate';
    checkOptions(owner, o, ['maxFailures', 'interval', 'delay']);
    return {
      kind: 'failureRate',
      failuresMax: checkWhole(owner, 'maxFailures', o.maxFailures, 1),
      intervalMs: ms(owner, 'interval', o.interval, 1),
      delayMs: ms(owner, 'delay', o.delay ?? '1 s', 0),
    };
  },

  exponentialDelay(o = {}) {
    const owner = 'RestartStrategies.exponentialDelay';
    checkOptions(owner, o, ['initial', 'max', 'multiplier', 'resetAfter', 'jitter']);
    const { multiplier = 2, jitter = 0.1 } = o;
    const initialMs = ms(owner, 'initial', o.initial ?? '1 s', 1);
    const maxMs = ms(owner, 'max', o.max ?? '1 min', 1);
    if (maxMs < initialMs) throw invalid(owner, 'max is not shorter than initial');
    if (!(multiplier > 1 && Number.isFinite(multiplier))) throw invalid(owner, 'multiplier is a number above 1');
    if (!(jitter >= 0 && jitter <= 1)) throw invalid(owner, 'jitter is a number from 0 to 1');
    return {
      kind: 'exponentialDelay',
      initialMs,
      maxMs,
      multiplier,
      resetAfterMs: ms(owner, 'resetAfter', o.resetAfter ?? '1 h', 1),
      jitter,
    };
  },
};

function ms(owner: string, name: string, d: Duration, least: number): number {
  const parsed = parseDuration(d, { name: `${owner} ${name}` });
  if (parsed < least) throw invalid(owner, `${name} is longer than 0`);
  return parsed;
}

function invalid(owner: string, rule: string): SluiceError {
  return new SluiceError('OPTION_INVALID', { message: `${owner}: ${rule}`, next: 'fix-the-job' });
}
