// What a run does after something failed: limits, restarts, damaged checkpoints, other parallelisms.

import { describe, expect, test } from 'vitest';
import { completedNumbers } from '../../../../lib/checkpoint/reading.ts';
import type { FileSystem } from '../../../../lib/core/ports.ts';
import {
  type Collector,
  collect,
  count,
  defineJob,
  type Env,
  FsStateBackend,
  fileSink,
  type InitializeContext,
  type Job,
  type ListState,
  lines,
  listState,
  MemoryStateBackend,
  mapState,
  RestartStrategies,
  type RestartStrategy,
  reducingState,
  type StateShape,
  TumblingEventTimeWindows,
  TwoPhaseCommitSink,
  valueState,
  WatermarkStrategy,
} from '../../../../lib/index.ts';
import { instantFileSystem, type SimulatedProcess } from '../../../../lib/testing/index.ts';
import { Engine, eventsOf, kinds } from '../../../support/engine.ts';
import { RecordedTarget } from '../../../support/recorded-target.ts';
import { at, timedSource } from '../../../support/timed-source.ts';
import { faultyFiles } from '../../checkpoint/support/ports.ts';

const retained = { externalizedCleanup: 'RETAIN_ON_CANCELLATION' } as const;

/** Counts per key; rows are `key count`. Each key has some more bytes of state. */
function counting(env: Env, rows: { at: number; value: string }[], pad = 0) {
  return env
    .fromSource(timedSource<string>({ a: rows }), { uid: 'in' })
    .keyBy((k) => k)
    .process({
      state: { n: valueState<number>({ default: () => 0 }), pad: valueState<string>() },
      processElement(k, ctx, out: Collector<string>) {
        ctx.state.pad.update('x'.repeat(pad));
        ctx.state.n.update(ctx.state.n.value() + 1);
        out.collect(`${k} ${ctx.state.n.value()}`);
      },
    })
    .uid('count');
}

describe('MemoryStateBackend', () => {
  test('fails a checkpoint above its limit by state, operator, size and limit, and the last one below stays usable', async () => {
    const engine = new Engine();
    const job = (limit: number): Job =>
      defineJob('limit', (env) => {
        env.setStateBackend(new MemoryStateBackend(limit));
        env.setRestartStrategy(RestartStrategies.none());
        env.enableCheckpointing('100 ms', retained);
        env
          .fromSource(timedSource<string>({ a: [...at(0, 'small'), ...at(300, 'x'.repeat(5_000)), ...at(600, 'end')] }), { uid: 'in' })
          .keyBy(() => 'all')
          .process({
            state: { basket: mapState<string, number>() },
            processElement: (v: string, ctx, _out: Collector<string>) => ctx.state.basket.put(v, 1),
          })
          .uid('baskets');
      });
    const { error, events } = await engine.run(job(2_048));
    expect(error).toMatchObject({
      message: expect.stringMatching(/state basket of operator baskets has 4\.9 KiB .* the limit .* is 2 KiB/),
    });
    expect(eventsOf(events, 'checkpoint-completed')).toHaveLength(1);
    expect(await engine.completed('limit')).toEqual([1]);
    const again = await engine.finish(job(100_000), { from: 'latest' });
    expect(eventsOf(again.events, 'started')[0]?.restored).toBe(1);
    expect(again.result.recordsIn).toBe(2);
  });
});

test('a job without checkpoints may have more state than MemoryStateBackend takes into one', async () => {
  const out = collect<string>();
  const job = defineJob('unlimited', (env) => {
    env.setStateBackend(new MemoryStateBackend(1_000));
    counting(env, at(0, 'k', 'l'), 5_000).sinkTo(out, { uid: 'out' });
  });
  const { result } = await new Engine().finish(job);
  expect(result.state).toBe('finished');
  expect(out.rows).toEqual(['k 1', 'l 1']);
});

test('a sink whose target is down holds back the output of no other sink', async () => {
  const [down, up] = [new RecordedTarget(), new RecordedTarget()];
  const job = defineJob('one-is-down', (env) => {
    env.enableCheckpointing('100 ms', retained);
    const rows = counting(env, at(0, 'k', 'l'));
    rows.sinkTo(
      down.sink({
        before(what) {
          if (what === 'commit' && up.visible.length === 0) throw new Error('down');
        },
      }),
      { uid: 'down' },
    );
    rows.sinkTo(up.sink(), { uid: 'up' });
  });
  await new Engine().finish(job);
  expect([down.visible, up.visible]).toEqual([
    ['k 1', 'l 1'],
    ['k 1', 'l 1'],
  ]);
});

