import { describe, expect, test } from 'vitest';
import { byGroup, type GroupPosition, isSettled, mayForget } from '../../../../lib/invocation/poison/lane.ts';

const position: GroupPosition = { group: 'a', sequence: 5n, sentMs: 1_000 };

test('a delivery is split by group, in order of the first record of each', () => {
  const records = [
    { group: 'b', sequence: 1n },
    { group: 'a', sequence: 4n },
    { group: 'b', sequence: 2n },
  ];
  expect(byGroup(records)).toEqual([
    ['b', [records[0], records[2]]],
    ['a', [records[1]]],
  ]);
});

describe('Q1: a record is settled', () => {
  const positions = new Map([['a', position]]);
  const cases = [
    ['at the position of its group', 'a', 5n, true],
    ['below it', 'a', 4n, true],
    ['not above it', 'a', 6n, false],
    ['not by the position of another group', 'b', 4n, false],
  ] as const;
  test.each(cases)('%s', (_, group, sequence, settled) => {
    expect(isSettled(positions, { group, sequence })).toBe(settled);
  });
});

describe('Q2: a position may be forgotten', () => {
  const facts = { retentionMs: 500, invocationMs: 100 };
  const cases = [
    ['not while the queue may hand the record out', 1_500, false],
    ['not while an invocation may hold it', 1_600, false],
    ['after that', 1_601, true],
  ] as const;
  test.each(cases)('%s', (_, nowMs, may) => {
    expect(mayForget(position, { ...facts, nowMs })).toBe(may);
  });
});
