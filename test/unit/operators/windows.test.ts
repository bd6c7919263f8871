import { describe, expect, test } from 'vitest';
import type { WindowSpec } from '../../../lib/api/compositions.ts';
import { OutputTag } from '../../../lib/api/functions.ts';
import { TumblingEventTimeWindows } from '../../../lib/api/window.ts';
import { finalWatermark } from '../../../lib/core/batch.ts';
import { lateRecordsCounter, tumblingWindows, windowStart } from '../../../lib/operators/windows.ts';
import { refusal } from '../api/building.ts';
import { KeyedDriver } from './keyed-driver.ts';

const counted: WindowSpec = {
  assigner: TumblingEventTimeWindows.of(10),
  latenessMs: 0,
  lateTag: undefined,
  fold: { first: () => 1, next: (_value, n) => (n as number) + 1, result: (n) => n },
  output: (key, window, [n]) => ({ key, ...(window as object), n }),
};
const late = new OutputTag<unknown>('late');

describe('a tumbling window', () => {
  test('gives its result once, when the watermark reaches its last instant', () => {
    const d = new KeyedDriver(tumblingWindows(counted));
    for (const at of [0, 9, 10]) d.process('a', at, at);
    d.process('b', 5, 5);
    d.advance(8);
    expect(d.out).toEqual([]);
    d.advance(9);
    expect(d.out).toEqual([
      { key: 'a', start: 0, end: 10, n: 2 },
      { key: 'b', start: 0, end: 10, n: 1 },
    ]);
    d.advance(finalWatermark);
    expect(d.out.slice(2)).toEqual([{ key: 'a', start: 10, end: 20, n: 1 }]);
  });

  test('takes a record behind the watermark as long as the window is not over', () => {
    const d = new KeyedDriver(tumblingWindows(counted));
    d.advance(8);
    d.process('a', 1, 1);
    d.advance(9);
    expect(d.out).toEqual([{ key: 'a', start: 0, end: 10, n: 1 }]);
    expect(d.counters.get(lateRecordsCounter)).toBeUndefined();
  });

  test('gives its result again for each record within the allowed lateness, and none after it', () => {
    const d = new KeyedDriver(tumblingWindows({ ...counted, latenessMs: 5, lateTag: late }));
    d.process('a', 'x', 3);
    d.advance(9);
    d.process('a', 'y', 4);
    d.advance(13);
    d.process('a', 'z', 5);
    d.advance(14);
    d.process('a', 'too late', 6);
    expect(d.out.map((row) => (row as { n: number }).n)).toEqual([1, 2, 3]);
    expect(d.sides.get('late')).toEqual(['too late']);
  });

  test('begins within the lateness with a result at once when its first record is that late', () => {
    const d = new KeyedDriver(tumblingWindows({ ...counted, latenessMs: 5 }));
    d.advance(11);
    d.process('a', 'x', 3);
    expect(d.out).toEqual([{ key: 'a', start: 0, end: 10, n: 1 }]);
    d.advance(14);
    expect([d.entries, d.timers, d.out.length]).toEqual([0, 0, 1]);
  });

  test('leaves no state and no timer behind when its lateness is over', () => {
    for (const latenessMs of [0, 10, 15, 40]) {
      const d = new KeyedDriver(tumblingWindows({ ...counted, latenessMs }));
      for (let at = 0; at < 100; at++) d.process(at % 3, at, at);
      d.advance(99 + latenessMs);
      expect([latenessMs, d.entries, d.timers, d.out.length]).toEqual([latenessMs, 0, 0, 30]);
    }
  });

  test('is not mixed up with another whose lateness ends at the same instant', () => {
    const d = new KeyedDriver(tumblingWindows({ ...counted, latenessMs: 10 }));
    d.process('a', 0, 0);
    d.process('a', 10, 10);
    d.advance(19);
    expect(d.out.map((row) => (row as { start: number }).start)).toEqual([0, 10]);
    d.process('a', 11, 11);
    expect(d.out.at(-1)).toEqual({ key: 'a', start: 10, end: 20, n: 2 });
  });

  test('lives to the end when its lateness is longer than time', () => {
    const d = new KeyedDriver(tumblingWindows({ ...counted, latenessMs: Number.MAX_SAFE_INTEGER }));
    d.process('a', 0, 0);
    d.advance(1_000_000);
    d.process('a', 0, 0);
    expect(d.out).toHaveLength(2);
    d.advance(finalWatermark);
    expect([d.entries, d.timers, d.out.length]).toEqual([0, 0, 2]);
  });

  test('refuses a record without a timestamp by saying what to do', () => {
    const d = new KeyedDriver(tumblingWindows(counted));
    const error = refusal(() => d.process('a', 1));
    expect([error.code, error.next]).toEqual(['RECORD_WITHOUT_TIMESTAMP', 'fix-the-job']);
  });

  test('without an output function gives the result itself', () => {
    const d = new KeyedDriver(tumblingWindows({ ...counted, output: undefined }));
    d.process('a', 0, 0);
    d.advance(9);
    expect(d.out).toEqual([1]);
  });
});

