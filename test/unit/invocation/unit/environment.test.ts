import { describe, expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess, valueState, WatermarkStrategy } from '../../../../lib/index.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

interface Click {
  readonly user: string;
  readonly at: number;
}

const clicks: readonly Click[] = Array.from({ length: 40 }, (_, at) => ({ user: `u${at % 7}`, at }));

const counting = keyedProcess({
  state: { seen: valueState({ default: () => 0 }) },
  processElement(click: Click, ctx, out: Collector<string>) {
    const seen = ctx.state.seen.value() + 1;
    ctx.state.seen.update(seen);
    out.collect(`${click.user} ${seen}`);
  },
});

/** Clicks of a user in each ten milliseconds of event time. */
const windowing = keyedProcess({
  state: { seen: valueState({ default: () => 0 }) },
  processElement({ at }: Click, ctx, _out: Collector<string>) {
    ctx.state.seen.update(ctx.state.seen.value() + 1);
    ctx.timerService.registerEventTimeTimer(Math.floor(at / 10) * 10 + 9);
  },
  onTimer(at: number, ctx, out: Collector<string>) {
    out.collect(`${ctx.getCurrentKey()} ${at} ${ctx.state.seen.value()}`);
    ctx.state.seen.clear();
  },
});

function expected(): readonly string[] {
  const seen = new Map<string, number>();
  return clicks.map(({ user }) => {
    const n = (seen.get(user) ?? 0) + 1;
    seen.set(user, n);
    return `${user} ${n}`;
  });
}

describe('a job of units', () => {
  for (const isPartitioned of [true, false]) {
    for (const environments of [1, 3]) {
      test(`${isPartitioned ? 'one stage' : 'two stages'} over ${environments} environments give each row once`, async () => {
        const out = collect<string>();
        const job = defineJob('clicks', (env: Env) => {
          env.setParallelism(isPartitioned ? 1 : 2);
          env.enableCheckpointing('5 s', { numRetained: 2 });
          env
            .fromCollection(clicks, { uid: 'in', ...(isPartitioned ? { partitionedBy: (c: Click) => c.user } : {}) })
            .keyBy((c) => c.user)
            .process(counting)
            .uid('count')
            .sinkTo(out, { uid: 'out' });
        });
        const world = new InvocationWorld({ job, environments });
        await world.run();
        expect([...out.rows].sort()).toEqual([...expected()].sort());
      });
    }
  }

  test('windows close by event time, and at the end', async () => {
    const out = collect<string>();
    const watermarks = WatermarkStrategy.forBoundedOutOfOrderness<Click>(0).withTimestamps((c) => c.at);
    const job = defineJob('windows', (env: Env) => {
      env.enableCheckpointing('5 s');
      env
        .fromCollection(clicks, { uid: 'in', watermarks })
        .keyBy((c) => c.user)
        .process(windowing)
        .uid('window')
        .sinkTo(out, { uid: 'out' });
    });
    const world = new InvocationWorld({ job, environments: 2, batch: 5 });
    await world.run();
    const counts = out.rows.map((row) => Number(row.split(' ')[2]));
    expect(counts.reduce((a, b) => a + b, 0)).toBe(clicks.length);
  });
});
