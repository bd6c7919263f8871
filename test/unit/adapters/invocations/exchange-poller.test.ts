import { beforeEach, describe, expect, test } from 'vitest';
import { Bell } from '../../../../lib/adapters/invocations/bell.ts';
import { ExchangePoller } from '../../../../lib/adapters/invocations/exchange-poller.ts';
import { Gate } from '../../../../lib/adapters/invocations/gate.ts';
import { Unanswered } from '../../../../lib/adapters/invocations/worker-pool.ts';
import { SluiceError } from '../../../../lib/core/errors.ts';
import type { Answer, Invocation } from '../../../../lib/invocation/invocation.ts';
import type { Exchange } from '../../../../lib/invocation/ports.ts';
import { FakeService, fakePorts } from '../../../../lib/testing/index.ts';
import { done } from './support/parts.ts';

type Messages = Invocation & { readonly kind: 'messages' };

/** Sleeps are short, and time goes on with them. */
const clock = {
  nowMs: 0,
  now(): number {
    return this.nowMs;
  },
  sleep(ms: number) {
    clock.nowMs += ms;
    return { done: new Promise<void>((resolve) => setImmediate(resolve)), cancel: () => undefined };
  },
};

let service: FakeService;
let gate: Gate;
let delivered: { readonly subtask: string; readonly texts: readonly string[]; readonly isAgain: boolean | undefined }[];

beforeEach(() => {
  clock.nowMs = 0;
  service = new FakeService({ now: () => clock.nowMs });
  gate = new Gate();
  gate.set(true);
  delivered = [];
});

function pollerOf(
  reply: (nth: number) => Answer | Error | Promise<Answer>,
  inFlightMax = 4,
  exchange: Exchange = fakePorts(service).exchange,
): ExchangePoller {
  return new ExchangePoller({
    exchange,
    clock,
    deliver: async (invocation) => {
      const { subtask, messages, isAgain } = invocation as Messages;
      delivered.push({ subtask, texts: messages.map((bytes) => new TextDecoder().decode(bytes)), isAgain });
      const answer = reply(delivered.length);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    bell: new Bell(clock),
    inFlightMax,
    mayGoOn: () => gate.mayGoOn(),
    stopped: gate.over,
  });
}

async function send(group: string, ...texts: readonly string[]): Promise<void> {
  const messages = texts.map((text) => ({ group, id: `${group}/${text}`, bytes: new TextEncoder().encode(text) }));
  expect(await fakePorts(service).exchange.send(messages)).toEqual({ left: [] });
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let turns = 0; !isTrue(); turns++) {
    if (turns > 5_000) throw new Error(`it never came to that: ${JSON.stringify(delivered)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const isEmpty = (): boolean => service.exchange.queued().length === 0;

describe('the mapping of the exchange', () => {
  test('delivers the messages of a group together and in order, and takes them out once they are committed', async () => {
    await send('1-0', 'a', 'b');
    await send('1-1', 'c');
    const run = pollerOf(() => done).run();
    await until(isEmpty);
    gate.end();
    await run;
    expect(delivered.filter(({ subtask }) => subtask === '1-0').flatMap(({ texts }) => texts)).toEqual(['a', 'b']);
    expect(delivered.filter(({ subtask }) => subtask === '1-1').flatMap(({ texts }) => texts)).toEqual(['c']);
  });

  test('hands out again what was refused, or not answered, or only committed in part, and says so', async () => {
    const replies: readonly (Answer | Error)[] = [
      { kind: 'refused', why: 'sealed' },
      new Unanswered('gone'),
      { kind: 'partial', count: 1, why: 'record-failed' },
      done,
    ];
    await send('1-0', 'a', 'b');
    const run = pollerOf((nth) => replies[nth - 1] ?? done).run();
    await until(isEmpty);
    gate.end();
    await run;
    expect(delivered.map(({ texts }) => texts.join(''))).toEqual(['ab', 'ab', 'ab', 'b']);
    expect(delivered.map(({ isAgain }) => isAgain)).toEqual([false, true, true, true]);
  });

  test('looks for more only while few deliveries are under way', async () => {
    await send('1-0', 'a');
    const first = Promise.withResolvers<Answer>();
    const run = pollerOf((nth) => (nth === 1 ? first.promise : done), 1).run();
    await until(() => delivered.length === 1);
    await send('1-1', 'b');
    for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(delivered).toHaveLength(1);
    first.resolve(done);
    await until(isEmpty);
    gate.end();
    await run;
    expect(delivered.at(-1)!.texts).toEqual(['b']);
  });

  test('fails with what another try would meet again', async () => {
    const damaged = new SluiceError('DATA_DAMAGED', { message: 'x', next: 'repair-state' });
    await send('1-0', 'a');
    await expect(pollerOf(() => damaged).run()).rejects.toBe(damaged);
  });

  test('goes on when another process kept the store, and what was not taken out comes again', async () => {
    const exchange = fakePorts(service).exchange;
    const kept = new Set(['receive', 'settle', 'release']);
    const refusedOnce = async <T>(method: string, call: () => Promise<T>): Promise<T> => {
      if (kept.delete(method)) throw new SluiceError('STORE_THROTTLED', { message: 'x', next: 'try-again' });
      return call();
    };
    const shaky: Exchange = {
      send: (messages) => exchange.send(messages),
      receive: (p) => refusedOnce('receive', () => exchange.receive(p)),
      settle: (receipts) => refusedOnce('settle', () => exchange.settle(receipts)),
      release: (p) => refusedOnce('release', () => exchange.release(p)),
    };
    await send('1-0', 'a');
    const run = pollerOf((nth) => (nth === 1 ? { kind: 'refused', why: 'not-running' } : done), 4, shaky).run();
    await until(isEmpty);
    gate.end();
    await run;
    expect([delivered.map(({ texts }) => texts[0]), kept.size]).toEqual([['a', 'a', 'a'], 0]);
  });

  test('delivers nothing while the job stands still', async () => {
    gate.set(false);
    await send('1-0', 'a');
    const run = pollerOf(() => done).run();
    await new Promise((resolve) => setImmediate(resolve));
    expect(delivered).toEqual([]);
    gate.set(true);
    await until(isEmpty);
    gate.end();
    await run;
  });
});
