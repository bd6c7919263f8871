import { describe, expect, test } from 'vitest';
import { byGroup, isSettled, mayForget, positionName } from '../../../../lib/invocation/poison/lane.ts';

const record = (group: string, sequence: bigint) => ({ group, sequence });

describe('records of a lane', () => {
  test('are told apart by group, and keep their order in it', () => {
    const records = [record('a', 1n), record('b', 1n), record('a', 3n), record('a', 2n)];
    expect(byGroup(records)).toEqual([
      ['a', [record('a', 1n), record('a', 3n), record('a', 2n)]],
      ['b', [record('b', 1n)]],
    ]);
  });

  test('have their positions by group', () => {
    expect(positionName(record('a', 1n))).not.toBe(positionName(record('b', 1n)));
  });

  test('are settled up to the position of their group, whatever the size of the number', () => {
    const position = 18850000000000000000000n;
    expect(isSettled(position, record('a', position))).toBe(true);
    expect(isSettled(position, record('a', position - 1n))).toBe(true);
    expect(isSettled(position, record('a', position + 1n))).toBe(false);
    expect(isSettled(undefined, record('a', 1n))).toBe(false);
  });

  test('may be forgotten when the queue has dropped them and nobody can still hold them', () => {
    const facts = { retentionMs: 500, marginMs: 100 };
    const forgets = (nowMs: number) => mayForget(1_000, { ...facts, nowMs });
    expect([1_500, 1_600, 1_601].map(forgets)).toEqual([false, false, true]);
  });
});
