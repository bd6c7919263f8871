import { describe, expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../../../lib/core/duration.ts';

const refusal = (d: unknown, o?: Parameters<typeof parseDuration>[1]): string => {
  try {
    return `accepted as ${parseDuration(d as number, o)}`;
  } catch (e) {
    expect(e).toMatchObject({ code: 'DURATION_INVALID' });
    return (e as Error).message;
  }
};

describe('a duration', () => {
  test('is whole milliseconds, or digits, one space and a unit', () => {
    expect([0, 250, '0 s', '250 ms', '10 s', '5 min', '2 h', '30 d', '007 s'].map((d) => parseDuration(d))).toEqual([
      0, 250, 0, 250, 10_000, 300_000, 7_200_000, 2_592_000_000, 7_000,
    ]);
  });

  test('is refused in any other spelling', () => {
    for (const d of [
      '10s',
      '10  s',
      ' 10 s',
      '10 s ',
      '10',
      's',
      '',
      '1.5 s',
      '1e3 ms',
      '0x10 s',
      '+1 s',
      '10 S',
      '10 sec',
      '1 w',
      '١ s',
      '10\u00a0s',
      '- 1 s',
    ]) {
      expect(refusal(d), d).toContain('is not a duration');
    }
    for (const d of [Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 53, '99999999999999999999 d', null, undefined, {}, 5n]) {
      expect(refusal(d), String(d)).toContain('is not a duration');
    }
  });

  test('from outside may lack the space, and digits alone are milliseconds, as in flink-conf', () => {
    expect(['10s', '10 s', ' 5min ', '1500', '2h'].map((d) => parseDuration(d, { lenient: true }))).toEqual([
      10_000, 10_000, 300_000, 1_500, 7_200_000,
    ]);
    expect(refusal('10 seconds', { lenient: true })).toContain("write '10 s'");
    expect(refusal('1.5s', { lenient: true })).toContain("'1500 ms'");
  });

  test('is negative only where that is allowed', () => {
    expect([parseDuration('-5 s', { allowNegative: true }), parseDuration(-5, { allowNegative: true }), parseDuration('-0 s')]).toEqual([
      -5_000, -5, 0,
    ]);
    expect([refusal('-5 s'), refusal(-5)]).toEqual([
      "'-5 s' is not a duration; it cannot be negative here",
      '-5 is not a duration; it cannot be negative here',
    ]);
  });

  test('that is refused names the setting, the text and the right form', () => {
    expect(refusal('10s', { name: 'timeout' })).toBe("timeout: '10s' is not a duration; write '10 s'");
    expect(refusal('2 minutes')).toBe("'2 minutes' is not a duration; write '2 min'");
    expect(refusal('soon')).toBe("'soon' is not a duration; write decimal digits, one space and a unit (ms, s, min, h, d), as in '10 s'");
  });
});

test('a duration is shown in the largest unit that divides it', () => {
  expect([0, 1, 999, 1_000, 90_000, 120_000, 3_600_000, 86_400_000, 86_400_001, -5_000].map(formatDuration)).toEqual([
    '0 ms',
    '1 ms',
    '999 ms',
    '1 s',
    '90 s',
    '2 min',
    '1 h',
    '1 d',
    '86400001 ms',
    '-5 s',
  ]);
});
