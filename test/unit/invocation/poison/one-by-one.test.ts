import { expect, test } from 'vitest';
import { noTimestamp, type RecordBatch } from '../../../../lib/core/batch.ts';
import { listedOrigins } from '../../../../lib/core/origins.ts';
import { OneByOne } from '../../../../lib/invocation/poison/one-by-one.ts';

const batch: RecordBatch = {
  values: ['x', 'y', 'z', 'beyond the count'],
  count: 3,
  keys: [1, 2, 3],
  timestamps: [10, noTimestamp, 30],
  origins: listedOrigins(['o/0', 'o/1', 'o/2']),
};
const at = { place: 'p', record: (index: number) => `4/${index}` };

test('records are handed on one at a time, each with its columns', () => {
  const got: unknown[] = [];
  const one = new OneByOne(() => false);
  one.feed(batch, 1, at, (b, input) => void got.push([b.count, b.values, b.keys, b.timestamps, b.origins?.at(0), input]));
  expect(got).toEqual([
    [1, ['x'], [1], [10], 'o/0', 1],
    [1, ['y'], [2], [noTimestamp], 'o/1', 1],
    [1, ['z'], [3], [30], 'o/2', 1],
  ]);
  expect(one.current).toBeUndefined();
});

test('the one that throws is known, and what it got past', () => {
  const one = new OneByOne(() => false);
  const process = (b: RecordBatch): void => {
    if (b.values[0] === 'y') throw new Error('no');
  };
  expect(() => one.feed(batch, 0, at, process)).toThrow('no');
  expect(one.current).toEqual({ place: 'p', record: '4/1' });
  expect(['4/0', '4/1', '4/2'].map((record) => one.isSettled({ place: 'p', record }))).toEqual([true, false, false]);
});

test('records that letters take the place of are left out and kept', () => {
  const got: unknown[] = [];
  const one = new OneByOne(({ record }) => record === '4/1');
  one.feed(batch, 0, at, (b) => void got.push(b.values[0]));
  expect(got).toEqual(['x', 'z']);
  expect(one.parked.map(({ name, batch: b }) => [name.record, b.values[0]])).toEqual([['4/1', 'y']]);
  expect(one.isSettled({ place: 'p', record: '4/1' })).toBe(true);
});
