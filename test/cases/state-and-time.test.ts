// Cases of keys, values, timers and upgrades, through the engine and both backends: what is stored comes back, whatever the parallelism.

import { describe, expect, test } from 'vitest';
import { encodeKey } from '../../lib/core/key-codec.ts';
import { keyGroupOf } from '../../lib/core/key-group.ts';
import {
  type Collector,
  collect,
  defineJob,
  type Env,
  FsStateBackend,
  type Job,
  listState,
  MemoryStateBackend,
  mapState,
  type StateBackend,
  valueState,
} from '../../lib/index.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';
import { Engine } from '../support/engine.ts';
import { at, timedSource } from '../support/timed-source.ts';

const backends: [string, () => StateBackend][] = [
  ['memory', () => new MemoryStateBackend()],
  ['files', () => new FsStateBackend('file:///home/checkpoints')],
];

/** First the rows of `before`; a checkpoint; a kill; then, at another parallelism, those of `after`. */
async function killedBetween(
  build: (env: Env, process: SimulatedProcess) => void,
  parallelisms: readonly [number, number],
  seed = 1,
): Promise<void> {
  const engine = new Engine(seed);
  const job = (process: SimulatedProcess): Job =>
    defineJob('case', (env) => {
      env.enableCheckpointing('100 ms', { externalizedCleanup: 'RETAIN_ON_CANCELLATION' });
      build(env, process);
    });
  const first = await engine.run(job, {
    parallelism: parallelisms[0],
    on(event, { process }) {
      if (event.kind === 'checkpoint-completed') engine.world.alarm(50, () => process.kill());
    },
  });
  expect(first.wasKilled).toBe(true);
  await engine.finish(job, { parallelism: parallelisms[1], from: 'latest' });
}

const rescales = [
  [1, 1],
  [1, 3],
  [3, 2],
] as const;

