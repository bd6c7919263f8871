import { expect, test } from 'vitest';
import { isReplayDue, type ReplayEnd } from '../../../lib/invocation/replay-end.ts';
import { unreadSplit } from '../../../lib/invocation/source-intake.ts';

const comparePlaces = (a: unknown, b: unknown): number => Number(a) - Number(b);

/** Three good records and two malformed ones were read before. */
function isDue(
  read: { readonly index: number; readonly at?: number; readonly malformed?: number; readonly hasEnded?: boolean },
  end?: ReplayEnd,
): boolean {
  const { index, at = index, malformed = 0, hasEnded = false } = read;
  const position = at === 0 ? undefined : { index, at };
  return isReplayDue({ ...unreadSplit(0, { id: 'all' }), position, malformed, hasEnded, replayUntil: 3 }, () => end);
}

test('a replay is due until the split is where its parents were, or has ended', () => {
  expect(isDue({ index: 2 })).toBe(true);
  expect(isDue({ index: 3 })).toBe(false);
  expect(isDue({ index: 0, hasEnded: true })).toBe(false);
});

test('malformed records behind the last good one are a part of it: by their places, or where records are counted by their number', () => {
  const place = { place: 5, comparePlaces };
  expect([3, 4, 5, 6].map((at) => isDue({ index: 3, at }, place))).toEqual([true, true, false, false]);
  expect(isDue({ index: 3, at: 4, hasEnded: true }, place)).toBe(false);
  expect(isReplayDue(unreadSplit(0, { id: 'all' }), () => place)).toBe(true);
  const count = { place: 2, comparePlaces: undefined };
  expect([1, 2, 3].map((malformed) => isDue({ index: 3, malformed }, count))).toEqual([true, false, false]);
});
