import { describe, expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess } from '../../../../lib/index.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

/** Each record sets a timer of processing time of its key. @param delayMs  from the clock when the record comes */
function timedWorld(p: { readonly delayMs: number; readonly stages: 1 | 2 | 3 }) {
  const out = collect<string>();
  const called = new Set<string>();
  const timed = keyedProcess({
    processElement: (key: string, ctx, _out: Collector<string>) => {
      ctx.timerService.registerProcessingTimeTimer(world.now + p.delayMs);
      ctx.timerService.registerEventTimeTimer(1);
    },
    onTimer: (_at: number, ctx, to: Collector<string>) => {
      called.add(ctx.timeDomain);
      to.collect(`${ctx.timeDomain} ${ctx.getCurrentKey()}`);
    },
  });
  const job = defineJob('timed', (env: Env) => {
    env.enableCheckpointing('5 s');
    const partitioned = p.stages === 1 ? { partitionedBy: (key: string) => key } : {};
    const rows = env
      .fromCollection(['a', 'b'], { uid: 'in', ...partitioned })
      .keyBy((key) => key)
      .process(timed)
      .uid('timed');
    (p.stages === 3 ? rows.rebalance().map((row) => row) : rows).sinkTo(out, { uid: 'out' });
  });
  const world: InvocationWorld = new InvocationWorld({ job, environments: 1, batch: 100 });
  return { world, out, called };
}

describe.each([1, 2, 3] as const)('timers of processing time when the input of %i stage(s) ends', (stages) => {
  test('fire with the end when they are due by then', async () => {
    const { world, out } = timedWorld({ delayMs: -1, stages });
    await world.run();
    expect([...out.rows].sort()).toEqual(['event a', 'event b', 'processing a', 'processing b']);
  });

  test('do not fire behind the end, where their rows would be lost', async () => {
    const { world, out, called } = timedWorld({ delayMs: 1_000, stages });
    await world.run(); // its pulses tick, and the clock goes on with each
    expect([...out.rows].sort()).toEqual(['event a', 'event b']);
    expect([...called]).toEqual(['event']);
  });
});
