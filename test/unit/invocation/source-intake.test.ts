import { describe, expect, test } from 'vitest';
import { indexedSource } from '../../../lib/api/indexed-source.ts';
import type { SourceContext, SplitReader } from '../../../lib/api/source.ts';
import { WatermarkStrategy } from '../../../lib/api/watermark.ts';
import { batchRecordsMax, noWatermark } from '../../../lib/core/batch.ts';
import type { SplitProgress } from '../../../lib/invocation/entry.ts';
import { pollRecords, readRecords } from '../../../lib/invocation/event-records.ts';
import type { EventRecord } from '../../../lib/invocation/invocation.ts';
import { SourceIntake, type SourceIntakeOptions, type SourceTarget, unreadSplit } from '../../../lib/invocation/source-intake.ts';

const monotonous = WatermarkStrategy.forMonotonousTimestamps<unknown>().withTimestamps((value) => value as number);

/** Good records `from` to `to`, both included; record i is the number i and lies behind position i. */
function good(from: number, to: number): readonly EventRecord[] {
  return Array.from({ length: to - from + 1 }, (_, i) => ({ value: from + i, after: { index: from + i, at: from + i } }));
}

const bad = (nth: number, index: number): EventRecord => ({ value: `bad ${nth}`, side: 'malformed', nth, after: { index, at: index } });

const at = (index: number, changes: Partial<SplitProgress> = {}): SplitProgress => ({
  ...unreadSplit(0, { id: 'all' }),
  position: index === 0 ? undefined : { index, at: index },
  ...changes,
});

class Taken {
  readonly log: unknown[] = [];
  readonly intake: SourceIntake;
  readonly #to: SourceTarget = {
    records: (batch, place) => {
      const origin = batch.origins === undefined ? [] : [batch.origins.at(0)];
      this.log.push(['records', batch.count, batch.values[0], `${place.place} ${place.record(0)}`, ...origin]);
    },
    side: (tag, value, cause) => void this.log.push(['side', tag, value, ...(cause === undefined ? [] : [cause])]),
    watermark: (timestamp) => void this.log.push(['watermark', timestamp]),
  };

  constructor(splits: readonly SplitProgress[], changes: Partial<SourceIntakeOptions> = {}) {
    const head = { splits, watermark: noWatermark };
    this.intake = new SourceIntake({ head, uid: 'in', watermarks: undefined, isEager: false, origins: undefined, ...changes });
  }

  take(records: readonly EventRecord[], p: { split?: number; isLast?: boolean; isReplay?: boolean } = {}) {
    return this.intake.take({ split: 0, isLast: false, isReplay: false, ...p, records }, this.#to);
  }

  get split(): SplitProgress {
    return this.intake.parts().splits[0] as SplitProgress;
  }
}

const nowhere: SourceTarget = { records: () => undefined, side: () => undefined, watermark: () => undefined };

