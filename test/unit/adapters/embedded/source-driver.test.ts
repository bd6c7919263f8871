// The reader of one source subtask: where batches are cut, which position a checkpoint gets, which watermarks follow.

import { describe, expect, test } from 'vitest';
import { freshSplits, type Polled, SourceDriver, type StoredSplit, splitsOf } from '../../../../lib/adapters/embedded/source-driver.ts';
import type { Source, SplitPosition } from '../../../../lib/api/source.ts';
import { WatermarkStrategy } from '../../../../lib/api/watermark.ts';
import { malformed } from '../../../support/timed-source.ts';

/** Splits whose records the test loads; `null` stands for a malformed record. */
class Loaded {
  readonly #rows = new Map<string, (number | null)[]>();
  readonly #ended = new Set<string>();
  readonly opened: string[] = [];
  readonly closed: string[] = [];
  readonly source: Source<number>;

  constructor(isEager = false) {
    this.source = {
      kind: 'loaded',
      isRereadable: true,
      isBounded: true,
      isEager,
      enumerate: () => Promise.resolve([]),
      open: (split, from) => this.#open(split.id, from),
    };
  }

  load(split: string, ...values: (number | null)[]): this {
    this.#rows.set(split, [...(this.#rows.get(split) ?? []), ...values]);
    return this;
  }

  end(...splits: string[]): this {
    for (const split of splits) this.#ended.add(split);
    return this;
  }

  #open(split: string, from: SplitPosition | undefined): ReturnType<Source<number>['open']> {
    this.opened.push(`${split}@${from?.index ?? 0}`);
    let next = (from?.at as number | undefined) ?? 0;
    let index = from?.index ?? 0;
    const rows = (): (number | null)[] => this.#rows.get(split) ?? [];
    const isEnded = (): boolean => this.#ended.has(split) && next >= rows().length;
    return {
      poll(out, max) {
        let given = 0;
        for (; given < max && next < rows().length; next++) {
          const value = rows()[next] as number | null;
          if (value === null) out.side(malformed, `bad ${next}`);
          else {
            out.values[out.count++] = value;
            given++;
          }
        }
        index += given;
        return given;
      },
      ready: () => (next < rows().length || isEnded() ? undefined : new Promise<void>(() => {})),
      get hasEnded() {
        return isEnded();
      },
      position: () => ({ index, at: next }),
      close: () => void this.closed.push(split),
    };
  }
}

const byValue = WatermarkStrategy.forMonotonousTimestamps<unknown>().withTimestamps((v) => v as number);

function driverOf(
  loaded: Loaded,
  splits: readonly StoredSplit[],
  watermarks: WatermarkStrategy<unknown> | null = byValue,
  sides: unknown[] = [],
): SourceDriver {
  return new SourceDriver(
    {
      source: loaded.source,
      context: { job: 'job', uid: 'in', files: undefined as never, clock: undefined as never, countSkipped: () => {} },
      watermarks: watermarks ?? undefined,
      side: (tag: string, value: unknown) => sides.push([tag, value]),
      reservations: undefined,
      countLost: () => {},
    } as never,
    splits,
  );
}

const fresh = (...ids: string[]): readonly StoredSplit[] => freshSplits(ids.map((id) => ({ id })));
const numbers = (from: number, n: number): number[] => Array.from({ length: n }, (_, i) => from + i);
const told = (polled: Polled): string =>
  polled.kind === 'records'
    ? `${polled.batch.values[0]}+${polled.batch.count} wm ${polled.watermark}`
    : polled.kind === 'watermark'
      ? `wm ${polled.watermark}`
      : polled.kind;
const positions = (driver: SourceDriver): unknown =>
  driver
    .stored()
    .map(({ split, position, hasEnded, largest }) => [
      split.id,
      position?.index ?? 0,
      hasEnded,
      largest > Number.MIN_SAFE_INTEGER ? largest : undefined,
    ]);

describe('batches', () => {
  test('are cut at every 1,024th record of a split, however the records come', () => {
    const loaded = new Loaded();
    const driver = driverOf(loaded, fresh('a'));
    loaded.load('a', ...numbers(0, 1_000));
    expect(told(driver.poll())).toBe('nothing');
    loaded.load('a', ...numbers(1_000, 1_500));
    expect(told(driver.poll())).toBe('0+1024 wm 1022');
    expect(told(driver.poll())).toBe('1024+1024 wm 2046');
    expect(told(driver.poll())).toBe('nothing');
    loaded.end('a');
    expect(told(driver.poll())).toBe('2048+452 wm undefined');
    expect(told(driver.poll())).toBe('ended');
    expect(loaded.closed).toEqual(['a']);
    expect(driver.recordsRead).toBe(2_500);
  });

  test('are cut at the same records after a restore in the middle', () => {
    const loaded = new Loaded().load('a', ...numbers(0, 5_000)).end('a');
    const driver = driverOf(loaded, fresh('a'));
    driver.poll();
    driver.poll();
    const again = driverOf(loaded, driver.stored());
    expect([told(again.poll()), told(again.poll())]).toEqual([told(driver.poll()), told(driver.poll())]);
    expect(loaded.opened).toEqual(['a@0', 'a@2048']);
  });

  test('of an eager source hold what there is, with a watermark each', () => {
    const loaded = new Loaded(true);
    const driver = driverOf(loaded, fresh('a'));
    expect(told(driver.poll())).toBe('nothing');
    loaded.load('a', 5, 6);
    expect(told(driver.poll())).toBe('5+2 wm 5');
    expect(told(driver.poll())).toBe('nothing');
    loaded.load('a', 6);
    expect(told(driver.poll())).toBe('6+1 wm undefined');
  });

  test('carry the event times that the strategy reads, or none', () => {
    const polled = driverOf(new Loaded().load('a', 7).end('a'), fresh('a')).poll();
    expect(polled.kind === 'records' && polled.batch.timestamps).toEqual([7]);
    const without = driverOf(new Loaded().load('a', 7).end('a'), fresh('a'), null);
    expect(without.poll()).toMatchObject({ kind: 'records', batch: { timestamps: undefined }, watermark: undefined });
  });

  test('D1: an unfinished one is not in the position: its records are read again', () => {
    const loaded = new Loaded().load('a', ...numbers(0, 1_100));
    const driver = driverOf(loaded, fresh('a'));
    driver.poll();
    expect(told(driver.poll())).toBe('nothing');
    expect(positions(driver)).toEqual([['a', 1_024, false, 1_023]]);
  });
});