describe('restart strategies', () => {
  /** A job that fails at its second record, for ever or some times. */
  function failing(strategy: RestartStrategy | undefined, times = Number.POSITIVE_INFINITY, isCheckpointed = true): Job {
    let failures = 0;
    return defineJob('failing', (env) => {
      if (isCheckpointed) env.enableCheckpointing('50 ms', retained);
      if (strategy !== undefined) env.setRestartStrategy(strategy);
      env
        .fromSource(timedSource<number>({ a: [...at(0, 1), ...at(10, 2)] }), { uid: 'in' })
        .map((n) => {
          if (n === 2 && failures++ < times) throw new Error(`failure ${failures}`);
          return n;
        })
        .sinkTo(collect(), { uid: 'out' });
    });
  }

  test('none: the first failure fails the job, with the record and the operator in the error', async () => {
    const engine = new Engine();
    const { error, events } = await engine.run(failing(RestartStrategies.none()));
    expect(error).toMatchObject({
      code: 'USER_FUNCTION_FAILED',
      message: expect.stringMatching(/^map of .* failed: failure 1; record 2$/),
    });
    expect(kinds(events)).not.toContain('restarting');
  });

  test('none: what a sink throws is told with its uid, whichever of its methods it was', async () => {
    for (const method of ['invoke', 'flush', 'preCommit'] as const) {
      class Broken extends TwoPhaseCommitSink<number, { n: number }> {
        override beginTransaction = (): { n: number } => ({ n: 0 });
        override invoke(): void {
          if (method === 'invoke') throw new TypeError('broken');
        }
        override flush(): Promise<void> {
          return method === 'flush' ? Promise.reject(new Error('broken')) : Promise.resolve();
        }
        override async preCommit(): Promise<void> {
          if (method === 'preCommit') throw new Error('broken');
        }
        override commit(): void {}
        override abort(): void {}
      }
      const job = defineJob('broken', (env) => {
        env.setRestartStrategy(RestartStrategies.none());
        env.fromSequence(0, 20_000, { uid: 'in' }).sinkTo(() => new Broken(), { uid: 'target' });
      });
      const { error } = await new Engine().run(job);
      expect(error).toMatchObject({
        code: 'USER_FUNCTION_FAILED',
        message: `${method === 'preCommit' ? 'prepare' : 'write'} of sink target failed: broken`,
      });
    }
  });

  test('none: what a source throws is told with its uid, split and record', async () => {
    const job = defineJob('broken', (env) => {
      env.setRestartStrategy(RestartStrategies.none());
      const value = (i: number): number => {
        if (i === 1_500) throw new Error('no such thing');
        return i;
      };
      env.generate(value, { uid: 'numbers', count: 5_000 }).sinkTo(collect(), { uid: 'out' });
    });
    const { error } = await new Engine().run(job);
    expect(error).toMatchObject({
      code: 'USER_FUNCTION_FAILED',
      message: expect.stringMatching(/^source numbers failed at record 1\d\d\d of split all: no such thing$/),
    });
  });

  test('by default: none without checkpoints, else three times after a second', async () => {
    const without = await new Engine().run(failing(undefined, 1, false));
    expect(without.error).toMatchObject({ code: 'USER_FUNCTION_FAILED' });
    const withThem = await new Engine().run(failing(undefined));
    expect(eventsOf(withThem.events, 'restarting').map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [1, 1_000],
      [2, 1_000],
      [3, 1_000],
    ]);
    expect(withThem.error).toMatchObject({ message: expect.stringContaining('failure 4') });
  });

  test('fixedDelay: so many times, each after its delay, and then the last failure is the job’s', async () => {
    const engine = new Engine();
    const { error, events } = await engine.run(failing(RestartStrategies.fixedDelay({ attempts: 2, delay: '5 s' })));
    expect(eventsOf(events, 'restarting').map(({ delayMs }) => delayMs)).toEqual([5_000, 5_000]);
    expect(eventsOf(events, 'restarting')[0]?.error).toMatchObject({ message: expect.stringContaining('failure 1') });
    expect(error).toMatchObject({ message: expect.stringContaining('failure 3') });
    expect(engine.now).toBeGreaterThanOrEqual(10_000);
  });

  test('failureRate: gives up when failures are too dense', async () => {
    const dense = RestartStrategies.failureRate({ maxFailures: 2, interval: '1 min', delay: '1 s' });
    expect(eventsOf((await new Engine().run(failing(dense))).events, 'restarting')).toHaveLength(2);
    const sparse = RestartStrategies.failureRate({ maxFailures: 2, interval: '1 s', delay: '2 s' });
    const { events, result } = await new Engine().run(failing(sparse, 8));
    expect(eventsOf(events, 'restarting')).toHaveLength(8);
    expect(result?.state).toBe('finished');
  });

  test('exponentialDelay: delays grow up to the longest', async () => {
    const strategy = RestartStrategies.exponentialDelay({ initial: '1 s', max: '10 s', multiplier: 2, jitter: 0 });
    const { events, result } = await new Engine().run(failing(strategy, 6));
    expect(eventsOf(events, 'restarting').map(({ delayMs }) => delayMs)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(result?.state).toBe('finished');
  });

  test('a cancel ends the wait for the next attempt, also when it came with the failure', async () => {
    const strategy = RestartStrategies.fixedDelay({ attempts: 3, delay: '1 h' });
    for (const afterMs of [0, 5_000]) {
      const engine = new Engine();
      const { result } = await engine.run(failing(strategy), {
        on(event, started) {
          if (event.kind !== 'restarting') return;
          if (afterMs === 0) started.cancel();
          else engine.world.alarm(afterMs, () => started.cancel());
        },
      });
      expect(result?.state).toBe('cancelled');
      expect(engine.now).toBeLessThan(10_000);
    }
  });

  test.each([
    ['the directory cannot be renamed', { method: 'rename', path: /attempt-1 .*attempt-2/ }],
    ['the directory cannot be read', { method: 'list', path: /attempt-2$/ }],
    ['the checkpoint cannot be read', { method: 'readFile', path: /attempt-2\/chk-\d+\/_metadata$/ }],
  ])('an attempt fails like any other when %s: the next one may succeed', async (_what, fault) => {
    const out = collect<string>();
    let throws = 1;
    const job = defineJob('unlucky', (env) => {
      env.enableCheckpointing('100 ms', retained);
      env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 3, delay: '10 ms' }));
      counting(env, [...at(0, 'k'), ...at(250, 'k'), ...at(400, 'k')])
        .map((row) => {
          if (row === 'k 2' && throws-- > 0) throw new Error('once');
          return row;
        })
        .sinkTo(out, { uid: 'out' });
    });
    const { events } = await new Engine().finish(job, {
      through: (files) => faultyFiles(files, [{ ...fault, code: 'EIO', times: 1 }]).files,
    });
    expect(eventsOf(events, 'restarting').map(({ error }) => (error as { code?: string }).code)).toEqual(['USER_FUNCTION_FAILED', 'EIO']);
    expect(out.rows).toEqual(['k 1', 'k 2', 'k 3']);
  });

  test('a start from the beginning stays one when its first attempt could not say so', async () => {
    const engine = new Engine();
    const job = defineJob('unlucky', (env) => {
      env.enableCheckpointing('100 ms', retained);
      env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 3, delay: '10 ms' }));
      counting(env, [...at(0, 'k'), ...at(250, 'k')]).sinkTo(collect(), { uid: 'out' });
    });
    await engine.finish(job);
    const through = (files: FileSystem): FileSystem =>
      faultyFiles(files, [{ method: 'rename', path: /line~/, code: 'EIO', times: 1 }]).files;
    const { result, events } = await engine.finish(job, { through });
    expect(eventsOf(events, 'restarting')).toHaveLength(1);
    expect(result).toMatchObject({ state: 'finished', recordsIn: 2 });
  });

  test('every function that was opened is closed when an attempt fails, also when opening another one failed', async () => {
    const log: string[] = [];
    let mayOpen = false;
    const job = defineJob('closing', (env) => {
      env.setParallelism(2);
      env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 1, delay: '1 s' }));
      env
        .fromSequence(0, 1, { uid: 'in' })
        .rebalance()
        .process(() => {
          let index = -1;
          return {
            open(ctx) {
              index = ctx.subtask.index;
              if (index === 1 && !mayOpen) throw new Error('not yet');
              log.push(`open ${index}`);
            },
            close: () => void log.push(`close ${index}`),
            processElement(_n: number, _ctx, _out: Collector<number>) {},
          };
        })
        .uid('p');
    });
    await new Engine().finish(job, {
      on(event) {
        if (event.kind === 'restarting') {
          expect(event.error).toMatchObject({ message: expect.stringMatching(/^open of .* \(p\) failed: not yet$/) });
          mayOpen = true;
        }
      },
    });
    expect(log.filter((line) => line.startsWith('open')).length).toBe(3);
    const times = (line: string): number => log.filter((other) => other === line).length;
    expect([times('open 0'), times('close 0'), times('open 1')]).toEqual([2, 2, 1]);
  });
});

