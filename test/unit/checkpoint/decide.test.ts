import { describe, expect, test } from 'vitest';
import type { RestartStrategy } from '../../../lib/api/restart-strategy.ts';
import { type CompletionFacts, decideCompletion } from '../../../lib/checkpoint/decide/completion.ts';
import { type AbortReason, decideFailure } from '../../../lib/checkpoint/decide/failure.ts';
import { decideRestart, noFailures, type RestartHistory } from '../../../lib/checkpoint/decide/restart.ts';
import { decideRetention, decideSubsumption, type JobEnd } from '../../../lib/checkpoint/decide/retention.ts';
import { retryDelayMs } from '../../../lib/checkpoint/decide/retry.ts';
import { decideTimeout, patienceMs } from '../../../lib/checkpoint/decide/timeout.ts';
import { decideTrigger, type TriggerFacts } from '../../../lib/checkpoint/decide/trigger.ts';

describe('trigger', () => {
  const due: TriggerFacts = {
    nowMs: 10_000,
    intervalMs: 1_000,
    minPauseMs: 0,
    maxConcurrent: 1,
    lastBegunMs: 9_000,
    lastEndedMs: 9_500,
    pending: 0,
    hasNews: true,
    isEnding: false,
  };
  const table: readonly (readonly [string, Partial<TriggerFacts>, ReturnType<typeof decideTrigger>])[] = [
    ['one interval after the last began', {}, { kind: 'begin' }],
    ['not before', { lastBegunMs: 9_001 }, { kind: 'wait', why: 'interval', ms: 1 }],
    ['late, when it could not begin earlier', { lastBegunMs: 1_000 }, { kind: 'begin' }],
    ['never, when checkpointing is off', { intervalMs: undefined }, { kind: 'wait', why: 'off', ms: undefined }],
    ['never, when the job ends', { isEnding: true }, { kind: 'wait', why: 'ending', ms: undefined }],
    ['not while another is under way', { pending: 1 }, { kind: 'wait', why: 'too-many', ms: undefined }],
    ['beside another, when two are allowed', { pending: 1, maxConcurrent: 2 }, { kind: 'begin' }],
    ['not beside two', { pending: 2, maxConcurrent: 2 }, { kind: 'wait', why: 'too-many', ms: undefined }],
    [
      'not beside another, when a pause is wanted',
      { pending: 1, maxConcurrent: 2, minPauseMs: 1 },
      { kind: 'wait', why: 'too-many', ms: undefined },
    ],
    ['not before the pause is over', { minPauseMs: 600 }, { kind: 'wait', why: 'pause', ms: 100 }],
    ['when the pause is just over', { minPauseMs: 500 }, { kind: 'begin' }],
    ['without a pause before the first', { minPauseMs: 60_000, lastEndedMs: undefined }, { kind: 'begin' }],
    ['not when nothing is new', { hasNews: false }, { kind: 'wait', why: 'nothing-new', ms: 1_000 }],
    [
      'C53 one interval from now, when the clock was set back',
      { nowMs: 10_000, lastBegunMs: 50_000 },
      { kind: 'wait', why: 'interval', ms: 1_000 },
    ],
    [
      'C53 one pause from now, when the clock was set back',
      { lastEndedMs: 50_000, minPauseMs: 700 },
      { kind: 'wait', why: 'pause', ms: 700 },
    ],
  ];
  test.each(table)('%s', (_rule, facts, expected) => {
    expect(decideTrigger({ ...due, ...facts })).toEqual(expected);
  });
});

