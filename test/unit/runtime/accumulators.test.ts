import { describe, expect, test } from 'vitest';
import type { AggregateFunction } from '../../../lib/api/functions.ts';
import { Accumulators, accumulatorResults } from '../../../lib/runtime/accumulators.ts';

const sum: AggregateFunction<unknown, unknown, unknown> = {
  createAccumulator: () => 0n,
  add: (value, acc) => (acc as bigint) + BigInt(value as number),
  getResult: (acc) => Number(acc),
  merge: (a, b) => (a as bigint) + (b as bigint),
};

describe('accumulators', () => {
  test('are merged over subtasks', () => {
    const subtasks = [1, 2, 3].map((n) => {
      const own = new Accumulators([]);
      own.register('total', sum).add(n);
      return own;
    });
    expect(accumulatorResults(subtasks)).toEqual({ total: 6 });
  });

  test('of one name are one, however often they are asked for', () => {
    const own = new Accumulators([]);
    own.register('total', sum).add(1);
    own.register('total', sum).add(2);
    expect(accumulatorResults([own])).toEqual({ total: 3 });
  });

  test('go on from what several old subtasks had', () => {
    const before = [5, 7].map((n) => {
      const own = new Accumulators([]);
      own.register('total', sum).add(n);
      return own.snapshot();
    });
    const restored = new Accumulators(before.flat());
    restored.register('total', sum).add(1);
    expect(accumulatorResults([restored, new Accumulators([])])).toEqual({ total: 13 });
    expect(accumulatorResults([new Accumulators(restored.snapshot())])).toEqual({});
  });

  test('A1: what was restored to one subtask counts although only another one names it again', () => {
    const before = new Accumulators([]);
    before.register('total', sum).add(40);
    const first = new Accumulators(before.snapshot());
    const second = new Accumulators([]);
    second.register('total', sum).add(2);
    expect(accumulatorResults([first, second])).toEqual({ total: 42 });
  });

  test('that no code names are carried to the next checkpoint', () => {
    const before = new Accumulators([]);
    before.register('total', sum).add(40);
    const again = new Accumulators(new Accumulators(before.snapshot()).snapshot());
    again.register('total', sum);
    expect(accumulatorResults([again])).toEqual({ total: 40 });
  });

  test('may have any name but the empty one', () => {
    const own = new Accumulators([]);
    own.register('__proto__', sum).add(1);
    expect(Object.entries(accumulatorResults([own]))).toEqual([['__proto__', 1]]);
    expect(() => own.register('', sum)).toThrow(/name is text that is not empty/);
  });
});
