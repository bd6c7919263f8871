import { describe, expect, test } from 'vitest';
import { Alignment } from '../../../lib/runtime/alignment.ts';

const complete = (checkpoint: number) => ({ kind: 'complete', checkpoint });

describe('aligned', () => {
  test('a channel waits from its barrier until the last channel has it', () => {
    const a = new Alignment(3, true);
    expect(a.barrier(1, 4).outcome).toEqual({ kind: 'waiting' });
    expect([0, 1, 2].map((c) => a.isBlocked(c))).toEqual([false, true, false]);
    expect(a.barrier(0, 4).outcome).toEqual({ kind: 'waiting' });
    expect([0, 1, 2].map((c) => a.isBlocked(c))).toEqual([true, true, false]);
    expect(a.barrier(2, 4)).toEqual({ outcome: complete(4), gaveUp: [] });
    expect([0, 1, 2].map((c) => a.isBlocked(c))).toEqual([false, false, false]);
    expect(a.isOpen).toBe(false);
  });

  test('one channel never waits', () => {
    const a = new Alignment(1, true);
    expect(a.barrier(0, 1)).toEqual({ outcome: complete(1), gaveUp: [] });
    expect(a.barrier(0, 2)).toEqual({ outcome: complete(2), gaveUp: [] });
  });

  test('A2: a higher barrier on another channel ends the alignment of the lower one, whose barriers are stale from then on', () => {
    const a = new Alignment(2, true);
    a.barrier(0, 5);
    expect(a.barrier(1, 6)).toEqual({ outcome: { kind: 'waiting' }, gaveUp: [5] });
    expect(a.isBlocked(0)).toBe(false);
    expect(a.isBlocked(1)).toBe(true);
    expect(a.barrier(1, 5).outcome).toEqual({ kind: 'stale' });
    expect(a.barrier(0, 6)).toEqual({ outcome: complete(6), gaveUp: [] });
  });

  test('A3: an ended channel counts as having every later barrier', () => {
    const a = new Alignment(3, true);
    expect(a.end(2)).toEqual([]);
    a.barrier(0, 1);
    expect(a.barrier(1, 1).outcome).toEqual(complete(1));
    a.barrier(1, 2);
    expect(a.end(0)).toEqual([2]);
    expect(a.barrier(1, 3).outcome).toEqual(complete(3));
  });

  test('A4: an abort frees what waits, and barriers that come after it are passed over', () => {
    const a = new Alignment(2, true);
    a.barrier(0, 7);
    a.abort(7);
    expect(a.isBlocked(0)).toBe(false);
    expect(a.barrier(1, 7).outcome).toEqual({ kind: 'stale' });
    expect(a.isBlocked(1)).toBe(false);
    a.barrier(1, 8);
    expect(a.barrier(0, 8).outcome).toEqual(complete(8));
  });

  test('A4: an abort that comes before the first barrier, while a lower checkpoint is being aligned, makes its barriers stale', () => {
    const a = new Alignment(2, true);
    a.barrier(0, 4);
    a.abort(5);
    expect(a.isBlocked(0)).toBe(true);
    expect(a.barrier(1, 4).outcome).toEqual(complete(4));
    expect(a.barrier(0, 5).outcome).toEqual({ kind: 'stale' });
    expect(a.isBlocked(0)).toBe(false);
  });

  test('an abort of what is over, or told twice, changes nothing', () => {
    const a = new Alignment(2, true);
    a.barrier(0, 3);
    a.barrier(1, 3);
    a.abort(3);
    a.barrier(0, 4);
    a.abort(3);
    a.abort(2);
    expect(a.isBlocked(0)).toBe(true);
    expect(a.barrier(1, 4).outcome).toEqual(complete(4));
  });
});

describe('not aligned', () => {
  test('no channel waits, and several checkpoints are awaited at once', () => {
    const a = new Alignment(2, false);
    expect(a.barrier(0, 1).outcome).toEqual({ kind: 'waiting' });
    expect(a.barrier(0, 2)).toEqual({ outcome: { kind: 'waiting' }, gaveUp: [] });
    expect(a.isBlocked(0)).toBe(false);
    expect(a.barrier(1, 1)).toEqual({ outcome: complete(1), gaveUp: [] });
    expect(a.barrier(1, 2)).toEqual({ outcome: complete(2), gaveUp: [] });
  });

  test('a completed one ends the lower ones', () => {
    const a = new Alignment(2, false);
    a.barrier(0, 1);
    a.barrier(0, 2);
    expect(a.barrier(1, 2)).toEqual({ outcome: complete(2), gaveUp: [1] });
    expect(a.barrier(1, 1).outcome).toEqual({ kind: 'stale' });
  });

  test('an end may complete several, in order', () => {
    const a = new Alignment(2, false);
    a.barrier(0, 1);
    a.barrier(0, 2);
    expect(a.end(1)).toEqual([1, 2]);
    expect(a.isOpen).toBe(false);
  });

  test('an abort while a higher one is awaited does not bring the aborted one back', () => {
    const a = new Alignment(2, false);
    a.barrier(0, 5);
    a.barrier(0, 6);
    a.abort(5);
    expect(a.barrier(1, 5).outcome).toEqual({ kind: 'stale' });
    expect(a.barrier(1, 6)).toEqual({ outcome: complete(6), gaveUp: [] });
  });
});
