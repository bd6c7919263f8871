// Cases of sinks and checkpoints, through the engine: what is visible, and when, whatever happens between a barrier and its completion.

import { afterEach, describe, expect, test } from 'vitest';
import {
  type Collector,
  collect,
  defineJob,
  GenericWriteAheadSink,
  idempotentSink,
  type Job,
  RestartStrategies,
  valueState,
} from '../../lib/index.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';
import { Engine, eventsOf, rootOf } from '../support/engine.ts';
import { RecordedTarget } from '../support/recorded-target.ts';
import { at, timedSource } from '../support/timed-source.ts';

const targets: RecordedTarget[] = [];

function newTarget(): RecordedTarget {
  const target = new RecordedTarget();
  targets.push(target);
  return target;
}

afterEach(() => {
  for (const { violations } of targets.splice(0)) expect(violations).toEqual([]);
});

const tolerant = { tolerableFailures: 100, externalizedCleanup: 'RETAIN_ON_CANCELLATION' } as const;

describe('an aborted checkpoint', () => {
  /** `K=1` lies before the first barrier, `K=2` before the second; the first checkpoint expires. */
  const updates = timedSource<string>({ a: [...at(0, 'K=1'), ...at(150, 'K=2'), ...at(4_000, 'K=3')] });

  test('C05: two-phase commit: the rows of an aborted checkpoint appear with the next one, in order, once', async () => {
    const target = newTarget();
    let isFirst = true;
    const job = defineJob('c05', (env) => {
      env.enableCheckpointing('100 ms', { ...tolerant, timeout: '500 ms' });
      env.fromSource(updates, { uid: 'in' }).sinkTo(
        target.sink({
          async before(what, _name, { clock }) {
            if (what !== 'preCommit' || !isFirst) return;
            isFirst = false;
            await clock.sleep(900).done;
          },
        }),
        { uid: 'out' },
      );
    });
    const { events } = await new Engine().finish(job);
    expect(eventsOf(events, 'checkpoint-failed').map((e) => e.reason)).toEqual([expect.stringContaining('not complete after 500 ms')]);
    expect(target.visible).toEqual(['K=1', 'K=2', 'K=3']);
    expect(target.prepared.size).toBe(0);
  });

  test('C05: idempotent: a key that is written before and after an aborted checkpoint has one row with the latest value', async () => {
    const table = new Map<string, string>();
    const written: string[] = [];
    let declines = 1;
    const job = defineJob('c05', (env) => {
      env.enableCheckpointing('100 ms', tolerant);
      env
        .fromSource(updates, { uid: 'in' })
        .process(() => ({
          initializeState() {},
          snapshotState() {
            if (declines-- > 0) throw new Error('not now');
          },
          processElement: (v: string, _ctx, out: Collector<string>) => out.collect(v),
        }))
        .uid('p')
        .sinkTo(
          idempotentSink<string>({
            write(rows) {
              for (const { id, value } of rows) {
                written.push(id);
                const [key, n] = value.split('=') as [string, string];
                table.set(key, n);
              }
            },
          }),
          { uid: 'out' },
        );
    });
    const { events } = await new Engine().finish(job);
    expect(eventsOf(events, 'checkpoint-failed').map((e) => e.checkpoint)).toEqual([1]);
    expect([...table]).toEqual([['K', '3']]);
    expect(new Set(written).size).toBe(3);
  });

  test('C05: write-ahead: the rows of an aborted checkpoint are sent with the next one, in order, once', async () => {
    const sent: [number, unknown[]][] = [];
    class Wal extends GenericWriteAheadSink<string> {
      override sendValues(values: readonly string[], checkpointId: number): Promise<boolean> {
        sent.push([checkpointId, [...values]]);
        return Promise.resolve(true);
      }
    }
    let declines = 1;
    const job = defineJob('c05', (env) => {
      env.enableCheckpointing('100 ms', tolerant);
      env
        .fromSource(updates, { uid: 'in' })
        .process(() => ({
          initializeState() {},
          snapshotState() {
            if (declines-- > 0) throw new Error('not now');
          },
          processElement: (v: string, _ctx, out: Collector<string>) => out.collect(v),
        }))
        .uid('p')
        .sinkTo(() => new Wal(), { uid: 'out' });
    });
    const { events } = await new Engine().finish(job);
    expect(eventsOf(events, 'checkpoint-failed').map((e) => e.checkpoint)).toEqual([1]);
    expect(sent.flatMap(([, rows]) => rows)).toEqual(['K=1', 'K=2', 'K=3']);
    expect(sent[0]).toEqual([2, ['K=1', 'K=2']]);
  });

  test.each([
    ['the job goes on', 100],
    ['the job recovers', 0],
  ])(
    'C06: a record handled after the sink had prepared for an aborted checkpoint belongs to the next; %s',
    async (_, tolerableFailures) => {
      const target = newTarget();
      let declines = 1;
      const job = defineJob('c06', (env) => {
        env.enableCheckpointing('100 ms', { ...tolerant, tolerableFailures });
        env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 1, delay: '10 ms' }));
        const early = env.fromSource(timedSource<string>({ a: [...at(0, 'a1'), ...at(105, 'a2'), ...at(1_000, 'a3')] }), { uid: 'early' });
        const late = env.fromSource(timedSource<string>({ b: [...at(0, 'b1'), ...at(101, 'b2'), ...at(102, 'b3'), ...at(1_000, 'b4')] }), {
          uid: 'late',
        });
        early.union(late).rebalance().sinkTo(target.sink(), { uid: 'out' });
        // Beside the sink, so that checkpoint 1 is given up although the sink took part.
        early
          .keyBy((v) => v)
          .process(() => ({
            initializeState() {},
            snapshotState({ checkpointId }) {
              if (checkpointId >= 1 && declines-- > 0) throw new Error('not now');
            },
            processElement(_v: string, _ctx, _out: Collector<string>) {},
          }))
          .uid('beside');
      });
      const { events } = await new Engine().finish(job);
      expect(eventsOf(events, 'checkpoint-failed').map((e) => e.checkpoint)).toEqual([1]);
      expect(eventsOf(events, 'restarting').length).toBe(tolerableFailures === 0 ? 1 : 0);
      expect(target.visible.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'b4']);
      expect(target.prepared.size).toBe(0);
    },
  );

  test('C10: everyone releases it, the next one completes, and nothing of it is left to be restored', async () => {
    const target = newTarget();
    let isFirst = true;
    const job = defineJob('c10', (env) => {
      env.setParallelism(3);
      env.enableCheckpointing('100 ms', { ...tolerant, timeout: '300 ms' });
      env
        .fromSource(timedSource<string>({ a: at(0, 'a', 'b', 'c'), b: at(3_000, 'a', 'b', 'c') }), { uid: 'in' })
        .keyBy((v) => v)
        .process({
          state: { n: valueState<number>({ default: () => 0 }) },
          processElement(v, ctx, out: Collector<string>) {
            ctx.state.n.update(ctx.state.n.value() + 1);
            out.collect(`${v}${ctx.state.n.value()}`);
          },
        })
        .uid('count')
        .sinkTo(
          target.sink({
            async before(what, _name, { clock }) {
              if (what !== 'preCommit' || !isFirst) return;
              isFirst = false;
              await clock.sleep(1_000).done;
            },
          }),
          { uid: 'out' },
        );
    });
    const engine = new Engine(4);
    let atCompletion: readonly number[] = [];
    const { events } = await engine.finish(job, {
      on(event) {
        if (event.kind === 'checkpoint-failed') expect(event.checkpoint).toBe(1);
        if (event.kind === 'checkpoint-completed' && atCompletion.length === 0) atCompletion = [event.checkpoint];
      },
    });
    expect(eventsOf(events, 'checkpoint-failed').map((e) => e.checkpoint)).toContain(1);
    expect(atCompletion[0]).toBeGreaterThan(1);
    const attempt = await engine.attemptOf('c10');
    const left = engine.disk.list(attempt).map(({ name }) => name);
    expect(left.filter((name) => /chk-0*1$/.test(name))).toEqual([]);
    expect(await engine.completed('c10')).toHaveLength(1);
    expect(target.visible.toSorted()).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'c2']);
  });

  test('C11: what arrives of it later neither completes the next one nor brings it back', async () => {
    const target = newTarget();
    const finished: string[] = [];
    let slow = 1;
    const job = defineJob('c11', (env) => {
      env.enableCheckpointing('100 ms', { ...tolerant, timeout: '200 ms', maxConcurrentCheckpoints: 3 });
      env
        .fromSource(timedSource<string>({ a: [...at(0, 'x'), ...at(350, 'y'), ...at(5_000, 'z')] }), { uid: 'in' })
        .rebalance()
        .sinkTo(
          target.sink({
            async before(what, name, { clock }) {
              if (what !== 'preCommit' || slow-- <= 0) return;
              await clock.sleep(450).done;
              finished.push(name);
            },
          }),
          { uid: 'out' },
        );
    });
    const { events } = await new Engine(2).finish(job);
    const failed = eventsOf(events, 'checkpoint-failed').map((e) => e.checkpoint);
    const completed = eventsOf(events, 'checkpoint-completed').map((e) => e.checkpoint);
    expect(finished).toHaveLength(1);
    expect(failed).toContain(1);
    expect(completed.filter((n) => failed.includes(n))).toEqual([]);
    expect(completed).toEqual(completed.toSorted((x, y) => x - y));
    expect(target.visible).toEqual(['x', 'y', 'z']);
  });
});