test('an attempt that fails while a sink prepares is given up when that is over, so that nothing is prepared after it was aborted', async () => {
  const target = new RecordedTarget();
  let isFirst = true;
  const job = defineJob('preparing', (env) => {
    env.enableCheckpointing('100 ms', retained);
    env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 1, delay: '10 ms' }));
    const rows = env.fromSource(timedSource<number>({ a: [...at(0, 1, 2), ...at(300, 3), ...at(3_000, 4)] }), { uid: 'in' });
    rows.rebalance().sinkTo(
      target.sink({
        async before(what, _name, { clock }) {
          if (what === 'preCommit' && isFirst) await clock.sleep(1_000).done;
        },
      }),
      { uid: 'out' },
    );
    rows.rebalance().process({
      processElement(n: number, _ctx, _out: Collector<number>) {
        if (n !== 3 || !isFirst) return;
        isFirst = false;
        throw new Error('once');
      },
    });
  });
  const { events } = await new Engine().finish(job);
  expect(eventsOf(events, 'restarting')).toHaveLength(1);
  expect(target.visible).toEqual([1, 2, 3, 4]);
  expect(target.violations).toEqual([]);
  expect([...target.prepared.keys()]).toEqual([]);
});

test('a function that cannot be closed is told by its name, after all others were closed', async () => {
  const closed: string[] = [];
  const out = collect<number>();
  const job = defineJob('closing', (env) => {
    const rows = env.fromSequence(1, 3, { uid: 'in' });
    for (const uid of ['a', 'b', 'c']) {
      rows
        .process(() => ({
          close() {
            closed.push(uid);
            if (uid === 'a') throw new Error('stuck');
          },
          processElement: (n: number, _ctx, into: Collector<number>) => into.collect(n),
        }))
        .uid(uid)
        .sinkTo(out, { uid: `out-${uid}` });
    }
  });
  const { error } = await new Engine().run(job);
  expect(error).toMatchObject({ code: 'USER_FUNCTION_FAILED', message: expect.stringMatching(/^close of .* \(a\) failed: stuck$/) });
  expect(closed.toSorted()).toEqual(['a', 'b', 'c']);
  expect(out.rows).toHaveLength(9);
});

