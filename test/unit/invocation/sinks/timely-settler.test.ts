import { expect, test } from 'vitest';
import type { Clock } from '../../../../lib/core/ports.ts';
import type { TransactionSettler } from '../../../../lib/invocation/control.ts';
import { timelySettler } from '../../../../lib/invocation/sinks/timely-settler.ts';
import { transaction } from './support/target.ts';

/** A clock whose sleepers wake when the test says. */
function sleepers(): { readonly clock: Clock; readonly asleep: Set<() => void> } {
  const asleep = new Set<() => void>();
  const sleep = (): ReturnType<Clock['sleep']> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    asleep.add(resolve);
    const cancel = (): void => {
      asleep.delete(resolve);
      resolve();
    };
    return { done: promise, cancel };
  };
  return { clock: { now: () => 0, sleep }, asleep };
}

const never = new Promise<never>(() => {});

test('a target that never answers is given up, by name', async () => {
  const { clock, asleep } = sleepers();
  const settler = timelySettler({ commit: () => never, abort: () => never }, clock);
  for (const what of ['commit', 'abort'] as const) {
    const settling = settler[what](transaction);
    for (const wake of asleep) wake();
    await expect(settling).rejects.toMatchObject({ code: 'SINK_NOT_ANSWERING', message: expect.stringContaining('1/1-0/out/2') });
    asleep.clear();
  }
});

test('whatever a target answers in time is passed on, and no timer is left', async () => {
  const { clock, asleep } = sleepers();
  const inner: TransactionSettler = { commit: () => Promise.reject(new Error('down')), abort: async () => 'committed' };
  const settler = timelySettler(inner, clock);
  await expect(settler.commit(transaction)).rejects.toThrow('down');
  expect(await settler.abort(transaction)).toBe('committed');
  expect(asleep.size).toBe(0);
});
