import { describe, expect, test } from 'vitest';
import {
  type BarrierChannel,
  barrierAfter,
  completeBarrier,
  isBarrierNew,
  isKnownAborted,
  settledBarrier,
  topBarrier,
} from '../../../lib/invocation/alignment.ts';

/** `5`: barrier 5 has arrived; `0`: none; `'end'`: the channel has ended; `[5]`: it has ended behind barrier 5. */
type Told = number | 'end' | readonly [number];

function channels(...told: readonly Told[]): readonly BarrierChannel[] {
  return told.map((one) => {
    if (one === 'end') return { barrier: 0, hasEnded: true };
    return typeof one === 'number' ? { barrier: one, hasEnded: false } : { barrier: one[0], hasEnded: true };
  });
}

describe('a barrier is complete under alignment', () => {
  const cases: readonly (readonly [sentence: string, told: readonly Told[], complete: number | undefined])[] = [
    ['none has arrived', [0, 0], undefined],
    ['one channel awaits it', [5, 0], undefined],
    ['all channels have it', [5, 5], 5],
    ['L3: an ended channel has it', [5, 'end'], 5],
    ['L3: all have ended and none has arrived', ['end', 'end'], undefined],
    ['L2: another has a lower one', [5, 6], undefined],
    ['L3: an ended channel does not stand in for one that goes on', ['end', 0, 5], undefined],
  ];
  test.each(cases)('%s', (_, told, complete) => {
    expect(completeBarrier(channels(...told), true)).toBe(complete);
  });
});

describe('a barrier is complete without alignment', () => {
  const cases: readonly (readonly [sentence: string, told: readonly Told[], complete: number | undefined])[] = [
    ['none has arrived', [0, 0], undefined],
    ['one channel awaits it', [5, 0], undefined],
    ['L4: the lowest is complete, also when another channel is ahead', [5, 7], 5],
    ['L3: an ended channel has it, whatever it had before', [6, [5]], 6],
    ['L3: an ended channel that had it completes nothing alone', [0, [5]], undefined],
    ['L3: all have ended, behind different barriers', [[5], [6]], 6],
  ];
  test.each(cases)('%s', (_, told, complete) => {
    expect(completeBarrier(channels(...told), false)).toBe(complete);
  });
});

describe('what is awaited on a channel', () => {
  const cases: readonly (readonly [string, number, { top: number; abortedThrough: number; isAligned: boolean }, number])[] = [
    ['the highest barrier stays', 6, { top: 6, abortedThrough: 0, isAligned: true }, 6],
    ['L2: a higher one elsewhere gives it up', 5, { top: 6, abortedThrough: 0, isAligned: true }, 0],
    ['L2: a known abort gives it up', 6, { top: 6, abortedThrough: 6, isAligned: true }, 0],
    ['a known abort of a lower one does not', 6, { top: 6, abortedThrough: 5, isAligned: true }, 6],
    ['L4: without alignment a higher one does not', 5, { top: 6, abortedThrough: 0, isAligned: false }, 5],
    ['L4: without alignment an abort does', 5, { top: 6, abortedThrough: 5, isAligned: false }, 0],
  ];
  test.each(cases)('%s', (_, barrier, facts, settled) => {
    expect(settledBarrier(barrier, facts)).toBe(settled);
  });
});

test('L1: a barrier counts from the epoch on, above what is known to be aborted', () => {
  expect(isBarrierNew(5, { epoch: 6, abortedThrough: 0 })).toBe(false);
  expect(isBarrierNew(6, { epoch: 6, abortedThrough: 0 })).toBe(true);
  expect(isBarrierNew(6, { epoch: 6, abortedThrough: 6 })).toBe(false);
  expect(isBarrierNew(9, { epoch: 6, abortedThrough: 8 })).toBe(true);
});

test('a barrier entry ends what was awaited up to it', () => {
  expect([0, 5, 6, 7].map((barrier) => barrierAfter(barrier, 6))).toEqual([0, 0, 0, 7]);
  expect(topBarrier(channels(5, [6], 0))).toBe(6);
  expect(topBarrier([])).toBe(0);
});

describe('the job item says that a checkpoint was aborted', () => {
  const open = (checkpoint: number) => ({
    checkpoint,
    generation: 2,
    begunMs: 0,
    patienceMs: 0,
    owners: [],
    trigger: 'periodic' as const,
  });
  const item = { generation: 2, begun: 7, open: [open(7)], restoring: undefined };
  const restoring = { checkpoint: 3, generation: 3, epoch: 8, owners: [] };
  const cases = [
    ['begun and not open any more', 6, 2, item, true],
    ['still open', 7, 2, item, false],
    ['not begun as far as the item knows: it was read too early', 8, 2, item, false],
    ['of another generation', 6, 1, item, false],
    ['while a restore voids everything', 6, 2, { ...item, restoring }, false],
  ] as const;
  test.each(cases)('%s', (_, checkpoint, generation, facts, isAborted) => {
    expect(isKnownAborted(checkpoint, generation, facts)).toBe(isAborted);
  });
});