describe('a completed checkpoint', () => {
  test('C07: its promises are kept from the checkpoint alone when every process died before the first commit', async () => {
    for (const parallelism of [1, 2]) {
      const target = newTarget();
      const engine = new Engine(parallelism);
      const job = (process: SimulatedProcess): Job =>
        defineJob('c07', (env) => {
          env.enableCheckpointing('100 ms', tolerant);
          env
            .fromSource(timedSource<number>({ a: [...at(0, 1, 2, 3, 4, 5), ...at(400, 6)] }), { uid: 'in' })
            .rebalance()
            .sinkTo(target.sink({}, process), { uid: 'out' });
        });
      const killed = await engine.run(job, {
        parallelism: 2,
        on(event, { process }) {
          if (event.kind === 'checkpoint-completed') process.kill();
        },
      });
      expect(killed.wasKilled).toBe(true);
      expect(target.visible).toEqual([]);
      expect(target.prepared.size).toBe(2);
      await engine.finish(job, { from: 'latest', parallelism });
      expect(target.visible.toSorted()).toEqual([1, 2, 3, 4, 5, 6]);
      expect(target.prepared.size).toBe(0);
    }
  });

  test('C07: also when it was the last one, of a job that had finished but for its commits', async () => {
    const target = newTarget();
    const engine = new Engine();
    const job = (process: SimulatedProcess): Job =>
      defineJob('c07', (env) => {
        env.enableCheckpointing('1 h', tolerant);
        env.fromCollection([1, 2, 3], { uid: 'in' }).sinkTo(target.sink({}, process), { uid: 'out' });
      });
    await engine.run(job, {
      on(event, { process }) {
        if (event.kind === 'checkpoint-completed') process.kill();
      },
    });
    expect(target.visible).toEqual([]);
    const { result } = await engine.finish(job, { from: 'latest' });
    expect(result.state).toBe('already-finished');
    expect(target.visible).toEqual([1, 2, 3]);
  });

  test.each([
    ['has no splits', {}],
    ['ends after one record', { only: at(0, 'once') }],
    ['ends after one record in the middle of an interval', { only: at(150, 'once') }],
  ])('C09: a source that %s does not stop checkpoints', async (_, splits) => {
    for (const parallelism of [1, 3]) {
      const out = collect<string>();
      const job = defineJob('c09', (env) => {
        env.enableCheckpointing('100 ms', tolerant);
        const quiet = env.fromSource(timedSource<string>(splits), { uid: 'quiet' });
        const busy = env.fromSource(
          timedSource<string>({ a: Array.from({ length: 14 }, (_, i) => ({ at: i * 50, value: `busy ${i}` })) }),
          { uid: 'busy' },
        );
        quiet
          .union(busy)
          .keyBy((v) => v)
          .process({ processElement: (v: string, _ctx, into: Collector<string>) => into.collect(v) })
          .uid('p')
          .sinkTo(out, { uid: 'out' });
      });
      const { events } = await new Engine(parallelism).finish(job, { parallelism });
      expect(eventsOf(events, 'checkpoint-failed')).toEqual([]);
      expect(eventsOf(events, 'checkpoint-completed').length).toBeGreaterThanOrEqual(5);
      expect(out.rows.toSorted()).toEqual(
        [
          ...Object.values(splits).flatMap((rows) => rows.map(({ value }) => value)),
          ...Array.from({ length: 14 }, (_, i) => `busy ${i}`),
        ].toSorted(),
      );
    }
  });

  test('C57: rows of two attempts are never mixed, although the job depends on chance and on its clock', async () => {
    for (const seed of [1, 2, 3]) {
      const target = newTarget();
      const engine = new Engine(seed);
      let attempts = 0;
      let throwsAt = 7_000;
      const job = defineJob('c57', (env) => {
        env.enableCheckpointing('20 ms', tolerant);
        env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 5, delay: '10 ms' }));
        env
          .fromSequence(0, 9_999, { uid: 'in' })
          .process(() => {
            const attempt = ++attempts;
            return {
              initializeState() {},
              snapshotState() {},
              processElement(n: number, _ctx, into: Collector<string>) {
                if (n === throwsAt) {
                  throwsAt = 9_000;
                  if (attempts < 3) throw new Error('again');
                }
                // How many rows there are, and what is in them, is another each time.
                const rows = 1 + Math.floor(Math.random() * 3);
                for (let i = 0; i < rows; i++) into.collect(`${n} ${attempt} ${i} of ${rows}`);
              },
            };
          })
          .uid('p')
          .sinkTo(target.sink(), { uid: 'out' });
      });
      const { events } = await engine.finish(job);
      expect(eventsOf(events, 'restarting').length).toBeGreaterThan(0);
      const byInput = new Map<string, string[][]>();
      for (const row of target.visible as string[]) {
        const [n, attempt, i, , rows] = row.split(' ') as [string, string, string, string, string];
        byInput.set(n, [...(byInput.get(n) ?? []), [attempt, i, rows]]);
      }
      expect(byInput.size).toBe(10_000);
      for (const rows of byInput.values()) {
        expect(new Set(rows.map(([attempt]) => attempt)).size).toBe(1);
        expect(rows.map(([, i]) => Number(i))).toEqual(Array.from({ length: Number(rows[0]?.[2]) }, (_, i) => i));
      }
    }
  });
});

