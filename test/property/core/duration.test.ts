import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../../../lib/core/duration.ts';

test('a duration that was shown is read back exactly, strictly and from outside', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.maxSafeInteger(),
        fc.integer({ min: 0, max: 1_000 }).map((n) => n * 3_600_000),
      ),
      (ms) => {
        const shown = formatDuration(ms);
        expect(parseDuration(shown, { allowNegative: true })).toBe(ms === 0 ? 0 : ms);
        expect(parseDuration(shown.replace(' ', ''), { allowNegative: true, lenient: true })).toBe(ms === 0 ? 0 : ms);
      },
    ),
  );
});

test('any other text is refused by name, never read as something', () => {
  fc.assert(
    fc.property(fc.string(), (s) => {
      if (/^[0-9]+ (ms|s|min|h|d)$/.test(s)) return;
      expect(() => parseDuration(s)).toThrow(expect.objectContaining({ code: 'DURATION_INVALID' }));
    }),
  );
});
