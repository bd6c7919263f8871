import { expect, test } from 'vitest';
import { formatBytes, KiB, MiB } from '../../../lib/core/limits.ts';

test('a size is said in the unit that a person would choose', () => {
  expect([0, 1, 1_023, KiB, 1.5 * KiB, 5 * MiB, 2.25 * MiB].map(formatBytes)).toEqual([
    '0 bytes',
    '1 byte',
    '1023 bytes',
    '1 KiB',
    '1.5 KiB',
    '5 MiB',
    '2.3 MiB',
  ]);
});
