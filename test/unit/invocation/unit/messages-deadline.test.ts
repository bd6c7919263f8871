import { expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess, valueState } from '../../../../lib/index.ts';
import { pulse } from '../../../../lib/invocation/coordinator/pulse.ts';
import type { Answer, EventRecord, Invocation } from '../../../../lib/invocation/invocation.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

/** Counts its records, each of which takes time. */
function slowFor(takeTime: () => void) {
  return keyedProcess({
    state: { n: valueState({ default: () => 0 }) },
    processElement: (key: string, ctx, to: Collector<string>) => {
      takeTime();
      ctx.state.n.update(ctx.state.n.value() + 1);
      to.collect(`${key} ${ctx.state.n.value()}`);
    },
  });
}

test('messages that do not fit into the time of an invocation are taken as far as it goes, and the rest comes again', async () => {
  const out = collect<string>();
  const slow = slowFor(() => (world.now += 10_000));
  const job = defineJob('slow', (env: Env) => {
    env.enableCheckpointing('5 s');
    env
      .fromCollection(['a', 'b', 'c', 'd'], { uid: 'in' })
      .keyBy((key) => key)
      .process(slow)
      .uid('slow')
      .sinkTo(out, { uid: 'out' });
  });
  const world: InvocationWorld = new InvocationWorld({ job, batch: 1 });
  await world.create();
  for (let i = 0; i < 4; i++) await world.feed();
  const deliveries = await world.ports.exchange.receive({ max: 10 });
  const messages = deliveries.map(({ bytes }) => bytes);
  expect(messages).toHaveLength(4);
  const give = () => world.environments[0]!.invoke({ kind: 'messages', subtask: '1-0', messages }, { deadlineMs: world.now + 14_000 });
  // The first run finds out which state it needs, and that takes its time too.
  expect(await give()).toEqual({ kind: 'partial', count: 1, why: 'out-of-time' });
  expect(await give()).toEqual({ kind: 'partial', count: 2, why: 'out-of-time' });
  await world.run();
  expect([...out.rows].sort()).toEqual(['a 1', 'b 1', 'c 1', 'd 1']);
});

test('messages that a barrier sets free together are taken as far as the time goes, too', async () => {
  const out = collect<string>();
  const slow = slowFor(() => (world.now += 10_000));
  const job = defineJob('slow', (env: Env) => {
    env.enableCheckpointing('60 s');
    const [one, other] = ['one', 'other'].map((uid) => env.fromCollection<string>([], { uid }));
    one!
      .union(other!)
      .keyBy(() => 'k')
      .process(slow)
      .uid('slow')
      .sinkTo(out, { uid: 'out' });
  });
  const world: InvocationWorld = new InvocationWorld({ job });
  await world.create();
  const { ports, plan, clock, random, settler } = world;
  const pulseBy = (invoke: (i: Invocation) => Promise<Answer>) => pulse({ ports, plan, control: { invoke }, settler, clock, random });
  const silent = plan.stages.find(({ operators }) => operators[0]!.uid === 'other')!.id;
  const behind = plan.stages.find(({ inputs }) => inputs.length > 0)!.id;
  const read = (n: number): Promise<Answer> => {
    const records: readonly EventRecord[] = [{ value: `r${n}`, after: { index: n + 1, at: n + 1 } }];
    return world.invoke({
      kind: 'records',
      subtask: `${plan.stages.find(({ operators }) => operators[0]!.uid === 'one')!.id}-0`,
      split: 0,
      records,
      isLast: false,
    });
  };
  await read(0);
  while (await world.drain());
  world.now += 60_000;
  // Its barrier has come by one channel; what follows there waits for that of the other.
  for (let i = 0; i < 2; i++)
    await pulseBy(async (i) => (i.subtask === `${silent}-0` ? { kind: 'refused', why: 'contended' } : await world.invoke(i)));
  for (let n = 1; n < 10; n++) await read(n);
  while (await world.drain());
  expect((await world.item()).open).toHaveLength(1);
  expect(out.rows).toEqual([]);
  let longestMs = 0;
  for (let round = 0; round < 20; round++) {
    await pulseBy((i) => world.invoke(i));
    const deliveries = await ports.exchange.receive({ max: 10 });
    if (deliveries.length === 0) continue;
    const beganMs = world.now;
    const messages = deliveries.map(({ bytes }) => bytes);
    const answer = await world.environments[0]!.invoke(
      { kind: 'messages', subtask: `${behind}-0`, messages },
      { deadlineMs: beganMs + 14_000 },
    );
    longestMs = Math.max(longestMs, world.now - beganMs);
    const receipts = deliveries.map(({ receipt }) => receipt);
    if (answer.kind === 'done') await ports.exchange.settle(receipts);
    else await ports.exchange.release({ receipts, delayMs: 0 });
    world.now += 1_000;
  }
  expect(longestMs).toBeGreaterThan(0);
  expect(longestMs).toBeLessThanOrEqual(30_000);
});