describe.each(backends)('with state in %s', (_, backend) => {
  test.each(rescales)('C19: two keys with one hash are two keys (parallelism %i, then %i)', async (...parallelisms) => {
    const keys = collidingKeys();
    expect(keyGroupOf(encodeKey(keys[0]), 2 ** 32)).toBe(keyGroupOf(encodeKey(keys[1]), 2 ** 32));
    const out = collect<string>();
    await killedBetween((env) => {
      env.setStateBackend(backend());
      env
        .fromSource(timedSource<string>({ a: [...at(0, ...keys, keys[0]), ...at(1_000, ...keys)] }), { uid: 'in' })
        .keyBy((k) => k)
        .process({
          state: { n: valueState<number>({ default: () => 0 }) },
          processElement(k, ctx, into: Collector<string>) {
            ctx.state.n.update(ctx.state.n.value() + 1);
            into.collect(`${k}=${ctx.state.n.value()}`);
          },
        })
        .uid('count')
        .sinkTo(out, { uid: 'out' });
    }, parallelisms);
    const [a, b] = keys;
    expect(out.rows.toSorted()).toEqual([`${a}=1`, `${a}=2`, `${a}=3`, `${b}=1`, `${b}=2`].toSorted());
  });

  test.each(rescales)(
    'C20: mutating a record after keyBy moves neither key nor state (parallelism %i, then %i)',
    async (...parallelisms) => {
      interface Row {
        user: { id: string };
        n: number;
      }
      const rows = (): Row[] => ['a', 'b', 'a'].map((id, n) => ({ user: { id }, n }));
      const out = collect<string>();
      await killedBetween((env) => {
        env.setStateBackend(backend());
        env
          .fromSource(timedSource<Row>({ a: [...at(0, ...rows()), ...at(1_000, ...rows())] }), { uid: 'in' })
          .keyBy((row) => row.user)
          .process({
            state: { seen: listState<number>() },
            processElement(row, ctx, into: Collector<string>) {
              row.user.id = 'changed';
              const key = ctx.getCurrentKey();
              expect(() => ((key as { id: string }).id = 'changed too')).toThrow(TypeError);
              ctx.state.seen.add(row.n);
              into.collect(`${key.id} ${ctx.state.seen.get().join('')}`);
            },
          })
          .uid('p')
          .sinkTo(out, { uid: 'out' });
      }, parallelisms);
      // The records of the second half are the same objects as before the kill in one process; here they are made again by each build.
      expect(out.rows.toSorted()).toEqual(['a 0', 'a 02', 'a 020', 'a 0202', 'b 1', 'b 11']);
    },
  );

  test.each(rescales)('C28, C30, C33: values come back with their type and bits (parallelism %i, then %i)', async (...parallelisms) => {
    const values: unknown[] = [
      9007199254740993n,
      2n ** 63n - 1n,
      10n ** 38n - 1n,
      5,
      -0,
      Number.NaN,
      new Map([['a', 1]]),
      new Set([{ b: 1 }]),
      {
        big: 1n,
        map: new Map([[1, new Set([-0])]]),
        at: new Date(7),
        bytes: new Uint8Array([0, 255]),
        none: undefined,
        nan: Number.NaN,
        deep: [[{}]],
      },
      new Uint8Array([1, 2]),
      undefined,
    ];
    const read: [number, unknown, unknown, unknown][] = [];
    await killedBetween((env) => {
      env.setStateBackend(backend());
      const indexes = [...values.keys()];
      env
        .fromSource(timedSource<number>({ a: [...at(0, ...indexes), ...at(1_000, ...indexes)] }), { uid: 'in' })
        .keyBy((i) => i)
        .process({
          state: { value: valueState<unknown>(), list: listState<unknown>(), map: mapState<number, unknown>() },
          processElement(i, ctx, _into: Collector<string>) {
            if (ctx.state.map.isEmpty()) {
              ctx.state.value.update(values[i]);
              ctx.state.list.add(values[i]);
              ctx.state.map.put(i, values[i]);
            } else read.push([i, ctx.state.value.value(), ctx.state.list.get()[0], ctx.state.map.get(i)]);
          },
        })
        .uid('p');
    }, parallelisms);
    expect(read.length).toBe(values.length);
    for (const [i, ...copies] of read) for (const copy of copies) expect(copy).toStrictEqual(values[i]);
  });

  test.each(rescales)('C31, C32: awkward names are ordinary keys and map keys (parallelism %i, then %i)', async (...parallelisms) => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'a-b', 'a b', 'size', '#x', '😀'];
    const out = collect<string>();
    await killedBetween((env) => {
      env.setStateBackend(backend());
      env
        .fromSource(timedSource<string>({ a: [...at(0, ...names), ...at(1_000, ...names)] }), { uid: 'in' })
        .keyBy((name) => name)
        .process({
          state: { counts: mapState<string, number>() },
          processElement(name, ctx, into: Collector<string>) {
            const { counts } = ctx.state;
            for (const other of names) counts.put(other, (counts.get(other) ?? 0) + 1);
            if (counts.get(name) === 2) into.collect(`${name}: ${[...counts.entries()].map(([k, n]) => `${k}=${n}`).join()}`);
            for (const other of names) if (counts.get(other) === 2) counts.remove(other);
            expect(counts.isEmpty()).toBe(counts.get(name) === undefined);
          },
        })
        .uid('p')
        .sinkTo(out, { uid: 'out' });
    }, parallelisms);
    const sorted = names.toSorted((x, y) => (encodeKey(x) < encodeKey(y) ? -1 : 1));
    expect(out.rows.toSorted()).toEqual(names.map((name) => `${name}: ${sorted.map((k) => `${k}=2`).join()}`).toSorted());
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });
});