describe('rows that are visible at once', () => {
  test('C07: have after a kill and a restore at another parallelism the ids that they had before, so that each is in the target once', async () => {
    for (const [before, after] of [
      [1, 3],
      [3, 1],
      [2, 2],
    ] as const) {
      const engine = new Engine(before * 10 + after);
      const target = new Map<string, string>();
      let writes = 0;
      const job = (process: SimulatedProcess): Job =>
        defineJob('ids', (env) => {
          env.enableCheckpointing('100 ms', tolerant);
          const splits = Object.fromEntries(
            ['a', 'b'].map((id) => [id, Array.from({ length: 40 }, (_, i) => ({ at: i * 10, value: `${id}${i}` }))]),
          );
          env
            .fromSource(timedSource<string>(splits), { uid: 'in' })
            .keyBy((v) => v.slice(1))
            .process({
              state: { seen: valueState<string>({ default: () => '' }) },
              processElement(v, ctx, out: Collector<string>) {
                ctx.state.seen.update([...ctx.state.seen.value(), v[0]].toSorted().join(''));
                out.collect(v);
                ctx.timerService.registerEventTimeTimer(1);
              },
              onTimer: (_at, ctx, out) => out.collect(`${ctx.getCurrentKey()} ${ctx.state.seen.value()}`),
            })
            .uid('p')
            .sinkTo(
              idempotentSink<string>({
                write: (rows) =>
                  process.call('target.write', '', () => {
                    for (const { id, value } of rows) {
                      writes++;
                      expect(target.get(id) ?? value).toBe(value);
                      target.set(id, value);
                    }
                  }),
              }),
              { uid: 'out' },
            );
        });
      await engine.run(job, {
        parallelism: before,
        on(event, { process }) {
          if (event.kind === 'checkpoint-completed' && event.checkpoint === 2) engine.world.alarm(60, () => process.kill());
        },
      });
      await engine.finish(job, { from: 'latest', parallelism: after });
      const expected = ['a', 'b'].flatMap((id) => Array.from({ length: 40 }, (_, i) => `${id}${i}`));
      const ofTimers = Array.from({ length: 40 }, (_, i) => `${i} ab`);
      expect([...target.values()].toSorted()).toEqual([...expected, ...ofTimers].toSorted());
      expect(writes).toBeGreaterThan(120);
    }
  });
});

