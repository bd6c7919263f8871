// The scheduler of a real run: every runnable subtask gets its turn, and the event loop of Node gets one often enough that files, timers and
// signals do not wait for records.

import type { Scheduler } from '../../core/ports.ts';

const breathEveryMs = 1; // a few batches: a turn of the event loop costs some microseconds, so this costs below one percent

// A checkpoint is dozens of file operations in a row, and each is heard of in a turn of the event loop. Behind user code that takes 50 ms for
// a batch, one turn a batch would make seconds of it; a share of the time that a slow step took lets a whole run of operations through.
const slowStepMs = 4;
const shareForIo = 0.2;
const breathMsMax = 20;

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
    breathe(isAwaitingIo) {
      const workedMs = performance.now() - breathedAtMs;
      if (workedMs < breathEveryMs) return undefined;
      if (isAwaitingIo && workedMs >= slowStepMs) return turnsFor(Math.min(workedMs * shareForIo, breathMsMax)).then(breathed);
      return oneTurn().then(breathed);
    },
  };
}

function oneTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function turnsFor(ms: number): Promise<void> {
  const endMs = performance.now() + ms;
  do await oneTurn();
  while (performance.now() < endMs);
}