describe('completion', () => {
  const facts: CompletionFacts<string> = {
    checkpoint: 5,
    lastCompleted: 4,
    givenUp: undefined,
    expected: ['0/0', '1/0'],
    acknowledged: new Map([
      ['1/0', 'b'],
      ['0/0', 'a'],
    ]),
  };
  const table: readonly (readonly [string, Partial<CompletionFacts<string>>, ReturnType<typeof decideCompletion<string>>])[] = [
    ['all have acknowledged: complete, in the order of participants', {}, { kind: 'complete', handles: ['a', 'b'] }],
    ['one is missing: wait', { acknowledged: new Map([['0/0', 'a']]) }, { kind: 'wait', missing: ['1/0'] }],
    [
      'an acknowledgement of a stranger counts for nobody',
      { acknowledged: new Map([['9/9', 'x']]) },
      { kind: 'wait', missing: ['0/0', '1/0'] },
    ],
    ['C11 a higher one is complete: superseded', { lastCompleted: 6 }, { kind: 'superseded', by: 6 }],
    ['C11 it is complete itself: superseded', { lastCompleted: 5 }, { kind: 'superseded', by: 5 }],
    ['C11 it was given up: aborted, though all have acknowledged', { givenUp: 'too slow' }, { kind: 'abort', reason: 'too slow' }],
    ['no participants: complete at once', { expected: [], acknowledged: new Map() }, { kind: 'complete', handles: [] }],
  ];
  test.each(table)('%s', (_rule, changed, expected) => {
    expect(decideCompletion({ ...facts, ...changed })).toEqual(expected);
  });
});

describe('time-out', () => {
  test.each([
    ['waits until then', { nowMs: 10_999, begunMs: 10_000, patienceMs: 1_000 }, { kind: 'wait', ms: 1 }],
    ['expires then', { nowMs: 11_000, begunMs: 10_000, patienceMs: 1_000 }, { kind: 'expired' }],
    ['expires when the clock jumps ahead', { nowMs: 900_000, begunMs: 10_000, patienceMs: 1_000 }, { kind: 'expired' }],
    [
      'C53 is never longer than its length, when the clock was set back',
      { nowMs: 5_000, begunMs: 10_000, patienceMs: 1_000 },
      { kind: 'wait', ms: 1_000 },
    ],
  ])('%s', (_rule, facts, expected) => {
    expect(decideTimeout(facts)).toEqual(expected);
  });

  test('doubles with each checkpoint in a row that expired, up to sixteen times', () => {
    expect([0, 1, 2, 3, 4, 5, 50].map((n) => patienceMs(1_000, n))).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000]);
  });
});

describe('failure tolerance', () => {
  const table: readonly (readonly [AbortReason, number, number, ReturnType<typeof decideFailure>])[] = [
    ['declined', 0, 0, { kind: 'fail-job', failuresInARow: 1 }],
    ['declined', 0, 1, { kind: 'tolerated', failuresInARow: 1 }],
    ['declined', 1, 1, { kind: 'fail-job', failuresInARow: 2 }],
    ['expired', 2, 3, { kind: 'tolerated', failuresInARow: 3 }],
    ['expired', 3, 3, { kind: 'fail-job', failuresInARow: 4 }],
    ['not-begun', 0, 0, { kind: 'fail-job', failuresInARow: 1 }],
    ['not-completed', 0, 0, { kind: 'fail-job', failuresInARow: 1 }],
    ['owner-lost', 0, 1_000, { kind: 'fail-job', failuresInARow: 1 }],
    ['subsumed', 3, 0, { kind: 'ignored' }],
    ['stopped', 3, 0, { kind: 'ignored' }],
  ];
  test.each(table)('%s after %i failures with %i tolerable', (reason, failuresInARow, tolerable, expected) => {
    expect(decideFailure({ reason, failuresInARow, tolerable })).toEqual(expected);
  });
});

describe('retention', () => {
  test('the newest are kept while the job runs', () => {
    expect(decideSubsumption({ completed: [9, 7, 4], numRetained: 2 })).toEqual([9, 7]);
    expect(decideSubsumption({ completed: [9], numRetained: 2 })).toEqual([9]);
  });

  const all = [9, 8, 7];
  const cleanups = ['RETAIN_ON_CANCELLATION', 'DELETE_ON_CANCELLATION', 'NO_EXTERNALIZED_CHECKPOINTS'] as const;
  const table: readonly (readonly [JobEnd, (typeof cleanups)[number], boolean, readonly number[]])[] = [
    ['cancelled', 'RETAIN_ON_CANCELLATION', true, [9, 8]],
    ['failed', 'RETAIN_ON_CANCELLATION', true, [9, 8]],
    ['finished', 'RETAIN_ON_CANCELLATION', true, [9, 8]],
    ['cancelled', 'DELETE_ON_CANCELLATION', true, []],
    ['failed', 'DELETE_ON_CANCELLATION', true, [9, 8]],
    ['finished', 'DELETE_ON_CANCELLATION', true, [9]],
    ['cancelled', 'NO_EXTERNALIZED_CHECKPOINTS', true, []],
    ['failed', 'NO_EXTERNALIZED_CHECKPOINTS', true, []],
    ['finished', 'NO_EXTERNALIZED_CHECKPOINTS', true, [9]],
    ['cancelled', 'DELETE_ON_CANCELLATION', false, [9]],
    ['cancelled', 'NO_EXTERNALIZED_CHECKPOINTS', false, [9]],
    ['failed', 'NO_EXTERNALIZED_CHECKPOINTS', false, [9]],
  ];
  test.each(table)('a job that is %s under %s, newest confirmed %s, keeps %j', (end, cleanup, isNewestConfirmed, expected) => {
    expect(decideRetention({ end, cleanup, isNewestConfirmed, completed: all, numRetained: 2 }).checkpoints).toEqual(expected);
    expect(decideRetention({ end, cleanup, isNewestConfirmed, completed: [], numRetained: 2 }).checkpoints).toEqual([]);
  });
});