describe('an operator that the checkpoint does not know', () => {
  test('C16: starts empty while the others are restored, at another parallelism too', async () => {
    for (const parallelism of [1, 3]) {
      const engine = new Engine(parallelism);
      const out = collect<string>();
      const job = (isLater: boolean): Job =>
        defineJob('c16', (env) => {
          env.enableCheckpointing('100 ms', { externalizedCleanup: 'RETAIN_ON_CANCELLATION' });
          const counted = env
            .fromSource(timedSource<string>({ a: [...at(0, 'x', 'x'), ...at(1_000, 'x')] }), { uid: 'in' })
            .keyBy((k) => k)
            .process({
              state: { n: valueState<number>({ default: () => 0 }) },
              processElement(k, ctx, into: Collector<string>) {
                ctx.state.n.update(ctx.state.n.value() + 1);
                into.collect(`${k}${ctx.state.n.value()}`);
              },
            })
            .uid('count');
          if (!isLater) return counted.sinkTo(out, { uid: 'out' });
          return counted
            .keyBy(() => 'all')
            .process(() => {
              let wasRestored = false;
              return {
                state: { all: listState<string>() },
                initializeState: (ctx) => void (wasRestored = ctx.isRestored),
                snapshotState() {},
                processElement(row: string, ctx, into: Collector<string>) {
                  ctx.state.all.add(row);
                  into.collect(`${wasRestored} ${ctx.state.all.get().join()}`);
                },
              };
            })
            .uid('new')
            .sinkTo(out, { uid: 'out' });
        });
      await engine.run(job(false), {
        on(event, { process }) {
          if (event.kind === 'checkpoint-completed') engine.world.alarm(50, () => process.kill());
        },
      });
      await engine.finish(job(true), { from: 'latest', parallelism });
      expect(out.rows).toEqual(['x1', 'x2', 'true x3']);
    }
  });
});

describe('timers over a crash', () => {
  const keys = Array.from({ length: 100 }, (_, i) => `k${i}`);

  function timerJob(fired: string[], engine: Engine, o: { timerAfterMs: number; endsAtMs: number }) {
    return (process: SimulatedProcess): Job =>
      defineJob('timers', (env) => {
        env.enableCheckpointing('1 s', { externalizedCleanup: 'RETAIN_ON_CANCELLATION' });
        env
          .fromSource(timedSource<string>({ a: at(0, ...keys) }, { endsAt: o.endsAtMs }), { uid: 'in' })
          .keyBy((k) => k)
          .process({
            processElement(_k, ctx, _into: Collector<string>) {
              ctx.timerService.registerProcessingTimeTimer(ctx.timerService.currentProcessingTime() + o.timerAfterMs);
              ctx.timerService.registerEventTimeTimer(500);
            },
            onTimer(_at, ctx) {
              if (process.state !== 'dead') fired.push(`${ctx.getCurrentKey()} ${ctx.timeDomain} ${Math.round(engine.now / 1_000)}`);
            },
          })
          .uid('timers');
      });
  }

  test('C22: every timer fires once, those of event time at the end of input', async () => {
    for (const parallelism of [1, 3]) {
      const engine = new Engine(parallelism);
      const fired: string[] = [];
      const job = timerJob(fired, engine, { timerAfterMs: 30_000, endsAtMs: 60_000 });
      const started = engine.start(job);
      engine.world.alarm(10_000, () => started.process.kill());
      await engine.world.run(started.ended);
      expect(fired).toEqual([]);
      await engine.finish(job, { from: 'latest', parallelism });
      const expected = keys.flatMap((k) => [`${k} event 60`, `${k} processing 30`]);
      expect(fired.toSorted()).toEqual(expected.toSorted());
    }
  });

  test('C23: one that fell due while the job was down fires promptly and once', async () => {
    const engine = new Engine(5);
    const fired: string[] = [];
    const job = timerJob(fired, engine, { timerAfterMs: 60_000, endsAtMs: 400_000 });
    const started = engine.start(job);
    engine.world.alarm(10_000, () => started.process.kill());
    await engine.world.run(started.ended);
    await engine.world.run(new Promise<void>((resolve) => engine.world.alarm(290_000, resolve)));
    await engine.finish(job, { from: 'latest' });
    const processing = fired.filter((line) => line.includes('processing'));
    expect(processing.toSorted()).toEqual(keys.map((k) => `${k} processing 300`).toSorted());
    expect(fired.length).toBe(200);
  });
});

/** Two strings with one 32-bit hash. */
function collidingKeys(): readonly [string, string] {
  const seen = new Map<number, string>();
  for (let i = 0; ; i++) {
    const key = `key-${i}`;
    const hash = keyGroupOf(encodeKey(key), 2 ** 32);
    const other = seen.get(hash);
    if (other !== undefined) return [other, key];
    seen.set(hash, key);
  }
}
