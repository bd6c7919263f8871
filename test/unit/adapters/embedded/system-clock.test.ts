import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../../lib/adapters/embedded/system-clock.ts';

test('a sleep that is cancelled ends at once, and may be cancelled again', async () => {
  const sleep = systemClock.sleep(1_000_000_000);
  sleep.cancel();
  await sleep.done;
  sleep.cancel();
});

test('a sleep longer than a timer of Node can be does not end at once', async () => {
  const long = systemClock.sleep(Number.POSITIVE_INFINITY);
  const short = systemClock.sleep(0);
  expect(await Promise.race([long.done.then(() => 'long'), short.done.then(() => 'short')])).toBe('short');
  long.cancel();
});

test('bits are unsigned 32-bit numbers', () => {
  for (let i = 0; i < 1_000; i++) {
    const bits = systemRandom.bits();
    expect(bits >>> 0).toBe(bits);
  }
});
