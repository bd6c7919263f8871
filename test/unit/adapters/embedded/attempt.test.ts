// The loop of an attempt: who steps, when it sleeps, what wakes it, and how it ends. Subtasks are stand-ins that say what the loop may see of one.

import { describe, expect, test } from 'vitest';
import { Attempt, type AttemptHooks, Bell } from '../../../../lib/adapters/embedded/attempt.ts';
import type { EmbeddedPorts } from '../../../../lib/adapters/embedded/run-types.ts';
import type { Subtask } from '../../../../lib/adapters/embedded/subtask.ts';
import type { Plan } from '../../../../lib/graph/plan.ts';

interface StandIn {
  isRunnable: boolean;
  hasFinished: boolean;
  wakeAt: number | undefined;
  readonly isSource: boolean;
  readonly injected: number[];
  readonly aborted: number[];
  step(): void;
}

function standIn(step: (self: StandIn) => void, o: Partial<StandIn> = {}): StandIn {
  const self: StandIn = {
    isRunnable: true,
    hasFinished: false,
    wakeAt: undefined,
    isSource: false,
    injected: [],
    aborted: [],
    step: () => step(self),
    ...o,
  };
  return self;
}

/** A clock that goes on only by sleeping. */
class Hands {
  now = 0;
  readonly slept: number[] = [];
  sleep(ms: number): { done: Promise<void>; cancel(): void } {
    let isCancelled = false;
    this.slept.push(ms);
    const done = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      if (!isCancelled) this.now += ms;
    });
    return { done, cancel: () => void (isCancelled = true) };
  }
}

function attemptOf(standIns: readonly StandIn[], hands = new Hands()): Attempt {
  const ports = {
    clock: { now: () => hands.now, sleep: (ms: number) => hands.sleep(ms) },
    scheduler: { pick: () => 0, breathe: () => undefined },
  } as unknown as EmbeddedPorts;
  const attempt = new Attempt({} as Plan, ports);
  const subtasks = standIns.map((s) => ({
    get isRunnable() {
      return s.isRunnable && !s.hasFinished;
    },
    get hasFinished() {
      return s.hasFinished;
    },
    source: s.isSource ? {} : undefined,
    step: () => s.step(),
    nextWakeAt: () => s.wakeAt,
    injectBarrier: (n: number) => void s.injected.push(n),
    abortCheckpoint: (n: number) => void s.aborted.push(n),
  }));
  attempt.start({ subtasks: subtasks as unknown as Subtask[], tidy: () => Promise.resolve() });
  return attempt;
}

const hooks: AttemptHooks = { tick: () => undefined, isCancelled: () => false };

describe('a bell', () => {
  test('wakes everyone who hears it, once for each ring', async () => {
    const bell = new Bell();
    const woken: string[] = [];
    const hear = (name: string): Promise<void> => bell.hear().then(() => void woken.push(name));
    const both = [hear('a'), hear('b')];
    bell.ring();
    await Promise.all(both);
    expect(woken).toEqual(['a', 'b']);
    const third = hear('c');
    bell.ring();
    bell.ring();
    await third;
    expect(woken).toEqual(['a', 'b', 'c']);
  });
});

describe('the loop', () => {
  test('ends when every subtask has finished', async () => {
    let steps = 0;
    const worker = standIn((self) => {
      steps += 1;
      self.hasFinished = steps === 3;
    });
    expect(await attemptOf([worker]).run(hooks)).toEqual({ kind: 'ended' });
    expect(steps).toBe(3);
  });

  test('A2: makes no step after the first failure, and tells that one', async () => {
    const steps: string[] = [];
    const failing = standIn(() => {
      steps.push('failing');
      throw new Error('first');
    });
    const other = standIn(() => void steps.push('other'));
    const attempt = attemptOf([failing, other]);
    expect(await attempt.run(hooks)).toEqual({ kind: 'failed', error: new Error('first') });
    attempt.fail(new Error('second'));
    expect(await attempt.run(hooks)).toEqual({ kind: 'failed', error: new Error('first') });
    expect(steps).toEqual(['failing']);
  });

  test('a failure that comes from outside wakes it', async () => {
    const attempt = attemptOf([standIn(() => {}, { isRunnable: false })]);
    const end = attempt.run(hooks);
    setImmediate(() => attempt.fail('outside'));
    expect(await end).toEqual({ kind: 'failed', error: 'outside' });
  });

  test('a ring before it sleeps is not lost', async () => {
    const worker = standIn((self) => void (self.hasFinished = true), { isRunnable: false });
    const attempt = attemptOf([worker]);
    let ticks = 0;
    const end = await attempt.run({
      isCancelled: () => false,
      tick: () => {
        ticks += 1;
        if (ticks === 1)
          queueMicrotask(() => {
            worker.isRunnable = true;
            attempt.bell.ring();
          });
        return undefined;
      },
    });
    expect(end).toEqual({ kind: 'ended' });
  });

  test('sleeps until the earliest of what its subtasks and the caller wait for', async () => {
    const hands = new Hands();
    hands.now = 1_000;
    const worker = standIn((self) => void (self.hasFinished = true), { isRunnable: false, wakeAt: 1_500 });
    const attempt = attemptOf([worker, standIn(() => {}, { isRunnable: false, hasFinished: true })], hands);
    await attempt.run({
      isCancelled: () => false,
      tick: () => {
        if (hands.now >= 1_500) worker.isRunnable = true;
        return 200;
      },
    });
    expect(hands.slept.slice(0, 3)).toEqual([200, 200, 100]);
  });

  test('ends as cancelled between two steps', async () => {
    let steps = 0;
    const end = await attemptOf([standIn(() => void steps++)]).run({ tick: () => undefined, isCancelled: () => steps === 2 });
    expect(end).toEqual({ kind: 'cancelled' });
    expect(steps).toBe(2);
  });
});

describe('checkpoints', () => {
  test('A3: a barrier goes to sources and to finished subtasks at once, and to the others when they finish before it is over', async () => {
    const source = standIn(() => {}, { isSource: true, isRunnable: false });
    const finished = standIn(() => {}, { hasFinished: true });
    const middle = standIn((self) => void (self.hasFinished = true));
    const attempt = attemptOf([source, finished, middle]);
    attempt.injectBarrier(1);
    attempt.injectBarrier(2);
    expect([source, finished, middle].map((s) => s.injected)).toEqual([[1, 2], [1, 2], []]);
    attempt.abortCheckpoint(1);
    expect([source, finished, middle].map((s) => s.aborted)).toEqual([[1], [1], [1]]);
    await attempt.run({ ...hooks, isOver: () => middle.hasFinished });
    expect(middle.injected).toEqual([2]);
  });
});
