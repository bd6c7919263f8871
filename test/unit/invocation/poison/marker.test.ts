import { describe, expect, test } from 'vitest';
import {
  decideAtEnd,
  decideGuard,
  type MarkedGroup,
  type Marker,
  markerName,
  needsMarker,
  needsNewMarker,
  withoutRun,
} from '../../../../lib/invocation/poison/marker.ts';

const now: MarkedGroup = { generation: 2, group: 'g', first: '7', tries: 1, count: 8 };
const found: Marker = { generation: 2, group: 'g', first: '7', tries: 1, size: 8, ones: 0 };

describe('a marker is needed', () => {
  const cases = [
    ['when some of the records were handed out before, in a warm process too', true, false, true],
    ['when they were not: not even in a cold process', false, true, false],
    ['by a cold process when the source cannot tell', undefined, true, true],
    ['by no warm one when the source cannot tell', undefined, false, false],
  ] as const;
  test.each(cases)('%s', (_, isAgain, isCold, isNeeded) => {
    expect(needsMarker({ isAgain, isCold })).toBe(isNeeded);
  });
});

describe('what is run', () => {
  const cases: readonly (readonly [string, Marker | undefined, MarkedGroup, { size: number; isParked: boolean; ones: number }])[] = [
    ['is everything when nobody died', undefined, now, { size: 8, isParked: false, ones: 0 }],
    ['M5: is half after a death', found, now, { size: 4, isParked: false, ones: 0 }],
    ['M5: is one at least', { ...found, size: 1 }, now, { size: 1, isParked: false, ones: 1 }],
    ['M5: is no more than there is', found, { ...now, count: 2 }, { size: 2, isParked: false, ones: 0 }],
    ['M5: counts runs of one record alone', { ...found, size: 1, ones: 2 }, now, { size: 1, isParked: false, ones: 3 }],
    ['M5: is parked after as many deaths alone as it has tries', { ...found, size: 1, ones: 3 }, now, { size: 1, isParked: true, ones: 4 }],
    ['M5: a single record counts from its first run', undefined, { ...now, count: 1 }, { size: 1, isParked: false, ones: 1 }],
    ['M2: is everything after a death at another record', { ...found, first: '6' }, now, { size: 8, isParked: false, ones: 0 }],
    ['M2: nor does a marker of an older generation count', { ...found, generation: 1 }, now, { size: 8, isParked: false, ones: 0 }],
    ['M2: nor one from before a try that was committed', { ...found, tries: 0 }, now, { size: 8, isParked: false, ones: 0 }],
    ['M2: nor one of another group', { ...found, group: 'h' }, now, { size: 8, isParked: false, ones: 0 }],
    ['M2: nor do deaths alone of another record', { ...found, first: '6', size: 1, ones: 3 }, now, { size: 8, isParked: false, ones: 0 }],
  ];
  test.each(cases)('%s', (_, marker, group, { size, isParked, ones }) => {
    const { generation, first, tries } = group;
    expect(decideGuard(marker, group, 3)).toEqual({ size, isParked, marker: { generation, group: 'g', first, tries, size, ones } });
  });

  test('M5: narrows down to one killer in few deaths', () => {
    let marker: Marker | undefined;
    let deaths = 0;
    for (let done = false; !done && deaths < 50; ) {
      const decision = decideGuard(marker, { ...now, count: 1000 }, 3);
      done = decision.isParked;
      marker = decision.marker;
      deaths += done ? 0 : 1;
    }
    expect(deaths).toBe(12);
  });
});

describe('M6: a run that may still be under way', () => {
  const alone = { ...now, count: 1 };
  const at = (nowMs: number, writer = `w${nowMs}`) => ({ writer, untilMs: nowMs + 30_000, nowMs });
  const marked = (times: readonly number[]): Marker | undefined =>
    times.reduce<Marker | undefined>((marker, ms) => decideGuard(marker, alone, 3, at(ms)).marker, undefined);

  test('is no death, however many deliveries overlap', () => {
    const three = marked([0, 1, 2, 3, 4]);
    expect(three).toMatchObject({ size: 1, ones: 0 });
    expect(decideGuard(three, alone, 3, at(20_000)).isParked).toBe(false);
  });

  test('is one when its invocation must be over', () => {
    const three = marked([0, 1_000, 2_000]);
    expect(decideGuard(three, alone, 3, at(33_999)).isParked).toBe(false); // the third may live
    expect(decideGuard(three, alone, 3, at(34_001)).isParked).toBe(true);
  });

  test('is none when it was taken out by a process that gave up alive', () => {
    const left = withoutRun(marked([0, 1_000, 2_000])!, 'w1000');
    expect(left?.alone?.map(({ writer }) => writer)).toEqual(['w0', 'w2000']);
    expect(decideGuard(left, alone, 3, at(60_000)).isParked).toBe(false);
    expect(withoutRun(left!, 'w1000')).toBeUndefined();
    expect(withoutRun(found, 'w0')).toBeUndefined();
  });

  test('is counted on top of deaths that an older version has counted', () => {
    const older = { ...found, size: 1, ones: 2 };
    const { marker, isParked } = decideGuard(older, alone, 3, at(0));
    expect([marker.ones, isParked]).toEqual([2, false]);
    expect(decideGuard(marker, alone, 3, at(32_001)).isParked).toBe(true);
  });

  test('of a killer that comes again at once ends when there are more than can be under way', () => {
    let marker: Marker | undefined;
    let runs = 0;
    for (let nowMs = 0; ; nowMs += 100) {
      const decision = decideGuard(marker, alone, 3, at(nowMs));
      if (decision.isParked) break;
      marker = decision.marker;
      runs++;
    }
    expect(runs).toBe(9);
  });
});

describe('M3: a second marker in one invocation', () => {
  test('is written only when what it names has changed', () => {
    expect(needsNewMarker(undefined, now)).toBe(true);
    expect(needsNewMarker(found, now)).toBe(false);
    expect(needsNewMarker(found, { ...now, count: 5 })).toBe(false);
    expect(needsNewMarker(found, { ...now, first: '9' })).toBe(true);
    expect(needsNewMarker(found, { ...now, tries: 2 })).toBe(true);
    expect(needsNewMarker(found, { ...now, generation: 3 })).toBe(true);
  });
});

test('M4: a process that lives puts back what it found, and after its commit leaves nothing', () => {
  expect(decideAtEnd({ isCommitted: false, isMine: true })).toBe('restore');
  expect(decideAtEnd({ isCommitted: true, isMine: true })).toBe('remove');
  expect(decideAtEnd({ isCommitted: false, isMine: false })).toBe('leave');
  expect(decideAtEnd({ isCommitted: true, isMine: false })).toBe('leave');
});

test('M1: each group of a subtask has a marker of its own', () => {
  expect(markerName('0-1', 'g')).not.toBe(markerName('0-1', 'h'));
  expect(markerName('0-1', 'g')).toBe('marker/0-1/g');
});
