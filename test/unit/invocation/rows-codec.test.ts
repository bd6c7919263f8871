import { expect, test } from 'vitest';
import { emptyBatch, noTimestamp } from '../../../lib/core/batch.ts';
import { listedOrigins } from '../../../lib/core/origins.ts';
import { decodeRows, encodeRows } from '../../../lib/invocation/rows-codec.ts';

const bare = { keys: undefined, timestamps: undefined, origins: undefined };

test('an empty batch keeps the columns that it has', () => {
  expect(decodeRows(encodeRows(emptyBatch(true, true)))).toEqual(emptyBatch(true, true));
  expect(decodeRows(encodeRows(emptyBatch()))).toEqual(emptyBatch());
});

test('entries from the count on are not written', () => {
  const batch = { values: [1, 2, () => 'never looked at'], count: 2, keys: ['a', 'b', 'c'], timestamps: [1, 2, 3], origins: undefined };
  expect(decodeRows(encodeRows(batch))).toEqual({ values: [1, 2], count: 2, keys: ['a', 'b'], timestamps: [1, 2], origins: undefined });
});

test('a value that cannot be stored is refused by its path', () => {
  expect(() => encodeRows({ values: [{ a: () => 1 }], count: 1, ...bare })).toThrow(
    expect.objectContaining({ code: 'VALUE_NOT_ENCODABLE' }),
  );
});

test('times that follow each other have a byte or two each', () => {
  const timestamps = Array.from({ length: 100 }, (_, i) => 1_700_000_000_000 + i * 30);
  const values = timestamps.map(() => 0);
  const without = encodeRows({ values, count: 100, ...bare }).length;
  expect(encodeRows({ values, count: 100, ...bare, timestamps }).length - without).toBeLessThan(110);
});

test('times of every sort come back as they were', () => {
  const timestamps = [0, -0, 5, noTimestamp, 4, 0.5, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 1e300, Number.NaN, -1];
  const back = decodeRows(encodeRows({ values: timestamps.map(() => null), count: timestamps.length, ...bare, timestamps }));
  expect(back.timestamps!.map((t, i) => Object.is(t, timestamps[i]))).toEqual(timestamps.map(() => true));
});

test('origins that begin alike have a few bytes each, and come back as texts', () => {
  const texts = Array.from({ length: 100 }, (_, i) => `orders/shard-000000000003/${1_000_000 + i}`);
  const values = texts.map(() => 0);
  const without = encodeRows({ values, count: 100, ...bare }).length;
  const bytes = encodeRows({ values, count: 100, ...bare, origins: listedOrigins(texts) });
  expect(bytes.length - without).toBeLessThan(450);
  const { origins } = decodeRows(bytes);
  expect(texts.map((_, i) => origins!.at(i))).toEqual(texts);
});
