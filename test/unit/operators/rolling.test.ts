import { describe, expect, test } from 'vitest';
import type { KeyedFactory } from '../../../lib/api/compositions.ts';
import type { AggregateFunction } from '../../../lib/api/functions.ts';
import { average, count } from '../../../lib/operators/aggregates.ts';
import { rollingExtreme, rollingExtremeBy, rollingSum } from '../../../lib/operators/field-functions.ts';
import { rollingAggregate, rollingReduce } from '../../../lib/operators/reduce.ts';
import { refusal } from '../api/building.ts';
import { KeyedDriver } from './keyed-driver.ts';

/** What comes out for rows of one key. */
function resultsOf(factory: KeyedFactory, rows: readonly unknown[]): readonly unknown[] {
  const d = new KeyedDriver(factory);
  for (const row of rows) d.process('k', row);
  return d.out;
}

const rows = [
  { id: 1, n: 3 },
  { id: 2, n: 1 },
  { id: 3, n: 3 },
  { id: 4, n: 1 },
];

describe('a rolling result', () => {
  test('comes after each record, and the first record of a key is its own', () => {
    const d = new KeyedDriver(rollingReduce((a, b) => `${a}${b}`));
    for (const [key, value] of [
      ['x', 'a'],
      ['y', 'b'],
      ['x', 'c'],
      ['x', 'd'],
    ])
      d.process(key, value);
    expect(d.out).toEqual(['a', 'b', 'ac', 'acd']);
  });

  test('of an aggregate is that of all records so far', () => {
    expect(resultsOf(rollingAggregate(count()), ['a', 'b', 'c'])).toEqual([1, 2, 3]);
    expect(resultsOf(rollingAggregate(average() as AggregateFunction<unknown, unknown, unknown>), [1, 3, 5])).toEqual([1, 2, 3]);
  });

  test('sum, min and max keep the other fields of the first record', () => {
    expect(resultsOf(rollingSum('n'), rows)).toEqual([3, 4, 7, 8].map((n) => ({ id: 1, n })));
    expect(resultsOf(rollingExtreme('least', 'n'), rows)).toEqual([3, 1, 1, 1].map((n) => ({ id: 1, n })));
    expect(resultsOf(rollingExtreme('greatest', 'id'), rows)).toEqual([1, 2, 3, 4].map((id) => ({ id, n: 3 })));
  });

  test('minBy and maxBy give records as they came, of equal ones the first or the last', () => {
    const ids = (factory: KeyedFactory): readonly unknown[] => resultsOf(factory, rows).map((row) => (row as { id: number }).id);
    expect(ids(rollingExtremeBy('least', 'n', true))).toEqual([1, 2, 2, 2]);
    expect(ids(rollingExtremeBy('least', 'n', false))).toEqual([1, 2, 2, 4]);
    expect(ids(rollingExtremeBy('greatest', 'n', true))).toEqual([1, 1, 1, 1]);
    expect(ids(rollingExtremeBy('greatest', 'n', false))).toEqual([1, 1, 3, 3]);
  });

  test('sums bigints exactly, and refuses what cannot be added by naming the field', () => {
    expect(resultsOf(rollingSum('n'), [{ n: 2n ** 64n }, { n: 1n }])).toEqual([{ n: 2n ** 64n }, { n: 2n ** 64n + 1n }]);
    for (const odd of [1, '1', undefined, null]) {
      const error = refusal(() => resultsOf(rollingSum('n'), [{ n: 1n }, { n: odd }]));
      expect([error.code, error.details['field']]).toEqual(['FIELD_NOT_SUMMABLE', 'n']);
    }
  });
});

test('ready aggregates merge as if their records had been added one by one', () => {
  const merged = <I, A, O>(f: AggregateFunction<I, A, O>, a: readonly I[], b: readonly I[]): O => {
    const fold = (values: readonly I[]): A => values.reduce<A>((acc, v) => f.add(v, acc), f.createAccumulator());
    return f.getResult(f.merge(fold(a), fold(b)));
  };
  expect(merged(count(), [1, 2], [3])).toBe(3);
  expect(merged(average(), [1, 2], [6])).toBe(3);
  expect(merged(average(), [], [])).toBeNaN();
});
