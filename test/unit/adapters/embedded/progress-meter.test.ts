import { describe, expect, test } from 'vitest';
import { ProgressMeter } from '../../../../lib/adapters/embedded/progress-meter.ts';
import type { Progress } from '../../../../lib/adapters/embedded/run-types.ts';
import type { Subtask } from '../../../../lib/adapters/embedded/subtask.ts';
import { finalWatermark, noWatermark } from '../../../../lib/core/batch.ts';
import { SubtaskMetrics } from '../../../../lib/runtime/metrics.ts';

interface StandIn {
  recordsRead: number;
  rowsWritten: number;
  largestTimestamp: number;
  watermark: number;
  readonly metrics: SubtaskMetrics;
}

function standIn(): StandIn {
  return { recordsRead: 0, rowsWritten: 0, largestTimestamp: noWatermark, watermark: noWatermark, metrics: new SubtaskMetrics() };
}

function subtaskOf(s: StandIn): Subtask {
  return {
    source: {
      get recordsRead() {
        return s.recordsRead;
      },
      get largestTimestamp() {
        return s.largestTimestamp;
      },
    },
    sinks: new Map([
      [
        0,
        {
          get rowsWritten() {
            return s.rowsWritten;
          },
        },
      ],
    ]),
    metrics: s.metrics,
    host: {
      operators: [
        {
          get watermark() {
            return s.watermark;
          },
        },
      ],
    },
  } as unknown as Subtask;
}

function meterAt(start: number): { meter: ProgressMeter; reports: Progress[]; clock: { now: number } } {
  const clock = { now: start };
  const reports: Progress[] = [];
  const meter = new ProgressMeter({ now: () => clock.now, sleep: () => ({ done: Promise.resolve(), cancel() {} }) }, (progress) =>
    reports.push(progress),
  );
  return { meter, reports, clock };
}

describe('progress', () => {
  test('is told once a second, with the rate since the last time', () => {
    const { meter, reports, clock } = meterAt(5_000);
    const s = standIn();
    meter.watch([subtaskOf(s)]);
    s.recordsRead = 400;
    clock.now = 5_600;
    expect(meter.tick()).toBe(400);
    expect(reports).toEqual([]);
    clock.now = 7_000;
    s.rowsWritten = 7;
    expect(meter.tick()).toBe(1_000);
    expect(reports).toEqual([
      { recordsIn: 400, recordsOut: 7, recordsPerSecond: 200, watermarkLagMs: undefined, lastCheckpoint: undefined },
    ]);
    s.recordsRead = 1_400;
    clock.now = 8_000;
    meter.lastCheckpoint = 3;
    meter.tick();
    expect(reports[1]).toMatchObject({ recordsIn: 1_400, recordsPerSecond: 1_000, lastCheckpoint: 3 });
  });

  test('a clock that jumps back gives no negative rate and does not stop the reports', () => {
    const { meter, reports, clock } = meterAt(100_000);
    meter.watch([subtaskOf(standIn())]);
    clock.now = 10_000;
    meter.tick();
    expect(reports.map(({ recordsPerSecond }) => recordsPerSecond)).toEqual([0]);
    clock.now = 11_000;
    meter.tick();
    expect(reports).toHaveLength(2);
  });

  test('counts over attempts; a gauge is that of the subtasks that live', () => {
    const { meter } = meterAt(0);
    const [first, second] = [standIn(), standIn()];
    let level = 5;
    for (const { metrics } of [first, second]) metrics.of('op').gauge('level', () => level);
    meter.watch([subtaskOf(first)]);
    first.recordsRead = 10;
    first.rowsWritten = 4;
    first.metrics.of('op').counter('late').inc(2);
    first.metrics.of('op').histogram('size').update(8);
    meter.count('skipped', 1);
    meter.watch([subtaskOf(second)]);
    second.recordsRead = 1;
    second.metrics.of('op').counter('late').inc();
    level = 6;
    expect(meter.totals()).toEqual({ recordsIn: 11, recordsOut: 4 });
    expect(meter.counters()).toEqual({ skipped: 1, 'op.late': 3, 'op.size.count': 1, 'op.size.sum': 8, 'op.level': 6 });
  });

  test('the lag is from the newest event time read to the oldest watermark of an operator, while there is event time', () => {
    const { meter, reports, clock } = meterAt(0);
    const [a, b] = [standIn(), standIn()];
    meter.watch([subtaskOf(a), subtaskOf(b)]);
    const lag = (): number | undefined => {
      clock.now += 1_000;
      meter.tick();
      return reports.at(-1)?.watermarkLagMs;
    };
    expect(lag()).toBeUndefined();
    a.largestTimestamp = 9_000;
    a.watermark = 8_000;
    b.watermark = 2_000;
    expect(lag()).toBe(7_000);
    a.watermark = finalWatermark;
    b.watermark = finalWatermark;
    expect(lag()).toBeUndefined();
  });
});

test('a lost record counts once, however many attempts pass over it', () => {
  const meter = new ProgressMeter({ now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel() {} }) }, () => {});
  meter.countLost('in/a', 0, 10);
  meter.countLost('in/a', 0, 4);
  meter.countLost('in/a', 4, 25);
  meter.countLost('in/b', 5, 6);
  expect(meter.counters()).toEqual({ lost: 26 });
});
