// Time and chance of the machine. Everything else in lib/ takes them as arguments, so that the simulator can own both.

import type { Clock, Random } from '../../core/ports.ts';

const sleepMsMax = 2 ** 31 - 1; // a longer timer of Node fires at once

/** The wall clock and timers of this process. A sleep does not keep the process alive once it was cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep(ms) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.min(Math.max(ms, 0), sleepMsMax));
    return {
      done: promise,
      cancel() {
        clearTimeout(timer);
        resolve();
      },
    };
  },
};

/** Chance of this process; not for secrets. */
export const systemRandom: Random = { bits: () => Math.floor(Math.random() * 2 ** 32) };