describe('restores', () => {
  /** Runs until the checkpoint `n` has completed and a bit longer, and kills. */
  async function killAfter(engine: Engine, job: Job | ((process: SimulatedProcess) => Job), n: number, parallelism: number): Promise<void> {
    const { wasKilled } = await engine.run(job, {
      parallelism,
      on(event, { process }) {
        if (event.kind === 'checkpoint-completed' && event.checkpoint === n) engine.world.alarm(30, () => process.kill());
      },
    });
    expect(wasKilled).toBe(true);
  }

  test('what a checkpoint holds and the job cannot take is told at once, not after restarts that would meet it again; on demand it is dropped', async () => {
    const engine = new Engine();
    const job = (shape: StateShape, o: { uid?: string; maxParallelism?: number } = {}): Job =>
      defineJob('evolved', (env) => {
        env.enableCheckpointing('100 ms', retained);
        if (o.maxParallelism !== undefined) env.setMaxParallelism(o.maxParallelism);
        env
          .fromSource(timedSource<string>({ a: [...at(0, 'k'), ...at(1_000, 'k')] }), { uid: 'in' })
          .keyBy((k) => k)
          .process({
            state: shape,
            processElement(_k: string, ctx, _out: Collector<string>) {
              for (const state of Object.values(ctx.state)) (state as ListState<number>).add(1);
            },
          })
          .uid(o.uid ?? 'p');
      });
    await killAfter(engine, job({ a: listState<number>(), b: listState<number>() }), 1, 1);
    for (const [changed, code] of [
      [job({ a: listState<number>() }), 'STATE_WITHOUT_OPERATOR'],
      [job({ a: listState<number>(), b: listState<number>() }, { uid: 'other' }), 'STATE_WITHOUT_OPERATOR'],
      [job({ a: listState<number>(), b: reducingState<number>(Math.max) }), 'STATE_INCOMPATIBLE'],
      [job({ a: listState<number>(), b: listState<number>() }, { maxParallelism: 64 }), 'MAX_PARALLELISM_CHANGED'],
    ] as const) {
      const { error, events } = await engine.run(changed, { from: 'latest' });
      expect(error).toMatchObject({ code });
      expect(eventsOf(events, 'restarting')).toEqual([]);
    }
    const { events, result } = await engine.finish(job({ a: listState<number>() }), { from: 'latest', allowNonRestoredState: true });
    expect(result.recordsIn).toBe(1);
    expect(eventsOf(events, 'notice').map(({ message }) => message)).toEqual([expect.stringContaining("'b' of 'p'")]);
  });

  test('the newest checkpoint is damaged: the one before is used, and that is said', async () => {
    for (const file of ['_metadata', 'state']) {
      const engine = new Engine();
      const out = collect<string>();
      const job = defineJob('damaged', (env) => {
        env.setStateBackend(new FsStateBackend('file:///home/.sluice'));
        env.enableCheckpointing('100 ms', { ...retained, numRetained: 2 });
        counting(env, [...at(0, 'k'), ...at(150, 'k'), ...at(250, 'k'), ...at(5_000, 'k')], 300_000).sinkTo(out, { uid: 'out' });
      });
      await killAfter(engine, job, 2, 1);
      const [newest, older] = await engine.completed('damaged');
      const attempt = await engine.attemptOf('damaged');
      const directory = engine.disk.list(attempt).find(({ name }) => Number(/\d+$/.exec(name)?.[0]) === newest)?.name;
      const names = engine.disk.list(`${attempt}/${directory}`).map(({ name }) => name);
      const name = file === '_metadata' ? file : names.find((other) => other !== '_metadata');
      const node = engine.disk.file(`${attempt}/${directory}/${name}`, 'damage');
      const byte = node.bytes[node.length - 9] as number;
      node.bytes[node.length - 9] = byte ^ 1;
      const { events } = await engine.finish(job, { from: 'latest' });
      expect(eventsOf(events, 'started')[0]?.restored).toBe(older);
      expect(
        eventsOf(events, 'notice')
          .map(({ message }) => message)
          .join('\n'),
      ).toMatch(new RegExp(`checkpoint ${older} is used instead`));
      expect(out.rows.at(-1)).toBe('k 4');
    }
  });

  test('by path, and again by the same path when the attempt fails before its first checkpoint', async () => {
    const engine = new Engine();
    const out = collect<string>();
    let throws = 0;
    const job = defineJob('by-path', (env) => {
      env.enableCheckpointing('100 ms', { ...retained, numRetained: 3 });
      env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 2, delay: '10 ms' }));
      counting(env, [...at(0, 'k'), ...at(150, 'k'), ...at(250, 'k'), ...at(1_000, 'k')])
        .map((row) => {
          if (throws-- > 0) throw new Error('early');
          return row;
        })
        .sinkTo(out, { uid: 'out' });
    });
    await killAfter(engine, job, 3, 1);
    const attempt = await engine.attemptOf('by-path');
    const first = engine.disk.list(attempt).find(({ name }) => /\b0*1$/.test(name))?.name;
    throws = 1;
    const { events } = await engine.finish(job, { from: `${attempt}/${first}` });
    expect(eventsOf(events, 'started').map(({ restored }) => restored)).toEqual([1, 1]);
    expect(out.rows.at(-1)).toBe('k 4');
    expect(eventsOf(events, 'checkpoint-completed').every(({ checkpoint }) => checkpoint > 3)).toBe(true);
  });

  test('C02: by path into another checkpoint directory: what the checkpoint promised becomes visible, though attempts are counted anew there', async () => {
    const engine = new Engine();
    const rows = [...at(0, 'a'), ...at(150, 'b'), ...at(250, 'c'), ...at(1_000, 'd')];
    const job = defineJob('moved', (env) => {
      env.enableCheckpointing('100 ms', { ...retained, numRetained: 3 });
      env
        .fromSource(timedSource<string>({ a: rows }), { uid: 'in' })
        .sinkTo(fileSink<string>({ path: '/home/out', format: lines() }), { uid: 'out' });
    });
    const before = { checkpointsDirectory: '/home/before' };
    for (const from of [undefined, 'latest']) {
      const { wasKilled } = await engine.run(job, {
        global: before,
        ...(from === undefined ? {} : { from }),
        on(event, { process }) {
          if (event.kind === 'checkpoint-completed' && event.checkpoint >= 2) process.kill(); // before its parts are linked
        },
      });
      expect(wasKilled).toBe(true);
    }
    const [newest] = await completedNumbers(instantFileSystem(engine.disk), '/home/before/moved/attempt-2');
    const from = `/home/before/moved/attempt-2/chk-${newest}`;
    await engine.finish(job, { global: { checkpointsDirectory: '/home/after' }, from });
    const files = instantFileSystem(engine.disk);
    const parts = (await files.list('/home/out')).filter(({ name }) => !name.startsWith('.'));
    const texts = await Promise.all(parts.map(async ({ name }) => new TextDecoder().decode(await files.readFile(`/home/out/${name}`))));
    expect(texts.join('')).toBe('a\nb\nc\nd\n');
  });

  test('list state is dealt out evenly and in order, union state goes to everyone, broadcast state is the same everywhere', async () => {
    for (const [before, after] of [
      [1, 3],
      [3, 2],
      [2, 2],
      [4, 1],
    ] as const) {
      const engine = new Engine(before * 10 + after);
      const restored: { index: number; split: readonly unknown[]; union: readonly unknown[]; broadcast: unknown[] }[] = [];
      const job = (process: SimulatedProcess): Job =>
        defineJob('lists', (env) => {
          env.enableCheckpointing('100 ms', retained);
          env
            .fromSource(timedSource<number>({ a: [...at(0, ...Array.from({ length: 10 }, (_, i) => i)), ...at(2_000, -1)] }), { uid: 'in' })
            .rebalance()
            .process(() => {
              let split: ListState<number>;
              let union: ListState<number>;
              let index = 0;
              const own: number[] = [];
              return {
                initializeState(ctx: InitializeContext) {
                  index = ctx.subtask.index;
                  split = ctx.operatorState.getListState<number>('split');
                  union = ctx.operatorState.getUnionListState<number>('union');
                  const broadcast = ctx.operatorState.getBroadcastState<string, number>('broadcast');
                  if (ctx.isRestored && process.name === 'run-2')
                    restored.push({ index, split: split.get(), union: union.get(), broadcast: [...broadcast.entries()] });
                  own.push(...split.get());
                  broadcast.put('all', 1);
                },
                snapshotState() {
                  split.update(own);
                  union.update(own);
                },
                processElement(n: number, _ctx, _out: Collector<number>) {
                  if (n >= 0) own.push(n);
                },
              };
            })
            .uid('p');
        });
      await killAfter(engine, job, 1, before);
      await engine.finish(job, { from: 'latest', parallelism: after });
      expect(restored.map(({ index }) => index).toSorted()).toEqual(Array.from({ length: after }, (_, i) => i));
      const inOrder = restored.toSorted((a, b) => a.index - b.index).flatMap(({ split }) => split);
      // Round robin from the first subtask on: old subtask i had i, i + p, i + 2p …
      const stored = Array.from({ length: before }, (_, i) =>
        Array.from({ length: 10 }, (__, n) => n).filter((n) => n % before === i),
      ).flat();
      expect(inOrder).toEqual(stored);
      const sizes = restored.map(({ split }) => split.length);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      for (const { union, broadcast } of restored) {
        expect(union).toEqual(stored);
        expect(broadcast).toEqual([['all', 1]]);
      }
    }
  });

  test('broadcast rules apply on every subtask after a restore at another parallelism', async () => {
    for (const [before, after] of [
      [1, 4],
      [3, 2],
    ] as const) {
      const engine = new Engine(before);
      const out = collect<string>();
      const users = Array.from({ length: 40 }, (_, i) => `u${i}`);
      const job = defineJob('rules', (env) => {
        env.enableCheckpointing('100 ms', retained);
        const orders = env.fromSource(timedSource<string>({ a: at(1_000, ...users) }), { uid: 'orders' });
        const rules = env.fromSource(timedSource<string>({ a: at(0, 'one', 'two') }, { endsAt: 2_000 }), { uid: 'rules' });
        orders
          .keyBy((user) => user)
          .connect(rules.broadcast({ rules: mapState<string, number>() }))
          .process({
            processElement(user, ctx, into: Collector<string>) {
              into.collect(`${user} ${[...ctx.broadcast.rules.keys()].join()}`);
            },
            processBroadcastElement: (rule, ctx) => ctx.broadcast.rules.put(rule, 1),
          })
          .uid('over')
          .sinkTo(out, { uid: 'out' });
      });
      await killAfter(engine, job, 1, before);
      expect(out.rows).toEqual([]);
      await engine.finish(job, { from: 'latest', parallelism: after });
      expect(out.rows.toSorted()).toEqual(users.map((user) => `${user} one,two`).toSorted());
    }
  });

  test('accumulators count each record once over restarts and another parallelism, whichever subtask names them', async () => {
    const engine = new Engine();
    const job = defineJob('accumulators', (env) => {
      env.enableCheckpointing('100 ms', retained);
      env
        .fromSource(timedSource<string>({ a: [...at(0, 'a', 'b', 'c', 'd'), ...at(1_000, 'z')] }), { uid: 'in' })
        .keyBy((k) => k)
        .process({ processElement: (_k: string, ctx, _out: Collector<string>) => ctx.accumulator('rows', count()).add(1) })
        .uid('p');
    });
    await killAfter(engine, job, 1, 2);
    const { result } = await engine.finish(job, { from: 'latest', parallelism: 7 });
    expect(result.accumulators).toEqual({ rows: 5 });
  });

  test('lateness is judged after a restore as it would have been without one', async () => {
    interface Row {
      readonly t: number;
    }
    const rows = (isLate: boolean): { at: number; value: Row }[] => [
      ...Array.from({ length: 1_024 }, (_, i) => ({ at: 0, value: { t: i } })),
      ...(isLate ? at(1_000, { t: 5 }, { t: 1_500 }) : []),
    ];
    for (const where of ['source', 'stream'] as const) {
      for (const isKilled of [false, true]) {
        const engine = new Engine();
        const out = collect<string>();
        const strategy = WatermarkStrategy.forMonotonousTimestamps<Row>().withTimestamps((r) => r.t);
        const job = defineJob('late', (env) => {
          env.enableCheckpointing('100 ms', retained);
          const source = timedSource<Row>({ a: rows(true) }, { isEager: where === 'source' });
          const stream =
            where === 'source'
              ? env.fromSource(source, { uid: 'in', watermarks: strategy })
              : env.fromSource(source, { uid: 'in' }).assignTimestampsAndWatermarks(strategy).uid('stamp');
          stream
            .keyBy(() => 'all')
            .window(TumblingEventTimeWindows.of('100 ms'))
            .aggregate(count(), (_k, w, [n]) => `${w.start}:${n}`)
            .uid('windows')
            .sinkTo(out, { uid: 'out' });
        });
        if (isKilled) await killAfter(engine, job, 1, 1);
        const { result } = await engine.finish(job, isKilled ? { from: 'latest' } : {});
        expect(result.counters, `${where} ${isKilled}`).toEqual({ 'windows.numLateRecordsDropped': 1 });
        expect(out.rows, `${where} ${isKilled}`).toEqual([...Array.from({ length: 10 }, (_, i) => `${i * 100}:100`), '1000:24', '1500:1']);
      }
    }
  });
});