describe('records of an event', () => {
  test('S1: are taken once, however events overlap', () => {
    const t = new Taken([at(0)]);
    expect(t.take(good(1, 3))).toEqual({ kind: 'all' });
    expect(t.take(good(2, 5))).toEqual({ kind: 'all' });
    expect(t.log).toEqual([
      ['records', 3, 1, 'in/all 0'],
      ['records', 2, 4, 'in/all 3'],
    ]);
    expect(t.split.position).toEqual({ index: 5, at: 5 });
  });

  test('S1: that were all taken before change nothing', () => {
    const t = new Taken([at(5)]);
    expect(t.take(good(1, 5))).toEqual({ kind: 'all' });
    expect(t.intake.hasChanged).toBe(false);
    expect(t.log).toEqual([]);
  });

  test('S1: behind a gap stay where they are, and those before it are taken', () => {
    const t = new Taken([at(2)]);
    expect(t.take(good(4, 5))).toEqual({ kind: 'gap', count: 0 });
    expect(t.intake.hasChanged).toBe(false);
    expect(t.take([...good(3, 4), ...good(6, 7)], { isLast: true })).toEqual({ kind: 'gap', count: 2 });
    expect(t.split).toMatchObject({ position: { index: 4 }, hasEnded: false });
  });

  test('S2: wait while a replay is due, and the replay does not', () => {
    const t = new Taken([at(2, { replayUntil: 5 })]);
    expect(t.take(good(3, 4))).toEqual({ kind: 'replay-first' });
    expect(t.take(good(3, 5), { isReplay: true })).toEqual({ kind: 'all' });
    expect(t.take(good(6, 7))).toEqual({ kind: 'all' });
  });

  test('S2: wait until the replay has read what is malformed behind the last good one, or has been told that it is there no more', () => {
    const comparePlaces = (a: unknown, b: unknown): number => Number(a) - Number(b);
    const replayEnds = () => ({ place: 7, comparePlaces });
    const t = new Taken([at(2, { replayUntil: 2 })], { comparePlaces, replayEnds });
    expect(t.take(good(3, 3))).toEqual({ kind: 'replay-first' });
    t.intake.take({ split: 0, records: [], isLast: false, isReplay: true, through: 7 }, nowhere);
    expect(t.split.position).toEqual({ index: 2, at: 7 });
    expect(t.take([{ value: 3, after: { index: 3, at: 8 } }])).toEqual({ kind: 'all' });
  });

  test('of a split that the subtask does not read are not taken', () => {
    expect(new Taken([at(0)]).take(good(1, 1), { split: 4 })).toEqual({ kind: 'unknown-split' });
  });

  test('leave the head as it was', () => {
    const split = at(0);
    const before = structuredClone(split);
    new Taken([split]).take(good(1, 3), { isLast: true });
    expect(split).toEqual(before);
  });

  test('the last ones end their split, also when only that is news', () => {
    const t = new Taken([at(0), { ...at(0), ordinal: 1 }]);
    t.take(good(1, 2), { isLast: true });
    expect(t.split.hasEnded).toBe(true);
    expect(t.intake.hasEnded).toBe(false);
    expect(t.take([], { split: 1, isLast: true })).toEqual({ kind: 'all' });
    expect(t.intake.hasEnded).toBe(true);
  });

  test('that carry origins are named by source, split and index', () => {
    const t = new Taken([at(2)], { origins: 'in/' });
    t.take([bad(0, 3), ...good(3, 3)]);
    expect(t.log).toEqual([
      ['side', 'malformed', 'bad 0', 'in/all/malformed-0'],
      ['records', 1, 3, 'in/all 2', 'in/all/2'],
    ]);
  });
});

describe('malformed records', () => {
  test('go with the good one behind them, once', () => {
    const t = new Taken([at(0)]);
    const event = [bad(0, 1), ...good(1, 1), bad(1, 2), bad(2, 2), ...good(2, 2)];
    t.take(event);
    t.take(event);
    expect(t.log).toEqual([
      ['side', 'malformed', 'bad 0'],
      ['side', 'malformed', 'bad 1'],
      ['side', 'malformed', 'bad 2'],
      ['records', 2, 1, 'in/all 0'],
    ]);
    expect(t.split.malformed).toBe(3);
  });

  test('at the end of an event are told apart by their number, though the count of good ones stands still', () => {
    const t = new Taken([at(4)]);
    const end = { ...bad(0, 4), after: { index: 4, at: 'behind the first' } };
    const more = { ...bad(1, 4), after: { index: 4, at: 'behind the second' } };
    t.take([end]);
    t.take([end, more]);
    expect(t.log).toHaveLength(2);
    expect(t.split).toMatchObject({ malformed: 2, position: { index: 4, at: 'behind the second' } });
  });

  test('before a gap stay with the good one that they belong to', () => {
    const t = new Taken([at(0)]);
    expect(t.take([...good(1, 1), bad(0, 3), ...good(3, 3)])).toEqual({ kind: 'gap', count: 1 });
    expect(t.split).toMatchObject({ malformed: 0, position: { index: 1 } });
  });
});