describe('the clock', () => {
  test('C53: jumps of a process’s clock change the speed and no result', async () => {
    for (const jump of [1_500, -1_500, 600_000, -30_000]) {
      const target = newTarget();
      const engine = new Engine(9);
      let hasJumped = false;
      const { events } = await engine.finish((process) =>
        defineJob('c53', (env) => {
          env.enableCheckpointing('50 ms', tolerant);
          env
            .fromSequence(0, 29_999, { uid: 'in' })
            .map((n) => {
              if (n === 9_999 && !hasJumped) {
                hasJumped = true;
                process.clockErrorMs += jump;
              }
              return n;
            })
            .sinkTo(target.sink(), { uid: 'out' });
        }),
      );
      expect(eventsOf(events, 'checkpoint-completed').length).toBeGreaterThan(0);
      expect(target.visible).toEqual(Array.from({ length: 30_000 }, (_, i) => i));
    }
  });

  test('C56: of two processes at one directory one is refused, and what the other writes is one line', async () => {
    const target = newTarget();
    const engine = new Engine();
    const job = defineJob('c56', (env) => {
      env.enableCheckpointing('50 ms', tolerant);
      env.fromSource(timedSource<number>({ a: [...at(0, 1), ...at(500, 2)] }), { uid: 'in' }).sinkTo(target.sink(), { uid: 'out' });
    });
    const [first, second] = [engine.start(job), engine.start(job)];
    const ends = await engine.world.run(Promise.all([first.ended, second.ended]));
    expect(ends.map(({ result }) => result?.state).toSorted()).toEqual(['finished', undefined]);
    expect(ends.find(({ error }) => error !== undefined)?.error).toMatchObject({ message: expect.stringContaining('run-') });
    expect(target.visible).toEqual([1, 2]);
    expect(engine.disk.list(rootOf('c56')).filter(({ name }) => name.startsWith('attempt-'))).toHaveLength(1);
  });
});