describe('event time after a restore', () => {
  test('stands in keyed operators where it stood: a window that has given its result does not give another one for a late record', async () => {
    interface Row {
      readonly t: number;
    }
    for (const [before, after] of [
      [2, 2],
      [2, 3],
      [3, 1],
    ] as const) {
      for (let seed = 1; seed <= 25; seed++) {
        const engine = new Engine(seed);
        const out = collect<string>();
        // The late record waits for the second process, which may read it before any other input has told its event time again.
        const late = at(1_000, { t: 70 });
        const job = defineJob('late', (env) => {
          env.enableCheckpointing('100 ms', retained);
          env
            .fromSource(
              timedSource<Row>({ a: [...at(0, { t: 50 }, { t: 1_000 }), ...late], b: at(0, { t: 60 }, { t: 1_200 }) }, { endsAt: 5_000 }),
              {
                uid: 'in',
                watermarks: WatermarkStrategy.forMonotonousTimestamps<Row>().withTimestamps((r) => r.t),
              },
            )
            .keyBy(() => 'all')
            .window(TumblingEventTimeWindows.of('100 ms'))
            .aggregate(count(), (_k, w, [n]) => `${w.start}:${n}`)
            .uid('windows')
            .sinkTo(out, { uid: 'out' });
        });
        const { wasKilled } = await engine.run(job, {
          parallelism: before,
          on(event, { process }) {
            if (event.kind === 'checkpoint-completed') engine.world.alarm(1, () => process.kill());
          },
        });
        expect(wasKilled).toBe(true);
        await engine.world.run(new Promise<void>((resolve) => engine.world.alarm(2_000, resolve)));
        const { result } = await engine.finish(job, { from: 'latest', parallelism: after });
        expect([...out.rows], `seed ${seed}, ${before} → ${after}`).toEqual(['0:2', '1000:1', '1200:1']);
        expect(result.counters).toEqual({ 'windows.numLateRecordsDropped': 1 });
      }
    }
  });
});