describe('S3: however records come in events', () => {
  test('batches are cut, and watermarks made, at the same counts of the split', () => {
    const whole = new Taken([at(0)], { watermarks: monotonous });
    whole.take(good(1, batchRecordsMax + 10));
    expect(whole.log).toEqual([
      ['records', batchRecordsMax, 1, 'in/all 0'],
      ['watermark', batchRecordsMax - 1],
      ['records', 10, batchRecordsMax + 1, `in/all ${batchRecordsMax}`],
    ]);
    const parts = new Taken([at(0)], { watermarks: monotonous });
    parts.take(good(1, 1000));
    parts.take(good(1001, batchRecordsMax + 10));
    const watermarks = (t: Taken) => t.log.filter((entry) => (entry as unknown[])[0] === 'watermark');
    expect(watermarks(parts)).toEqual(watermarks(whole));
    expect(parts.split).toEqual(whole.split);
  });

  test('an eager source makes a watermark of each event', () => {
    const t = new Taken([at(0)], { watermarks: monotonous, isEager: true });
    t.take(good(1, 3));
    expect(t.log.at(-1)).toEqual(['watermark', 2]);
  });
});

describe('S4: the watermark', () => {
  test('is the minimum over the splits that go on, one that was not begun holding it back', () => {
    const t = new Taken([at(0), { ...at(0), ordinal: 1 }, { ...at(0), ordinal: 2 }], { watermarks: monotonous, isEager: true });
    t.take(good(1, 9));
    t.take(good(1, 5), { split: 1 });
    expect(t.log.filter((entry) => (entry as unknown[])[0] === 'watermark')).toEqual([]);
    t.take([], { split: 2, isLast: true });
    expect(t.log.at(-1)).toEqual(['watermark', 4]);
    t.take([], { split: 1, isLast: true });
    expect(t.log.at(-1)).toEqual(['watermark', 8]);
    expect(t.intake.parts().watermark).toBe(8);
  });

  test('never goes back', () => {
    const t = new Taken([at(0)], { watermarks: monotonous, isEager: true, head: { splits: [at(0)], watermark: 100 } });
    t.take(good(1, 3));
    expect(t.log).toEqual([['records', 3, 1, 'in/all 0']]);
  });
});

describe('records made of what a reader hands out', () => {
  const source = indexedSource('numbers', 3, (index) => index + 1);

  test('have their positions, and the last ones say so', async () => {
    const reader = source.open({ id: 'all' }, undefined, undefined as unknown as SourceContext);
    expect(await readRecords(reader, { recordsMax: 2, malformed: 0 })).toEqual({ records: good(1, 2), isLast: false });
    expect(await readRecords(reader, { recordsMax: 9, malformed: 0 })).toEqual({ records: good(3, 3), isLast: true });
    expect(await readRecords(reader, { recordsMax: 9, malformed: 0 })).toEqual({ records: [], isLast: true });
  });

  /** Hands out the script's polls: `b` a malformed record, `g` a good one, `-` nothing loaded. */
  function scripted(script: readonly string[]): SplitReader<unknown> {
    const left = [...script];
    let index = 0;
    let place = 0;
    return {
      poll(out) {
        const step = left.shift() ?? '';
        const before = out.count;
        for (const kind of step) {
          place += 1;
          if (kind === 'b') out.side({ id: 'malformed' } as never, `bad ${place}`);
          if (kind !== 'g') continue;
          index += 1;
          out.values[out.count++] = index;
        }
        return out.count - before;
      },
      ready: async () => {},
      get hasEnded() {
        return left.length === 0;
      },
      position: () => ({ index, at: place }),
      close: () => {},
    };
  }

  test('keep malformed ones with the good one that came in the same call', () => {
    const reader = scripted(['bbg', 'g', 'b', 'g']);
    expect(pollRecords(reader, { recordsMax: 9, malformed: 4 })).toEqual({
      records: [
        { value: 'bad 1', side: 'malformed', nth: 4, after: { index: 1, at: 3 } },
        { value: 'bad 2', side: 'malformed', nth: 5, after: { index: 1, at: 3 } },
        { value: 1, after: { index: 1, at: 3 } },
        { value: 2, after: { index: 2, at: 4 } },
        { value: 'bad 5', side: 'malformed', nth: 6, after: { index: 2, at: 5 } },
      ],
      isLast: false,
    });
    expect(pollRecords(reader, { recordsMax: 9, malformed: 7 })).toEqual({
      records: [{ value: 3, after: { index: 3, at: 6 } }],
      isLast: true,
    });
  });

  test('are waited for', async () => {
    expect(await readRecords(scripted(['-', '-', 'g', 'g']), { recordsMax: 1, malformed: 0 })).toEqual({
      records: [{ value: 1, after: { index: 1, at: 3 } }],
      isLast: false,
    });
  });
});
