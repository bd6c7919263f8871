// What the runtime relies on of a queue that it is fed from, for each kind of queue.

import assert from 'node:assert/strict';
import type { QueueMessage } from '../../../invocation/invocation.ts';
import type { SuiteRunner } from '../../suites/file-system-suite.ts';
import type { QueueDelivered } from '../fake-queue.ts';

export interface QueueUnderTest {
  readonly queue: {
    send(p: { readonly group: string; readonly body: unknown }): Promise<void> | void;
    receive(p: { readonly max: number }): Promise<readonly QueueDelivered[]> | readonly QueueDelivered[];
    settle(receipts: readonly string[]): Promise<void> | void;
    release(p: { readonly receipts: readonly string[]; readonly delayMs: number }): Promise<void> | void;
  };
  readonly visibilityMs: number;
  readonly retentionMs: number;
  elapse(ms: number): Promise<void> | void;
}

export type MakeQueue = (order: 'fifo' | 'standard') => Promise<QueueUnderTest> | QueueUnderTest;

const receipts = (given: readonly QueueDelivered[]): readonly string[] => given.map(({ receipt }) => receipt);
const messages = (given: readonly QueueDelivered[]): readonly QueueMessage[] => given.map(({ message }) => message);
const bodies = (given: readonly QueueDelivered[]): readonly unknown[] => messages(given).map(({ body }) => body);

/** Registers the tests of a queue for one adapter. */
export function queueSuite(name: string, runner: SuiteRunner, make: MakeQueue): void {
  const rule = (order: 'fifo' | 'standard', title: string, body: (world: QueueUnderTest) => Promise<void>): void =>
    runner.test(`${order}: ${title}`, async () => body(await make(order)));
  runner.describe(`a queue: ${name}`, () => {
    for (const order of ['fifo', 'standard'] as const) ofBoth((title, body) => rule(order, title, body));
    ofFifo((title, body) => rule('fifo', title, body));
    rule('standard', 'a message in flight keeps nothing back', async ({ queue }) => {
      await queue.send({ group: 'g', body: 1 });
      await queue.send({ group: 'g', body: 2 });
      const first = await queue.receive({ max: 1 });
      const second = await queue.receive({ max: 1 });
      assert.deepEqual([...bodies(first), ...bodies(second)].sort(), [1, 2]);
    });
  });
}

type Rule = (title: string, body: (world: QueueUnderTest) => Promise<void>) => void;

function ofBoth(rule: Rule): void {
  rule('a message is the same however often it comes, and says how often it came', async ({ queue, visibilityMs, elapse }) => {
    await queue.send({ group: 'g', body: { n: 1 } });
    const [first] = messages(await queue.receive({ max: 10 }));
    assert.deepEqual(await queue.receive({ max: 10 }), []);
    await elapse(visibilityMs + 1);
    const [second] = messages(await queue.receive({ max: 10 }));
    assert.equal(first?.receives, 1);
    assert.deepEqual(second, { ...first, receives: 2 });
  });

  rule('what is settled comes no more, what is released comes again', async ({ queue }) => {
    await queue.send({ group: 'g', body: 1 });
    await queue.send({ group: 'h', body: 2 });
    const given = await queue.receive({ max: 10 });
    const [one, two] = given.toSorted((a, b) => Number(a.message.body) - Number(b.message.body));
    await queue.settle([one!.receipt]);
    await queue.release({ receipts: [two!.receipt], delayMs: 0 });
    assert.deepEqual(bodies(await queue.receive({ max: 10 })), [2]);
  });

  rule(
    'a message is dropped when its time is over, and no number of receives drops it before',
    async ({ queue, visibilityMs, retentionMs, elapse }) => {
      await queue.send({ group: 'g', body: 1 });
      let receives = 0;
      for (let left = retentionMs - visibilityMs - 1; left > 0; left -= visibilityMs + 1) {
        const [message] = messages(await queue.receive({ max: 10 }));
        receives += 1;
        assert.equal(message?.receives, receives);
        await elapse(visibilityMs + 1);
      }
      assert.ok(receives > 3);
      await elapse(2 * visibilityMs + 2);
      assert.deepEqual(await queue.receive({ max: 10 }), []);
    },
  );
}

function ofFifo(rule: Rule): void {
  rule('the messages of a group come in order, several at once, their numbers growing', async ({ queue }) => {
    for (const body of [1, 2, 3]) await queue.send({ group: 'g', body });
    const given = await queue.receive({ max: 10 });
    assert.deepEqual(bodies(given), [1, 2, 3]);
    const numbers = messages(given).map(({ sequence }) => BigInt(sequence));
    assert.ok(numbers[0]! < numbers[1]! && numbers[1]! < numbers[2]!);
  });

  rule('a message in flight keeps its group back, and no other one', async ({ queue, visibilityMs, elapse }) => {
    for (const group of ['g', 'g', 'h']) await queue.send({ group, body: group });
    const first = await queue.receive({ max: 1 });
    const { group } = first[0]!.message;
    const others = await queue.receive({ max: 10 });
    assert.ok(others.length > 0 && others.every(({ message }) => message.group !== group));
    await elapse(visibilityMs + 1);
    const again = await queue.receive({ max: 10 });
    assert.equal(again.find(({ message }) => message.group === group)?.message.id, first[0]?.message.id);
  });

  rule('a settled message in the middle leaves the order of the others', async ({ queue, visibilityMs, elapse }) => {
    for (const body of [1, 2, 3]) await queue.send({ group: 'g', body });
    const given = await queue.receive({ max: 10 });
    await queue.settle([receipts(given)[0]!]);
    await elapse(visibilityMs + 1);
    assert.deepEqual(bodies(await queue.receive({ max: 10 })), [2, 3]);
  });
}
