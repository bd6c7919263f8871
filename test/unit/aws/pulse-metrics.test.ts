// How old a checkpoint is that is owed, as the alarm sees it.
import { describe, expect, test } from 'vitest';
import { checkpointAge, pulseMetricsLine } from '../../../lib/aws/pulse-metrics.ts';
import type { CompletedCheckpoint, JobItem, OpenCheckpoint } from '../../../lib/invocation/job-item.ts';

type Watched = Parameters<typeof checkpointAge>[0];

const open = (begunMs: number): OpenCheckpoint => ({
  ...{ checkpoint: 1, generation: 0, begunMs, patienceMs: 1, owners: [], trigger: 'periodic' },
});
const completed = (completedMs: number): CompletedCheckpoint => ({
  ...{ checkpoint: 1, generation: 0, begunMs: completedMs, completedMs, trigger: 'periodic', owners: [], metadata: 'm', bytes: 1 },
});
const item = (changes: Partial<Watched> = {}): Watched => ({
  ...{ status: 'running', open: [], completed: [], failuresInARow: 0, moving: undefined, restoring: undefined, lastBegunMs: 100 },
  ...changes,
});
const age = (watched: Watched, nowMs: number, owedSinceMs?: number, hasFailed = false) =>
  checkpointAge(watched, { nowMs, owedSinceMs, hasFailed });

describe('a checkpoint that is owed', () => {
  test('is as old as the one that is open, also the first one of a job', () => {
    expect(age(item({ open: [open(500)] }), 2_000)).toEqual({ ageMs: 1_500, owedSinceMs: 500 });
  });

  test('gets no younger when it is given up and begun again, however often', () => {
    const first = age(item({ open: [open(500)] }), 900);
    const failed = age(item({ failuresInARow: 1 }), 1_000, first.owedSinceMs);
    const again = age(item({ open: [open(5_000)], failuresInARow: 1, lastBegunMs: 5_000 }), 9_000, failed.owedSinceMs);
    expect([first.ageMs, failed.ageMs, again.ageMs]).toEqual([400, 500, 8_500]);
  });

  test('counts from the beginning of the job when none was ever begun because pulses fail', () => {
    expect(age(item(), 60_100, undefined, true).ageMs).toBe(60_000);
  });

  test('counts from the last completed one when owners cannot be changed, or a restore does not end', () => {
    const moving: NonNullable<JobItem['moving']> = { generation: 1, parents: [], children: [], epoch: 1 };
    const restoring: NonNullable<JobItem['restoring']> = { generation: 1, checkpoint: 1, epoch: 1, owners: [] };
    expect(age(item({ moving, completed: [completed(1_000)] }), 5_000).ageMs).toBe(4_000);
    expect(age(item({ restoring, completed: [completed(1_000)] }), 5_000).ageMs).toBe(4_000);
  });

  test('is younger than the one that completed last, though a pulse never saw a moment between them', () => {
    expect(age(item({ open: [open(7_000)], completed: [completed(6_000)] }), 8_000, 500)).toEqual({ ageMs: 2_000, owedSinceMs: 6_000 });
  });

  test('is not older than now where a clock was set back', () => {
    expect(age(item({ open: [open(9_000)] }), 2_000).ageMs).toBe(0);
  });
});

describe('none is owed', () => {
  test('by a job that has nothing new, however long ago its last one was', () => {
    expect(age(item({ completed: [completed(1)] }), 1e9, 5)).toEqual({ ageMs: 0, owedSinceMs: undefined });
  });

  test.each(['paused', 'cancelled', 'failed', 'finished'] as const)('by a job that is %s', (status) => {
    expect(age(item({ status, failuresInARow: 3, open: [open(1)] }), 1e9, 5, true).ageMs).toBe(0);
  });
});

test('each pulse says an age, so that no line means that no pulse came through', () => {
  const said = JSON.parse(pulseMetricsLine({ item: { job: 'clicks', status: 'running' }, letters: undefined, checkpointAgeMs: 0 }, 5)) as {
    readonly _aws: { readonly CloudWatchMetrics: readonly { readonly Metrics: readonly { readonly Name: string }[] }[] };
  };
  expect(said).toMatchObject({ Job: 'clicks', JobFailed: 0, CheckpointAge: 0 });
  expect(said._aws.CloudWatchMetrics[0]?.Metrics.map(({ Name }) => Name)).toEqual(['JobFailed', 'CheckpointAge']);
});
