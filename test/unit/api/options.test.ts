import { describe, expect, test } from 'vitest';
import { resolveCheckpointing, resolveSettings } from '../../../lib/api/options.ts';
import { RestartStrategies } from '../../../lib/api/restart-strategy.ts';
import { FsStateBackend, MemoryStateBackend } from '../../../lib/api/state-backend.ts';
import { described, refusal } from './building.ts';

describe('checkpoint options', () => {
  test('are by default those of Flink', () => {
    expect(resolveCheckpointing('10 s')).toEqual({
      intervalMs: 10_000,
      mode: 'EXACTLY_ONCE',
      timeoutMs: 600_000,
      minPauseMs: 0,
      maxConcurrent: 1,
      externalizedCleanup: 'NO_EXTERNALIZED_CHECKPOINTS',
      tolerableFailures: 0,
      preferCheckpointForRecovery: false,
      numRetained: 1,
    });
  });

  test('with a pause allow only one checkpoint in flight, as in Flink', () => {
    expect(resolveCheckpointing('1 s', { maxConcurrentCheckpoints: 3 }).maxConcurrent).toBe(3);
    expect(resolveCheckpointing('1 s', { maxConcurrentCheckpoints: 3, minPauseBetweenCheckpoints: '1 ms' }).maxConcurrent).toBe(1);
  });

  test.each([
    ['an interval of 0', 0, {}, 'OPTION_INVALID', 'interval'],
    ['an interval without a space', '10s', {}, 'DURATION_INVALID', "'10 s'"],
    ['a negative interval', -1, {}, 'DURATION_INVALID', 'negative'],
    ['a timeout of 0', '1 s', { timeout: 0 }, 'OPTION_INVALID', 'timeout'],
    ['an unknown mode', '1 s', { mode: 'exactly_once' }, 'OPTION_INVALID', 'EXACTLY_ONCE'],
    ['an unknown clean-up', '1 s', { externalizedCleanup: 'RETAIN' }, 'OPTION_INVALID', 'RETAIN_ON_CANCELLATION'],
    ['a misspelled option', '1 s', { tolerableFailure: 1 }, 'OPTION_UNKNOWN', "did you mean 'tolerableFailures'?"],
    ['no checkpoint in flight', '1 s', { maxConcurrentCheckpoints: 0 }, 'OPTION_INVALID', 'at least 1'],
    ['half a retained checkpoint', '1 s', { numRetained: 0.5 }, 'OPTION_INVALID', 'numRetained'],
    ['a negative tolerance', '1 s', { tolerableFailures: -1 }, 'OPTION_INVALID', 'tolerableFailures'],
    ['text for a yes or no', '1 s', { preferCheckpointForRecovery: 'yes' }, 'OPTION_INVALID', 'true or false'],
    ['options that are none', '1 s', 5, 'OPTION_INVALID', 'object'],
  ])('refuse %s where it is written', (_what, interval, options, code, words) => {
    const error = refusal(() => described((env) => env.enableCheckpointing(interval as never, options as never)));
    expect([error.code, error.next]).toEqual([code, 'fix-the-job']);
    expect(error.message).toContain(words);
  });
});

