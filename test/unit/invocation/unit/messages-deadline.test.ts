import { expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess, valueState } from '../../../../lib/index.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

test('messages that do not fit into the time of an invocation are taken as far as it goes, and the rest comes again', async () => {
  const out = collect<string>();
  const slow = keyedProcess({
    state: { n: valueState({ default: () => 0 }) },
    processElement: (key: string, ctx, to: Collector<string>) => {
      world.now += 10_000;
      ctx.state.n.update(ctx.state.n.value() + 1);
      to.collect(`${key} ${ctx.state.n.value()}`);
    },
  });
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