describe('AT_LEAST_ONCE', () => {
  test('loses nothing over a failure, and is exact without one', async () => {
    for (const fails of [false, true]) {
      const out = collect<string>();
      let throws = fails;
      const job = defineJob('at-least-once', (env) => {
        env.setParallelism(2);
        env.enableCheckpointing('50 ms', { mode: 'AT_LEAST_ONCE', ...retained });
        const splits = Object.fromEntries(
          ['a', 'b', 'c'].map((id) => [id, Array.from({ length: 60 }, (_, i) => ({ at: i * 7, value: `${id}${i}` }))]),
        );
        env
          .fromSource(timedSource<string>(splits), { uid: 'in' })
          .keyBy((v) => v.slice(1))
          .process({
            state: { n: valueState<number>({ default: () => 0 }) },
            processElement(v, ctx, into: Collector<string>) {
              if (v === 'b40' && throws) {
                throws = false;
                throw new Error('once');
              }
              ctx.state.n.update(ctx.state.n.value() + 1);
              into.collect(v);
            },
          })
          .uid('p')
          .sinkTo(out, { uid: 'out' });
      });
      const { events } = await new Engine(6).finish(job);
      expect(eventsOf(events, 'restarting')).toHaveLength(fails ? 1 : 0);
      expect(new Set(out.rows).size).toBe(180);
      if (!fails) expect(out.rows).toHaveLength(180);
    }
  });
});

