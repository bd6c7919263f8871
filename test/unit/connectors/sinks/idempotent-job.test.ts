// Jobs with an idempotent sink on the real engine: what stands in the target after failures, crashes and changes.

import { describe, expect, test } from 'vitest';
import {
  type Collector,
  type DataStream,
  defineJob,
  type Env,
  fileSink,
  type Job,
  ndjson,
  RestartStrategies,
  WatermarkStrategy,
} from '../../../../lib/index.ts';
import type { SimulatedProcess } from '../../../../lib/testing/index.ts';
import { Engine, eventsOf } from '../../../support/engine.ts';
import { IdentifiedTarget } from '../../../support/identified-target.ts';
import { at, type Timed, timedSource } from '../../../support/timed-source.ts';

const retained = { externalizedCleanup: 'RETAIN_ON_CANCELLATION' } as const;

function jobOf<T>(target: IdentifiedTarget, build: (env: Env) => DataStream<T>, before?: () => void | Promise<void>): Job {
  return defineJob('rows', (env) => {
    env.enableCheckpointing(100, retained);
    build(env).sinkTo(target.sink(before), { uid: 'out' });
  });
}

/** One row every 50 ms. */
function slowly(count: number, isRereadable = true): (env: Env) => DataStream<number> {
  const source = { ...timedSource<number>({ s: Array.from({ length: count }, (_, i) => at(i * 50, i)).flat() }), isRereadable };
  return (env) => env.fromSource(source, { uid: 'n' });
}

const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `out/n/s/${i}`).sort();

