import { describe, expect, test } from 'vitest';
import { Chaos } from '../../../../lib/adapters/invocations/chaos.ts';
import type { Invocation } from '../../../../lib/invocation/invocation.ts';
import { seededRandom } from '../../../../lib/testing/index.ts';
import { done, FakeWorker } from './support/parts.ts';

const clock = {
  now: () => 0,
  sleep: () => ({ done: new Promise<void>((resolve) => setImmediate(resolve)), cancel: () => undefined }),
};
const input: Invocation = { kind: 'records', subtask: '0-0', split: 0, records: [], isLast: false };

function chaosOf(seed: number, workers: readonly FakeWorker[], invoke = async () => done): { readonly chaos: Chaos; asked(): number } {
  let asked = 0;
  const counted = async () => {
    asked += 1;
    return invoke();
  };
  const chaos = new Chaos({ random: seededRandom(seed), workers: { invoke: counted, handles: workers }, redeliveryMs: 100, clock });
  return { chaos, asked: () => asked };
}

const events = { message: () => undefined, exit: () => undefined };

describe('faults on purpose', () => {
  test('deliver some events twice and answer each once', async () => {
    const { chaos, asked } = chaosOf(1, []);
    for (let i = 0; i < 200; i++) expect(await chaos.invoke(input)).toEqual(done);
    expect(chaos.done.duplicated).toBeGreaterThan(5);
    expect(chaos.done.redelivered).toBeGreaterThan(5);
    expect(asked()).toBe(200 + chaos.done.duplicated + chaos.done.redelivered);
  });

  test('are a failure only when no copy is answered', async () => {
    let nth = 0;
    const { chaos } = chaosOf(1, [], async () => {
      if (nth++ % 2 === 0) throw new Error('lost');
      return done;
    });
    const results = await Promise.allSettled(Array.from({ length: 100 }, () => chaos.invoke(input)));
    expect(results.some(({ status }) => status === 'fulfilled')).toBe(true);
  });

  test('kill and stop workers, continue every one that was stopped, and end with the run', async () => {
    const workers = [new FakeWorker(1, events), new FakeWorker(2, events)];
    const { chaos } = chaosOf(3, workers);
    const over = Promise.withResolvers<void>();
    const run = chaos.run(over.promise);
    while (chaos.done.killed < 3 || chaos.done.stopped < 3) await new Promise((resolve) => setImmediate(resolve));
    over.resolve();
    await run;
    await new Promise((resolve) => setImmediate(resolve));
    const signals = workers.flatMap((worker) => worker.signals);
    expect(signals.filter((s) => s === 'SIGKILL')).toHaveLength(chaos.done.killed);
    expect(signals.filter((s) => s === 'SIGSTOP')).toHaveLength(chaos.done.stopped);
    expect(signals.filter((s) => s === 'SIGCONT')).toHaveLength(chaos.done.stopped);
  });

  test('are drawn by the seed', async () => {
    const drawn = async (seed: number): Promise<unknown> => {
      const { chaos } = chaosOf(seed, []);
      for (let i = 0; i < 50; i++) {
        await chaos.invoke(input);
        chaos.pulses();
      }
      return chaos.done;
    };
    expect(await drawn(5)).toEqual(await drawn(5));
    expect(await drawn(5)).not.toEqual(await drawn(6));
  });
});
