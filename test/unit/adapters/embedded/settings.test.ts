import { describe, expect, test } from 'vitest';
import { type GivenSetting, readSettings, settingNames, unknownSetting } from '../../../../lib/adapters/embedded/settings.ts';
import { variableOf } from '../../../../lib/api/params.ts';

const given = (values: Record<string, string>): ReadonlyMap<string, GivenSetting> =>
  new Map(Object.entries(values).map(([name, text]) => [name, { text, origin: 'sluice.yaml' }]));
const read = (values: Record<string, string>) => readSettings(given(values));

describe('settings from outside', () => {
  test('each known name is read into its field, in our units', () => {
    expect(
      read({
        'state.backend': 'filesystem',
        'state.checkpoints.dir': 'file:./checkpoints',
        'state.checkpoints.num-retained': '3',
        'execution.checkpointing.interval': '10s',
        'execution.checkpointing.mode': 'at-least-once',
        'execution.checkpointing.timeout': '10 min',
        'execution.checkpointing.min-pause': '500',
        'execution.checkpointing.max-concurrent-checkpoints': '2',
        'execution.checkpointing.tolerable-failed-checkpoints': '0',
        'execution.checkpointing.externalized-checkpoint-retention': 'RETAIN_ON_CANCELLATION',
        'parallelism.default': '4',
        'pipeline.max-parallelism': '256',
      }),
    ).toEqual({
      backend: 'filesystem',
      checkpointsDirectory: 'file:./checkpoints',
      numRetained: 3,
      checkpointIntervalMs: 10_000,
      checkpointMode: 'AT_LEAST_ONCE',
      checkpointTimeoutMs: 600_000,
      minPauseBetweenCheckpointsMs: 500,
      maxConcurrentCheckpoints: 2,
      tolerableFailures: 0,
      externalizedCleanup: 'RETAIN_ON_CANCELLATION',
      parallelism: 4,
      maxParallelism: 256,
    });
  });

  test('what was not given is absent, so that a default of the job can show', () => {
    expect(Object.keys(read({}))).toEqual([]);
  });

  test('an unknown name is an error with the nearest known one', () => {
    expect(() => read({ 'state.backnd': 'filesystem' })).toThrow(
      "sluice.yaml has an unknown key 'state.backnd'; did you mean 'state.backend'?",
    );
    expect(() => read({ constructor: 'x' })).toThrow("unknown key 'constructor'");
    expect(unknownSetting('parallelism', '--set').message).toContain("did you mean 'parallelism.default'?");
    expect(unknownSetting('inptu', 'sluice.yaml', ['input']).message).toContain("did you mean 'input'?");
  });

  test.each([
    ['state.backend', 'rocksdb', 'the rocksdb backend is not available yet'],
    ['state.backend', 'memory', "'memory' is not one of jobmanager, filesystem, dynamodb"],
    ['state.backend.dynamodb.table', 'a b', "'a b' is not the name of a table"],
    ['state.checkpoints.dir', 's3://bucket/checkpoints', 's3:, which is not available yet'],
    ['state.checkpoints.dir', '', 'it is empty'],
    ['execution.checkpointing.interval', '10 seconds', "'10 seconds' is not a duration"],
    ['execution.checkpointing.interval', '0 s', 'too short'],
    ['execution.checkpointing.mode', 'TWICE', "'TWICE' is not one of EXACTLY_ONCE"],
    ['parallelism.default', '0', "'0' is not a whole number from 1"],
    ['parallelism.default', '2.5', "'2.5' is not a whole number"],
  ])('%s: %s is refused with the name, the value and what would be right', (name, text, part) => {
    const refused = () => read({ [name]: text });
    expect(refused).toThrow(part);
    expect(refused).toThrow(name);
    expect(refused).toThrow(expect.objectContaining({ next: 'fix-the-command' }));
  });

  test('names that matter only to later versions are accepted, so that one file serves both', () => {
    expect(read({ 'state.savepoints.dir': 's3://b/s', 'state.backend.rocksdb.localdir': '.sluice/local' })).toEqual({});
  });

  test('no two settings share an environment variable', () => {
    expect(new Set(settingNames.map(variableOf)).size).toBe(settingNames.length);
  });

  test('a restart strategy takes the parts of its own kind only', () => {
    const parts = {
      'restart-strategy.fixed-delay.attempts': '5',
      'restart-strategy.fixed-delay.delay': '2s',
      'restart-strategy.failure-rate.delay': '9s',
    };
    expect(read({ 'restart-strategy.type': 'fixed-delay', ...parts })).toEqual({
      restartStrategy: { kind: 'fixedDelay', attempts: 5, delayMs: 2_000 },
    });
    expect(read({ 'restart-strategy.type': 'off', ...parts })).toEqual({ restartStrategy: { kind: 'none' } });
    expect(read(parts)).toEqual({});
    expect(read({ 'restart-strategy.type': 'failure_rate', ...parts }).restartStrategy).toMatchObject({
      kind: 'failureRate',
      delayMs: 9_000,
    });
  });

  test('a restart strategy that contradicts itself is refused', () => {
    const bounds = {
      'restart-strategy.exponential-delay.initial-backoff': '10 s',
      'restart-strategy.exponential-delay.max-backoff': '1 s',
    };
    expect(() => read({ 'restart-strategy.type': 'exponential-delay', ...bounds })).toThrow('restart-strategy.exponential-delay');
    expect(() => read({ 'restart-strategy.type': 'sometimes' })).toThrow("'sometimes' is not one of none, fixed-delay");
  });
});