test('C26: of 1,000 records, the 37 beyond the allowed lateness are late, and in windows + late is 1,000', () => {
  const run = (lateTag: OutputTag<unknown> | undefined): KeyedDriver => {
    const d = new KeyedDriver(tumblingWindows({ ...counted, assigner: TumblingEventTimeWindows.of(100), latenessMs: 50, lateTag }));
    let at = 0;
    for (let i = 0; i < 1_000; i++) {
      const isLate = i % 26 === 25 && i < 37 * 26;
      if (!isLate) at += 7;
      // A late record lies in the window that ended just before watermark - 50; the others are in order.
      d.process(i % 5, i, isLate ? Math.max(0, windowStart(at - 50, 100, 0) - 100) : at);
      d.advance(at - 1);
    }
    d.advance(finalWatermark);
    return d;
  };
  const lastOf = (d: KeyedDriver): number => {
    const results = new Map(
      d.out.map((row) => [`${(row as { key: unknown }).key}/${(row as { start: number }).start}`, (row as { n: number }).n]),
    );
    return [...results.values()].reduce((sum, n) => sum + n, 0); // the last result of each window counts
  };
  const counting = run(undefined);
  const tagged = run(late);
  const lateRecords = counting.counters.get(lateRecordsCounter) ?? 0;
  expect(lateRecords + lastOf(counting)).toBe(1_000);
  expect((tagged.sides.get('late')?.length ?? 0) + lastOf(tagged)).toBe(1_000);
  expect([lateRecords, tagged.sides.get('late')?.length]).toEqual([37, 37]);
  expect(tagged.counters.get(lateRecordsCounter)).toBeUndefined();
});

describe('the start of a window', () => {
  test.each([
    [0, 10, 0, 0],
    [9, 10, 0, 0],
    [10, 10, 0, 10],
    [-1, 10, 0, -10],
    [-10, 10, 0, -10],
    [3, 10, 4, -6],
    [4, 10, 4, 4],
    [3, 10, -3, -3],
    [Number.MAX_SAFE_INTEGER, 1_000, 0, Number.MAX_SAFE_INTEGER - (Number.MAX_SAFE_INTEGER % 1_000)],
  ])('of time %d, size %d and offset %d is %d', (timestamp, size, offset, start) => {
    expect(windowStart(timestamp, size, offset)).toBe(start);
  });

  test('size and offset are checked when they are written', () => {
    expect(refusal(() => TumblingEventTimeWindows.of(0)).code).toBe('OPTION_INVALID');
    expect(refusal(() => TumblingEventTimeWindows.of('1 h', '1 h')).code).toBe('OPTION_INVALID');
    expect(refusal(() => TumblingEventTimeWindows.of('1h' as never)).code).toBe('DURATION_INVALID');
    expect(TumblingEventTimeWindows.of('1 d', -28_800_000).offsetMs).toBe(-28_800_000);
  });
});
