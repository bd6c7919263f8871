import assert from 'node:assert/strict';
import { sendAll } from '../../../invocation/patience.ts';
import { type Delivery, type Exchange, type OutgoingMessage, sendBytesMax } from '../../../invocation/ports.ts';
import type { SuiteRunner } from '../../suites/file-system-suite.ts';
import { atOnce, isRefused, type MakePorts, type Rule, suiteOf, text, textOf } from './support.ts';

/** Registers the tests of the exchange port for one adapter. */
export const exchangeSuite: (name: string, runner: SuiteRunner, make: MakePorts) => void = suiteOf('the exchange port', (rule) => {
  order(rule);
  flight(rule);
  memory(rule);
  bounds(rule);
});

/**
 * The same for an exchange of streams, whose messages somebody hands out. It remembers no ids, which is no part of what the port promises; the groups
 * `g` and `h`, and `good` and `bad`, have to be in different shards.
 */
export const streamExchangeSuite: (name: string, runner: SuiteRunner, make: MakePorts) => void = suiteOf(
  'the exchange port, without memory',
  (rule) => {
    order(rule);
    flight(rule);
    repeats(rule);
    bounds(rule);
  },
);

const message = (group: string, s: string): OutgoingMessage => ({ group, id: `${group}:${s}`, bytes: text(s) });
const send = (exchange: Exchange, ...messages: readonly OutgoingMessage[]): Promise<void> => sendAll(exchange, messages, atOnce);
const texts = (deliveries: readonly Delivery[]): readonly string[] => deliveries.map((d) => textOf(d.bytes));
const receipts = (deliveries: readonly Delivery[]): readonly string[] => deliveries.map((d) => d.receipt);

function order(rule: Rule): void {
  rule('messages of a group come in the order in which they were accepted, whoever sent them', async ({ ports, elsewhere }) => {
    await send(ports.exchange, message('g', '1'), message('g', '2'));
    await send(elsewhere.exchange, message('g', '3'));
    await send(ports.exchange, message('g', '4'));
    const got = await ports.exchange.receive({ max: 10 });
    assert.deepEqual(texts(got), ['1', '2', '3', '4']);
    assert.deepEqual(
      got.map((d) => [d.group, d.receives]),
      got.map(() => ['g', 1]),
    );
    assert.equal(new Set(receipts(got)).size, 4);
  });

  rule('several receivers empty the queue, each message once and every group in order', async ({ ports, elsewhere }) => {
    const all = Array.from({ length: 60 }, (_, i) => message(`g${i % 5}`, `${i}`));
    await send(ports.exchange, ...all);
    const got = new Map<string, number[]>();
    for (let round = 0, seen = 0; seen < all.length; round++) {
      assert.ok(round < 200, 'the queue gives what it has');
      const { exchange } = round % 2 === 0 ? ports : elsewhere;
      const deliveries = await exchange.receive({ max: 1 + (round % 4) });
      assert.ok(deliveries.length <= 1 + (round % 4));
      for (const d of deliveries) got.set(d.group, [...(got.get(d.group) ?? []), Number(textOf(d.bytes))]);
      await exchange.settle(receipts(deliveries));
      seen += deliveries.length;
    }
    for (const [i, numbers] of [...got].sort().map(([, n], at) => [at, n] as const)) {
      assert.deepEqual(
        numbers,
        Array.from({ length: 12 }, (_, at) => at * 5 + i),
      );
    }
    assert.deepEqual(await ports.exchange.receive({ max: 10 }), []);
  });

  rule('an empty queue gives nothing', async ({ ports: { exchange } }) => {
    assert.deepEqual(await exchange.receive({ max: 10 }), []);
  });
}

