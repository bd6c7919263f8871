// The engine end to end, in a world of virtual time.

import { describe, expect, test } from 'vitest';
import {
  type Collector,
  type CollectSink,
  collect,
  count,
  defineJob,
  RestartStrategies,
  TumblingEventTimeWindows,
  valueState,
  WatermarkStrategy,
} from '../../../../lib/index.ts';
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

describe('an input that is silent', () => {
  interface Row {
    readonly t: number;
  }

  test('does not hold event time back after its idle time, also while others never pause', async () => {
    const out = collect<string>();
    const seenAt = new Map<string, number>();
    const engine = new Engine();
    const busy = Array.from({ length: 200 }, (_, i) => ({ at: i * 10, value: { t: i * 10 } }));
    const silent = [...at(0, { t: 0 }), ...at(5_000, { t: 5_000 })];
    const job = defineJob('idle', (env) => {
      env.setParallelism(2);
      env
        .fromSource(timedSource<Row>({ busy, silent }), {
          uid: 'in',
          watermarks: WatermarkStrategy.forMonotonousTimestamps<Row>()
            .withTimestamps((r) => r.t)
            .withIdleness('200 ms'),
        })
        .keyBy(() => 'all')
        .window(TumblingEventTimeWindows.of('100 ms'))
        .aggregate(count(), (_key, window, [n]) => `${window.start}:${n}`)
        .uid('windows')
        .map((line) => {
          if (!seenAt.has(line)) seenAt.set(line, engine.now);
          return line;
        })
        .sinkTo(out, { uid: 'out' });
    });
    const { result } = await engine.finish(job);
    expect(result.counters).toEqual({});
    expect(out.rows).toEqual(['0:11', ...Array.from({ length: 19 }, (_, i) => `${(i + 1) * 100}:10`), '5000:1']);
    expect(seenAt.get('0:11')).toBeLessThan(400);
    expect(seenAt.get('1800:10')).toBeLessThan(2_300);
  });
});