test('AT_MOST_ONCE: what was set aside belongs to its source by uid, also when another source has come before it', async () => {
  const engine = new Engine();
  const [old, added] = [collect<string>(), collect<string>()];
  const job = (isChanged: boolean): Job =>
    defineJob('at-most-once', (env) => {
      env.enableCheckpointing('100 ms', { mode: 'AT_MOST_ONCE', ...retained });
      if (isChanged)
        env.fromSource(timedSource<string>({ all: at(0, 'new 1', 'new 2') }), { uid: 'added' }).sinkTo(added, { uid: 'added-out' });
      const rows = [...at(0, 'a', 'b'), ...at(250, 'c'), ...at(60_000, 'd')];
      env.fromSource(timedSource<string>({ all: rows }), { uid: 'old' }).sinkTo(old, { uid: 'old-out' });
    });
  const { wasKilled } = await engine.run(job(false), {
    on(event, { process }) {
      if (event.kind === 'checkpoint-completed' && event.checkpoint === 2) engine.world.alarm(10, () => process.kill());
    },
  });
  expect(wasKilled).toBe(true);
  const { result } = await engine.finish(job(true), { from: 'latest' });
  expect(old.rows).toEqual(['a', 'b', 'c']);
  expect(added.rows).toEqual(['new 1', 'new 2']);
  expect(result.counters).toMatchObject({ lost: 1 });
});