function flight(rule: Rule): void {
  rule('a message in flight keeps the later ones of its group back, and no other group', async ({ ports, elsewhere }) => {
    await send(ports.exchange, message('g', '1'), message('g', '2'), message('h', '1'));
    const [first] = await ports.exchange.receive({ max: 1 });
    const others = [...(await elsewhere.exchange.receive({ max: 10 })), ...(await ports.exchange.receive({ max: 10 }))];
    assert.equal(others.filter((d) => d.group === first!.group).length, 0);
    assert.notEqual(others.length, 0);
    await ports.exchange.settle([first!.receipt]);
    await ports.exchange.settle(receipts(others));
    const rest = await elsewhere.exchange.receive({ max: 10 });
    assert.deepEqual(texts(rest), first!.group === 'g' ? ['2'] : []);
  });

  rule('a message that is not settled comes again when its time is over, before the later ones', async (world) => {
    const { exchange } = world.ports;
    await send(exchange, message('g', '1'), message('g', '2'));
    const [first] = await exchange.receive({ max: 1 });
    await world.elapse(world.visibilityMs + 1);
    const again = await world.elsewhere.exchange.receive({ max: 10 });
    assert.deepEqual(texts(again), ['1', '2']);
    assert.deepEqual(
      again.map((d) => d.receives),
      [2, 1],
    );
    assert.notEqual(again[0]!.receipt, first!.receipt);
    await exchange.settle([first!.receipt]); // too old: it may do nothing
    await exchange.settle(receipts(again));
    await world.elapse(world.visibilityMs + 1);
    assert.deepEqual(await exchange.receive({ max: 10 }), []);
  });

  rule('what was settled never comes again; settling again, or what is no receipt, is harmless', async (world) => {
    const { exchange } = world.ports;
    await send(exchange, message('g', '1'), message('g', '2'));
    const [first] = await exchange.receive({ max: 1 });
    await world.elsewhere.exchange.settle([first!.receipt]);
    await exchange.settle([first!.receipt, 'no receipt', '']);
    await exchange.settle([]);
    await world.elapse(world.visibilityMs + 1);
    assert.deepEqual(texts(await exchange.receive({ max: 10 })), ['2']);
  });

  rule('a released message comes again after its delay, and its group waits for it', async (world) => {
    const { exchange } = world.ports;
    await send(exchange, message('g', '1'), message('g', '2'));
    const both = await exchange.receive({ max: 10 });
    await exchange.release({ receipts: [both[0]!.receipt], delayMs: 1_000 });
    await exchange.release({ receipts: [both[1]!.receipt], delayMs: 0 });
    assert.deepEqual(await exchange.receive({ max: 10 }), []);
    await world.elapse(1_001);
    const again = await exchange.receive({ max: 10 });
    assert.deepEqual(texts(again), ['1', '2']);
    await exchange.release({ receipts: receipts(again), delayMs: 0 });
    await world.elapse(1);
    assert.deepEqual(
      (await exchange.receive({ max: 10 })).map((d) => d.receives),
      [3, 3],
    );
  });

  rule('a group that is released again and again does not keep the others from being handed out', async (world) => {
    const { exchange } = world.ports;
    await send(exchange, message('bad', '1'), message('good', '1'));
    const seen = new Set<string>();
    for (let round = 0; round < 20 && !seen.has('good'); round++) {
      const got = await exchange.receive({ max: 1 });
      for (const d of got) seen.add(d.group);
      await exchange.release({ receipts: receipts(got.filter((d) => d.group === 'bad')), delayMs: 1 });
      await world.elapse(2);
    }
    assert.ok(seen.has('good'));
  });
}

function repeats(rule: Rule): void {
  rule('a message that is sent again comes again, behind what was sent meanwhile', async ({ ports: { exchange } }) => {
    await send(exchange, message('g', '1'), message('g', '2'));
    await send(exchange, message('g', '1'));
    assert.deepEqual(texts(await exchange.receive({ max: 10 })), ['1', '2', '1']);
  });
}

function memory(rule: Rule): void {
  rule('messages of one id within the queue’s memory are one, also after it was settled', async (world) => {
    const { exchange } = world.ports;
    await send(exchange, message('g', '1'));
    await send(world.elsewhere.exchange, { ...message('g', '1'), bytes: text('again') }, message('g', '2'));
    const got = await exchange.receive({ max: 10 });
    assert.deepEqual(texts(got), ['1', '2']);
    await exchange.settle(receipts(got));
    await world.elapse(world.dedupMs / 2);
    await send(exchange, message('g', '1'));
    assert.deepEqual(await exchange.receive({ max: 10 }), []);
    await world.elapse(world.dedupMs / 2 + 1);
    await send(exchange, message('g', '1'));
    assert.deepEqual(texts(await exchange.receive({ max: 10 })), ['1']);
  });
}

function bounds(rule: Rule): void {
  rule('bytes of a message are copied on their way in, and there may be none', async ({ ports: { exchange } }) => {
    const bytes = text('as asked');
    await send(exchange, { group: 'g', id: '1', bytes });
    bytes.fill(0);
    await send(exchange, { group: 'g', id: '2', bytes: new Uint8Array(0) });
    assert.deepEqual(texts(await exchange.receive({ max: 10 })), ['as asked', '']);
  });

  rule('a batch over the bounds is refused as a whole', async ({ ports: { exchange } }) => {
    const many = Array.from({ length: 11 }, (_, i) => message('g', `${i}`));
    await isRefused(exchange.send(many));
    await isRefused(exchange.send([]));
    await isRefused(exchange.send([message('g', '1'), { group: 'g', id: '2', bytes: new Uint8Array(sendBytesMax) }]));
    await isRefused(exchange.send([message('g', '1'), { group: '', id: '2', bytes: text('x') }]));
    await isRefused(exchange.send([message('g', '1'), { group: 'g', id: 'i'.repeat(129), bytes: text('x') }]));
    await isRefused(exchange.receive({ max: 0 }));
    await isRefused(exchange.receive({ max: 11 }));
    assert.deepEqual(await exchange.receive({ max: 10 }), []);
    await send(exchange, ...many);
    assert.equal((await exchange.receive({ max: 10 })).length, 10);
  });
}