describe('settings', () => {
  const source = { uid: 's' };

  test('without any call run on one subtask, on the heap, without checkpoints and restarts', () => {
    expect(resolveSettings({})).toEqual({
      parallelism: 1,
      maxParallelism: 128,
      backend: { kind: 'memory', stateBytesMax: 5_242_880, asynchronous: true, isDefault: true },
      checkpointsDirectory: undefined,
      checkpoints: undefined,
      restart: { kind: 'none' },
    });
  });

  test('restart three times, a second apart, once checkpoints are on', () => {
    expect(resolveSettings({}, { checkpointIntervalMs: 5_000 }).restart).toEqual({ kind: 'fixedDelay', attempts: 3, delayMs: 1_000 });
  });

  test('of the job win over those from outside, and fill in what the job leaves open', () => {
    const outside = {
      parallelism: 2,
      maxParallelism: 64,
      backend: 'filesystem',
      checkpointsDirectory: 'file:./outside',
      checkpointIntervalMs: 60_000,
      checkpointMode: 'AT_LEAST_ONCE',
      numRetained: 7,
      restartStrategy: RestartStrategies.none(),
    } as const;
    const { settings } = described((env) => {
      env.fromSequence(1, 2, source);
      env.setParallelism(3);
      env.setStateBackend(new FsStateBackend('file:./own'));
      env.enableCheckpointing('1 s', { numRetained: 2 });
      env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 1 }));
    }, outside);
    expect(settings).toMatchObject({
      parallelism: 3,
      maxParallelism: 64,
      backend: { kind: 'filesystem' },
      checkpointsDirectory: 'file:./own',
    });
    expect(settings.checkpoints).toMatchObject({ intervalMs: 1_000, mode: 'AT_LEAST_ONCE', numRetained: 2 });
    expect(settings.restart).toMatchObject({ kind: 'fixedDelay', attempts: 1 });

    const alone = described((env) => void env.fromSequence(1, 2, source), outside).settings;
    expect(alone).toMatchObject({
      parallelism: 2,
      backend: { kind: 'filesystem' },
      checkpointsDirectory: 'file:./outside',
      restart: { kind: 'none' },
    });
    expect(alone.checkpoints).toMatchObject({ intervalMs: 60_000, mode: 'AT_LEAST_ONCE', numRetained: 7 });
  });

  test('of the run win over the parallelism of the job, not over that of an operator', () => {
    const { settings, nodes } = described(
      (env) => {
        env.setParallelism(3);
        env
          .fromSequence(1, 2, source)
          .map((n) => n)
          .setParallelism(5);
      },
      { forcedParallelism: 2 },
    );
    expect([settings.parallelism, nodes[1]?.parallelism]).toEqual([2, 5]);
  });

  test.each([
    ['parallelism 0', () => described((env) => env.setParallelism(0)), 'OPTION_INVALID', 'not 0'],
    ['maximum parallelism 32,769', () => described((env) => env.setMaxParallelism(32_769)), 'OPTION_INVALID', '1 to 32768'],
    ['a backend that is none', () => described((env) => env.setStateBackend({ backend: 'rocksdb' })), 'OPTION_INVALID', 'FsStateBackend'],
    ['a state size of 0', () => new MemoryStateBackend(0), 'OPTION_INVALID', 'maxStateSize'],
    ['a place without a name', () => new FsStateBackend(''), 'OPTION_INVALID', 'not empty'],
    ['a place in S3', () => new FsStateBackend('s3://bucket/x'), 'FEATURE_NOT_AVAILABLE', 's3: is not available yet'],
    ['restarts without a number', () => RestartStrategies.fixedDelay({} as never), 'OPTION_INVALID', 'attempts'],
    [
      'a misspelled option of restarts',
      () => RestartStrategies.exponentialDelay({ inital: '1 s' } as never),
      'OPTION_UNKNOWN',
      "'initial'",
    ],
    [
      'a greatest delay below the first',
      () => RestartStrategies.exponentialDelay({ initial: '2 min', max: '1 min' }),
      'OPTION_INVALID',
      'max',
    ],
    ['a strategy that is none', () => described((env) => env.setRestartStrategy({} as never)), 'OPTION_INVALID', 'fixedDelay'],
  ])('refuse %s', (_what, call, code, words) => {
    const error = refusal(call);
    expect(error.code).toBe(code);
    expect(error.message).toContain(words);
  });

  test('know the restart strategies of Flink with their defaults', () => {
    expect(RestartStrategies.failureRate({ maxFailures: 3, interval: '5 min' })).toEqual({
      kind: 'failureRate',
      failuresMax: 3,
      intervalMs: 300_000,
      delayMs: 1_000,
    });
    expect(RestartStrategies.exponentialDelay()).toEqual({
      kind: 'exponentialDelay',
      initialMs: 1_000,
      maxMs: 60_000,
      multiplier: 2,
      resetAfterMs: 3_600_000,
      jitter: 0.1,
    });
  });

  test('take paths, file URIs and drives as places for checkpoints', () => {
    expect(['/var/x', './x', 'file:./x', 'file:///x', 'C:\\x'].map((uri) => new FsStateBackend(uri).uri)).toHaveLength(5);
  });
});