describe('a job with an idempotent sink', () => {
  test('needs a uid for the sink, which is part of every id', async () => {
    const target = new IdentifiedTarget();
    const job = defineJob('rows', (env) => env.fromCollection([1], { uid: 'n' }).sinkTo(target.sink()));
    expect(await new Engine().fail(job)).toMatchObject({ code: 'UID_MISSING' });
  });

  test('has written everything when it ends, without checkpoints too', async () => {
    const target = new IdentifiedTarget();
    const engine = new Engine();
    const job = (process: SimulatedProcess): Job =>
      defineJob('rows', (env) =>
        slowly(5)(env).sinkTo(
          target.sink(() => process.ports.clock.sleep(200).done),
          { uid: 'out' },
        ),
      );
    await engine.finish(job);
    expect(target.ids).toEqual(ids(5));
  });

  test('rows are visible at once, before any checkpoint', async () => {
    const target = new IdentifiedTarget();
    const engine = new Engine();
    const started = engine.start(jobOf(target, slowly(12)));
    engine.world.alarm(90, () => started.process.kill());
    const { events } = await engine.world.run(started.ended);
    expect(eventsOf(events, 'checkpoint-completed')).toEqual([]);
    expect(target.rows.size).toBeGreaterThan(0);
  });

  test.each([0, 30, 130])(
    'after kill -9 rows come again under their ids and none is missing, when a write takes %i ms',
    async (writeMs) => {
      const slow = (target: IdentifiedTarget) => (process: SimulatedProcess) =>
        jobOf(target, slowly(12), writeMs === 0 ? undefined : () => process.ports.clock.sleep(writeMs).done);
      let restored = 0;
      for (let killAt = 90; killAt < 900; killAt += 45) {
        const engine = new Engine(killAt);
        const target = new IdentifiedTarget();
        const first = engine.start(slow(target));
        engine.world.alarm(killAt, () => first.process.kill());
        const { wasKilled } = await engine.world.run(first.ended);
        const { events } = await engine.finish(slow(target), { from: 'latest', parallelism: 2 });
        if (wasKilled && eventsOf(events, 'started')[0]?.restored !== undefined) restored += 1;
        expect(target.ids).toEqual(ids(12));
      }
      expect(restored).toBeGreaterThan(5);
    },
  );

  test('a target that stays down fails the attempt, and after the restart nothing is missing', async () => {
    const target = new IdentifiedTarget();
    const engine = new Engine();
    let refusals = 0;
    const isDown = (): boolean => target.rows.size >= 4 && refusals < 8;
    const ended = await engine.finish(
      jobOf(target, slowly(12), () => {
        if (!isDown()) return;
        refusals += 1;
        throw new Error('the target is down');
      }),
    );
    expect(refusals).toBe(8);
    expect(eventsOf(ended.events, 'restarting')).toHaveLength(1);
    expect(target.ids).toEqual(ids(12));
  });

  test('a target that is down for good fails the job by name, uid and reason', async () => {
    const target = new IdentifiedTarget();
    const job = defineJob('rows', (env) => {
      env.setRestartStrategy(RestartStrategies.none());
      slowly(3)(env).sinkTo(
        target.sink(() => Promise.reject(new Error('the target is down'))),
        { uid: 'out' },
      );
    });
    const error = await new Engine().fail(job);
    expect(`${error.code} ${error.message} ${(error.cause as Error | undefined)?.message}`).toMatch(
      /SINK_NOT_WRITTEN.*the target is down/s,
    );
  });

  test('records that cannot be read again get new ids after a restart, so none replaces another', async () => {
    const engine = new Engine();
    const target = new IdentifiedTarget();
    const first = engine.start(jobOf(target, slowly(12, false)));
    engine.world.alarm(333, () => first.process.kill());
    await engine.world.run(first.ended);
    const before = new Map(target.rows);
    expect(before.size).toBeGreaterThan(2);
    await engine.finish(jobOf(target, slowly(12, false)), { from: 'latest' });
    for (const [id, value] of before) expect(target.rows.get(id)).toBe(value);
    expect(target.rows.size).toBe(target.handed.length);
    expect(new Set(target.rows.values()).size).toBe(12);
  });

  test('C57 ids follow the input, not the chance, the clock and the order of arrival that values follow', async () => {
    const run = async (seed: number): Promise<IdentifiedTarget> => {
      const engine = new Engine(seed);
      const target = new IdentifiedTarget();
      let calls = seed;
      const splits = { a: late(seed, 20), b: late(seed + 1, 20) };
      const job = jobOf(target, (env) =>
        env
          .fromSource(timedSource<string>(splits), { uid: 'n' })
          .keyBy((k) => k)
          .process({
            processElement(k, _ctx, out: Collector<string>) {
              for (let i = 0; i < k.length; i++) out.collect(`${k} ${engine.now} ${++calls}`);
            },
          })
          .uid('p'),
      );
      await engine.finish(job, { parallelism: 2 });
      return target;
    };
    const late = (seed: number, count: number): Timed<string>[] =>
      Array.from({ length: count }, (_, i) => ({ at: i * (1 + (seed % 7)), value: i % 2 === 0 ? 'a' : 'bb' }));
    const [one, ...others] = [await run(1), await run(2), await run(33)];
    for (const other of others) {
      expect(other.ids).toEqual(one.ids);
      expect([...other.rows.values()].sort()).not.toEqual([...one.rows.values()].sort());
    }
  });

  test('a timer set late keeps its identity over a restore between its setting and its firing', async () => {
    const times = [100, 200, 50, 300];
    const build = (env: Env): DataStream<number> =>
      env
        .fromSource(timedSource<number>({ s: times.flatMap((n, i) => at(i * 1_000, n)) }), {
          uid: 'n',
          watermarks: WatermarkStrategy.forMonotonousTimestamps<number>().withTimestamps((n) => n),
        })
        .keyBy(() => 'k')
        .process({
          processElement(n, ctx, _out: Collector<number>) {
            if (n <= 100) ctx.timerService.registerEventTimeTimer(100);
          },
          onTimer: (time, _ctx, out) => out.collect(time),
        })
        .uid('timers');
    const engine = new Engine();
    const target = new IdentifiedTarget();
    const first = engine.start(jobOf(target, build));
    engine.world.alarm(2_700, () => first.process.kill()); // the late record has come, the watermark that fires its timer has not
    expect((await engine.world.run(first.ended)).wasKilled).toBe(true);
    expect(target.ids).toEqual(['out/timers@event/k/100.0']);
    await engine.finish(jobOf(target, build), { from: 'latest' });
    expect(target.ids).toEqual(['out/timers@event/k/100.0', 'out/timers@event/k/100/n/s/2.0']);
  });

  test('does not take the place of a sink whose promise may not be visible yet, unless that may be dropped', async () => {
    const engine = new Engine(388);
    const target = new IdentifiedTarget();
    const toFiles = defineJob('rows', (env) => {
      env.enableCheckpointing(100, retained);
      slowly(16)(env).sinkTo(fileSink<number>({ path: '/out', format: ndjson() }), { uid: 'out' });
    });
    const first = engine.start(toFiles);
    engine.world.alarm(388, () => first.process.kill()); // behind a checkpoint, before its rows are visible
    await engine.world.run(first.ended);
    const job = jobOf(target, slowly(16));
    expect(await engine.fail(job, { from: 'latest' })).toMatchObject({
      code: 'STATE_WITHOUT_OPERATOR',
      message: expect.stringContaining("output that is not yet visible of 'out'"),
    });
    expect(target.ids).toEqual([]);
    await engine.finish(job, { from: 'latest', allowNonRestoredState: true });
    expect(target.ids.length).toBeGreaterThan(0);
  });
});