describe('malformed records', () => {
  test('D1: leave with their batch, and the position of a checkpoint before it does not know them', () => {
    const sides: unknown[] = [];
    const loaded = new Loaded().load('a', 1, null, 2);
    const driver = driverOf(loaded, fresh('a'), byValue, sides);
    expect(told(driver.poll())).toBe('nothing');
    expect(sides).toEqual([]);
    const before = driver.stored();
    loaded.end('a');
    driver.poll();
    expect(sides).toEqual([['malformed', 'bad 1']]);
    driverOf(loaded, before, byValue, sides).poll();
    expect(sides).toEqual([
      ['malformed', 'bad 1'],
      ['malformed', 'bad 1'],
    ]);
    driverOf(loaded, driver.stored(), byValue, sides).poll();
    expect(sides).toHaveLength(2);
  });

  test('alone are no reason to wait: an eager source hands them out, and a long run of them is cut like records', () => {
    const sides: unknown[] = [];
    const loaded = new Loaded(true);
    const eager = driverOf(loaded, fresh('a'), byValue, sides);
    loaded.load('a', null);
    expect(told(eager.poll())).toBe('nothing');
    expect(sides).toHaveLength(1);
    const many: unknown[] = [];
    const patient = driverOf(new Loaded().load('a', ...new Array<null>(5_000).fill(null)), fresh('a'), byValue, many);
    patient.poll();
    expect(many.length).toBeGreaterThanOrEqual(1_024);
  });
});

describe('splits', () => {
  test('are read one after the other, and D2: the watermark waits for one that was not begun', () => {
    const loaded = new Loaded()
      .load('a', ...numbers(0, 1_024))
      .load('b', ...numbers(500, 2_048))
      .end('a', 'b');
    const driver = driverOf(loaded, fresh('a', 'b'));
    expect(told(driver.poll())).toBe('0+1024 wm undefined');
    expect(told(driver.poll())).toBe('500+1024 wm 1522');
    expect(told(driver.poll())).toBe('1524+1024 wm undefined');
    expect(told(driver.poll())).toBe('ended');
    expect(positions(driver)).toEqual([
      ['a', 1_024, true, 1_023],
      ['b', 2_048, true, 2_547],
    ]);
  });

  test('an empty one is passed over', () => {
    const loaded = new Loaded().load('b', 1).end('a', 'b', 'c');
    const driver = driverOf(loaded, fresh('a', 'b', 'c'));
    expect(told(driver.poll())).toBe('1+1 wm undefined');
    expect(told(driver.poll())).toBe('ended');
    expect(loaded.closed.toSorted()).toEqual(['a', 'b', 'c']);
  });

  test('none at all is an end', () => {
    expect(told(driverOf(new Loaded(), []).poll())).toBe('ended');
  });

  test('one that has ended is not opened again after a restore', () => {
    const loaded = new Loaded()
      .load('a', 1)
      .load('b', ...numbers(2, 3))
      .end('a');
    const driver = driverOf(loaded, fresh('a', 'b'));
    driver.poll();
    const again = driverOf(loaded.end('b'), driver.stored());
    expect(told(again.poll())).toBe('2+3 wm undefined');
    expect(loaded.opened).toEqual(['a@0', 'b@0']);
  });

  test('a restored source stands at the watermark of its checkpoint', () => {
    const loaded = new Loaded().load('a', ...numbers(0, 3_000));
    const driver = driverOf(loaded, fresh('a'));
    expect(driver.restoredWatermark()).toBeUndefined();
    driver.poll();
    driver.poll();
    const again = driverOf(loaded, driver.stored());
    expect(again.restoredWatermark()).toBe(2_046);
    expect(again.restoredWatermark()).toBeUndefined();
    expect(driverOf(loaded, driver.stored(), WatermarkStrategy.noWatermarks<unknown>()).restoredWatermark()).toBeUndefined();
  });

  test('go to subtask (ordinal mod parallelism), each to one, in order', () => {
    const all = fresh('a', 'b', 'c', 'd', 'e');
    const dealt = [0, 1, 2].map((subtask) => splitsOf(all.toReversed(), subtask, 3).map(({ split }) => split.id));
    expect(dealt).toEqual([['a', 'd'], ['b', 'e'], ['c']]);
    expect(splitsOf(all, 6, 7)).toEqual([]);
  });
});