describe('restart', () => {
  const decide = (strategy: RestartStrategy, history: RestartHistory = noFailures, o: Partial<Parameters<typeof decideRestart>[0]> = {}) =>
    decideRestart({ strategy, history, nowMs: 100_000, startedMs: 0, isFatal: false, bits: 2 ** 31, ...o });
  /** Fails at each of the times, and tells the delays until the job fails for good. */
  const delays = (strategy: RestartStrategy, times: readonly number[]): (number | 'fail')[] => {
    const told: (number | 'fail')[] = [];
    let history = noFailures;
    let startedMs = 0;
    for (const nowMs of times) {
      const restart = decide(strategy, history, { nowMs, startedMs });
      told.push(restart.kind === 'restart' ? restart.delayMs : 'fail');
      if (restart.kind === 'fail') break;
      history = restart.history;
      startedMs = nowMs + restart.delayMs;
    }
    return told;
  };

  test('none: the first failure is the last', () => {
    expect(delays({ kind: 'none' }, [1, 2])).toEqual(['fail']);
  });

  test('fixedDelay: so many restarts, each after the same time', () => {
    expect(delays({ kind: 'fixedDelay', attempts: 2, delayMs: 50 }, [1, 2, 3, 4])).toEqual([50, 50, 'fail']);
  });

  test('failureRate: only failures within the interval count', () => {
    const strategy: RestartStrategy = { kind: 'failureRate', failuresMax: 2, intervalMs: 1_000, delayMs: 5 };
    expect(delays(strategy, [0, 600, 1_200, 1_800, 2_000])).toEqual([5, 5, 5, 5, 'fail']);
    expect(delays(strategy, [0, 1, 2])).toEqual([5, 5, 'fail']);
  });

  const growing: RestartStrategy = {
    kind: 'exponentialDelay',
    initialMs: 100,
    maxMs: 1_000,
    multiplier: 3,
    resetAfterMs: 10_000,
    jitter: 0,
  };
  test('exponentialDelay: grows to the longest, and begins again after a time without failure', () => {
    expect(delays(growing, [1, 200, 800, 2_000, 4_000, 20_000, 20_200])).toEqual([100, 300, 900, 1_000, 1_000, 100, 300]);
  });

  test('exponentialDelay: jitter moves the delay both ways, within initial and longest', () => {
    const history = { restarts: 1, failuresMs: [] };
    const at = (bits: number, o: RestartHistory = history): number =>
      (decide({ ...growing, jitter: 0.5 }, o, { bits, startedMs: 99_999 }) as { delayMs: number }).delayMs;
    expect([at(0), at(2 ** 31), at(2 ** 32 - 1)]).toEqual([150, 300, 450]);
    expect(at(0, noFailures)).toBe(100);
    expect(at(2 ** 32 - 1, { restarts: 9, failuresMs: [] })).toBe(1_000);
  });

  test('an error that another attempt would meet again is not tried again', () => {
    expect(decide({ kind: 'fixedDelay', attempts: 2, delayMs: 0 }, noFailures, { isFatal: true }).kind).toBe('fail');
  });
});

test('a failing confirmation is tried again ever less often, and never not at all', () => {
  expect([1, 2, 3, 7, 8, 9, 1_000].map(retryDelayMs)).toEqual([100, 200, 400, 6_400, 10_000, 10_000, 10_000]);
});
