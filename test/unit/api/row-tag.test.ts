import { expect, test } from 'vitest';
import { compareRowTags } from '../../../lib/api/row-tag.ts';

test.each([
  ['an earlier entry', { begunMs: 0, generation: 1, n: 4, index: 0 }, { begunMs: 0, generation: 1, n: 5, index: 0 }, -1],
  [
    'an entry of an earlier generation with a larger number',
    { begunMs: 0, generation: 1, n: 90, index: 0 },
    { begunMs: 0, generation: 2, n: 5, index: 0 },
    -1,
  ],
  ['the same entry delivered again', { begunMs: 0, generation: 2, n: 5, index: 0 }, { begunMs: 0, generation: 2, n: 5, index: 0 }, 0],
  ['an earlier row of the same entry', { begunMs: 0, generation: 2, n: 5, index: 1 }, { begunMs: 0, generation: 2, n: 5, index: 2 }, -1],
  ['a later entry', { begunMs: 0, generation: 2, n: 10, index: 0 }, { begunMs: 0, generation: 2, n: 9, index: 0 }, 1],
  [
    'a generation of a job that was made later',
    { begunMs: 5, generation: 9, n: 90, index: 7 },
    { begunMs: 6, generation: 0, n: 1, index: 0 },
    -1,
  ],
])('a row tag of %s orders the writes', (_what, a, b, sign) => {
  expect(Math.sign(compareRowTags(a, b))).toBe(sign);
  expect(Math.sign(compareRowTags(b, a))).toBe(sign === 0 ? 0 : -sign);
});
