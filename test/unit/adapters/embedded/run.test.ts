// The engine end to end, in a world of virtual time.

import { describe, expect, test } from 'vitest';
import { collect, defineJob, valueState, type Collector, RestartStrategies, type CollectSink } from '../../../../lib/index.ts';
import { Engine, eventsOf } from '../../../support/engine.ts';
import { at, malformed, timedSource } from '../../../support/timed-source.ts';

describe('an undisturbed run', () => {
  test('counts per key at every parallelism', async () => {
    for (const parallelism of [1, 2, 3, 7]) {
      const out: CollectSink<string> = collect<string>();
      const job = defineJob('counts', (env) => {
        env.enableCheckpointing('50 ms');
        env
          .fromSequence(1, 20_000, { uid: 'numbers' })
          .keyBy((n) => n % 100)
          .process({
            state: { seen: valueState<number>({ default: () => 0 }) },
            processElement(_n, ctx, into: Collector<string>) {
              const seen = ctx.state.seen.value() + 1;
              ctx.state.seen.update(seen);
              if (seen === 200) into.collect(`${ctx.getCurrentKey()}`);
            },
          })
          .uid('seen')
          .sinkTo(out, { uid: 'out' });
      });
      const { result } = await new Engine(parallelism).finish(job, { parallelism });
      expect(result.state).toBe('finished');
      expect(new Set(out.rows).size).toBe(100);
      expect(out.rows.length).toBe(100);
    }
  });
});

describe('what a source sets aside', () => {
  test('a malformed record that lies in a batch not yet full goes to its side output once, also when the attempt is repeated', async () => {
    const good: CollectSink<number> = collect<number>();
    const bad: CollectSink<unknown> = collect<unknown>();
    let hasThrown = false;
    const rows = [...at(0, 1, 2), { at: 0, value: 'x', isMalformed: true }, ...at(1_000, 3, 4)] as never[];
    const job = defineJob('sides', (env) => {
      env.enableCheckpointing('100 ms');
      env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 1, delay: '10 ms' }));
      const source = env.fromSource(timedSource<number>({ a: rows }, { isEager: false }), { uid: 'in' });
      source
        .map((n) => {
          if (n === 3 && !hasThrown) {
            hasThrown = true;
            throw new Error('once');
          }
          return n;
        })
        .sinkTo(good, { uid: 'good' });
      source.getSideOutput(malformed).sinkTo(bad, { uid: 'bad' });
    });
    const { events } = await new Engine().finish(job);
    expect(eventsOf(events, 'restarting')).toHaveLength(1);
    expect(good.rows).toEqual([1, 2, 3, 4]);
    expect(bad.rows).toEqual(['x']);
  });
});
