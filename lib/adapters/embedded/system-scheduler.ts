// The scheduler of a real run: every runnable subtask gets its turn, and the event loop of Node gets one often enough that files, timers and
// signals do not wait for records.

import type { Scheduler } from '../../core/ports.ts';

const breathEveryMs = 1; // a few batches: a turn of the event loop costs some microseconds, so this costs below one percent

/** Turns in order, a breath each millisecond of work. One per run. */
export function systemScheduler(): Scheduler {
  let turn = 0;
  let breathedAtMs = performance.now();
  const breathed = (): void => {
    breathedAtMs = performance.now(); // after the turn: what the event loop did in it is not work of the engine
  };
  return {
    pick(runnable) {
      turn = (turn + 1) % runnable;
      return turn;
    },
    breathe() {
      if (performance.now() - breathedAtMs < breathEveryMs) return undefined;
      return new Promise<void>((resolve) => setImmediate(resolve)).then(breathed);
    },
  };
}
