import { beforeEach, describe, expect, test } from 'vitest';
import { Unanswered, WorkerPool } from '../../../../lib/adapters/invocations/worker-pool.ts';
import type { Invocation } from '../../../../lib/invocation/invocation.ts';
import { ManualClock } from '../../checkpoint/support/ports.ts';
import { done, FakeWorker, settle } from './support/parts.ts';

const redeliveryMs = 1_000;

let clock: ManualClock;
let workers: FakeWorker[];
let failures: unknown[];
let pool: WorkerPool;

function open(size: number): WorkerPool {
  return new WorkerPool({
    size,
    redeliveryMs,
    clock,
    random: { bits: () => 0 },
    start: (events) => {
      const worker = new FakeWorker(100 + workers.length, events);
      workers.push(worker);
      return worker;
    },
    counted: () => undefined,
    print: () => undefined,
    notice: () => undefined,
    failed: (error) => failures.push(error),
  });
}

beforeEach(() => {
  clock = new ManualClock();
  workers = [];
  failures = [];
});

function ready(...which: readonly number[]): void {
  for (const i of which) workers[i]!.says({ kind: 'ready' });
}

const input = (subtask: string): Invocation => ({ kind: 'records', subtask, split: 0, records: [], isLast: false });
const tick = (subtask: string): Invocation => ({ kind: 'tick', subtask });

describe('the pool of workers', () => {
  test('gives nothing to a worker that has not loaded the job', async () => {
    pool = open(2);
    const answer = pool.invoke(input('0-0'));
    expect(workers.flatMap(({ invocations }) => invocations)).toEqual([]);
    ready(1);
    expect(workers[1]!.invocations).toMatchObject([input('0-0')]);
    workers[1]!.answers();
    expect(await answer).toEqual(done);
  });

  test('gives a worker one invocation at a time, and one that comes later to the worker that is free', () => {
    pool = open(2);
    ready(0, 1);
    for (const subtask of ['a', 'b', 'c']) void pool.invoke(input(subtask)).catch(() => undefined);
    expect(workers.map(({ invocations }) => invocations.length)).toEqual([1, 1]);
    workers[1]!.answers();
    expect(workers.map(({ invocations }) => invocations.length)).toEqual([1, 2]);
  });

  test('prefers the worker that had the subtask before', async () => {
    pool = open(2);
    ready(0);
    const first = pool.invoke(input('a'));
    workers[0]!.answers();
    await first;
    ready(1);
    const [second, third] = [pool.invoke(input('b')), pool.invoke(input('c'))];
    workers[0]!.answers();
    workers[1]!.answers();
    await Promise.all([second, third]);
    void pool.invoke(input('c')).catch(() => undefined);
    expect(workers[1]!.invocations.at(-1)).toMatchObject(input('c'));
  });

  test('hands control invocations out before input that came earlier', () => {
    pool = open(1);
    const calls = [pool.invoke(input('a')), pool.invoke(input('b')), pool.invoke(tick('c'))];
    for (const call of calls) call.catch(() => undefined);
    ready(0);
    expect(workers[0]!.invocations).toEqual([tick('c')]);
  });

  test('replaces a worker that died, and says that nobody knows what became of its invocation', async () => {
    pool = open(1);
    ready(0);
    const answer = pool.invoke(input('a'));
    workers[0]!.events.exit('was ended by SIGKILL');
    await expect(answer).rejects.toThrow(Unanswered);
    expect(workers).toHaveLength(2);
    expect(pool.replaced).toBe(1);
  });

  test('replaces a worker that does not answer in time, and lets it go when it answers after all', async () => {
    pool = open(1);
    ready(0);
    const answer = pool.invoke(input('a'));
    clock.advance(redeliveryMs);
    await expect(answer).rejects.toThrow(/has not answered/);
    expect(workers).toHaveLength(2);
    ready(1);
    workers[0]!.answers();
    expect(workers[0]!.told.at(-1)).toEqual({ kind: 'leave' });
    void pool.invoke(input('a')).catch(() => undefined);
    expect(workers[1]!.invocations).toHaveLength(1);
  });

  test('takes no answer for an invocation that was given up', async () => {
    pool = open(1);
    ready(0);
    const first = pool.invoke(input('a'));
    clock.advance(redeliveryMs);
    await expect(first).rejects.toThrow(Unanswered);
    ready(1);
    const second = pool.invoke(input('a'));
    workers[0]!.answers({ kind: 'refused', why: 'sealed' });
    workers[1]!.answers();
    expect(await second).toEqual(done);
  });

  test('keeps a bounded number of workers that do not answer', async () => {
    pool = open(1);
    for (let i = 0; i < 4; i++) {
      ready(i);
      const answer = pool.invoke(input('a'));
      clock.advance(redeliveryMs);
      await expect(answer).rejects.toThrow(Unanswered);
    }
    expect(workers.filter(({ signals }) => signals.includes('SIGKILL')).length).toBeGreaterThan(0);
    expect(pool.handles.length).toBeLessThanOrEqual(3);
  });

  test('lets no control invocation wait for workers that are all busy or dead', async () => {
    pool = open(1);
    const answer = pool.invoke(tick('a'));
    clock.advance(redeliveryMs);
    await expect(answer).rejects.toThrow('no worker was free');
  });

  test('fails when a worker cannot use the job, and answers nobody any more', async () => {
    pool = open(2);
    const answer = pool.invoke(input('a'));
    workers[0]!.says({ kind: 'unusable', error: { code: 'PLAN_CHANGED', message: 'other', next: 'fix-the-job', details: {} } });
    expect(failures).toMatchObject([{ code: 'PLAN_CHANGED' }]);
    await expect(answer).rejects.toThrow(Unanswered);
    await expect(pool.invoke(input('a'))).rejects.toThrow(Unanswered);
    expect(workers).toHaveLength(2);
  });

  test('replaces a worker that found the store busy when it started, and fails when none ever gets in', () => {
    pool = open(1);
    const busy = {
      code: 'STORE_THROTTLED',
      message: 'the store is being written by another process',
      next: 'try-again',
      details: {},
    } as const;
    const findsItBusy = (): void => {
      const worker = workers.at(-1)!;
      worker.says({ kind: 'unusable', error: busy });
      expect(worker.signals[0]).toBe('SIGKILL');
    };
    findsItBusy();
    expect([workers.length, failures]).toEqual([2, []]);
    for (let i = 0; i < 30 && failures.length === 0; i++) findsItBusy();
    expect(failures).toMatchObject([{ code: 'WORKER_DIED' }]);
  });

  test('fails when workers die again and again before they can work', async () => {
    pool = open(1);
    for (let i = 0; i < 30 && failures.length === 0; i++) workers.at(-1)!.events.exit('ended with 1');
    expect(failures).toMatchObject([{ code: 'WORKER_DIED' }]);
  });

  test('tells what a worker threw', async () => {
    pool = open(1);
    ready(0);
    const answer = pool.invoke(input('a'));
    workers[0]!.says({
      kind: 'failed',
      id: 1,
      error: { code: 'DATA_DAMAGED', message: 'an entry is damaged', next: 'repair-state', details: { subtask: 'a' } },
      counts: {},
    });
    await expect(answer).rejects.toMatchObject({ code: 'DATA_DAMAGED', details: { subtask: 'a' } });
    await settle();
  });
});
