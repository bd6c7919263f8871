// What rows are called: each operator's part of an id, seen at a sink that asks for ids.

import { describe, expect, test } from 'vitest';
import { encodeKey } from '../../../lib/core/key-codec.ts';
import {
  type Collector,
  count,
  type DataStream,
  defineJob,
  type Env,
  mapState,
  OutputTag,
  TumblingEventTimeWindows,
  WatermarkStrategy,
} from '../../../lib/index.ts';
import { Engine } from '../../support/engine.ts';
import { IdentifiedTarget } from '../../support/identified-target.ts';
import { at, malformed, type Timed, timedSource } from '../../support/timed-source.ts';

type Row = readonly [id: string, value: unknown];

/** Runs a job whose last stream goes to the sink `out`. @returns its rows by id */
async function rowsOf<T>(build: (env: Env) => DataStream<T>, parallelism = 1): Promise<readonly Row[]> {
  const target = new IdentifiedTarget();
  const job = defineJob('job', (env) => {
    build(env).sinkTo(target.sink(), { uid: 'out' });
  });
  await new Engine().finish(job, { parallelism });
  expect(target.handed.length, 'no two rows have one id').toBe(target.rows.size);
  return [...target.rows].sort(([a], [b]) => (a < b ? -1 : 1));
}

function numbers(env: Env, count: number, uid = 'n'): DataStream<number> {
  return env.generate((i) => i, { uid, count });
}

const odd = new OutputTag<number>('odd');
const splitter = {
  processElement(n: number, ctx: { output<X>(tag: OutputTag<X>, value: X): void }, out: Collector<number>): void {
    if (n % 2 === 1) ctx.output(odd, n);
    else out.collect(n);
  },
};

describe('the id of a row', () => {
  test('a record of a source is known by source, split and index, and a map leaves it so', async () => {
    expect(await rowsOf((env) => numbers(env, 3).map((n) => n * 10))).toEqual([
      ['out/n/all/0', 0],
      ['out/n/all/1', 10],
      ['out/n/all/2', 20],
    ]);
  });

  test('a filter leaves what it keeps as it was', async () => {
    expect(await rowsOf((env) => numbers(env, 6).filter((n) => n % 3 === 2))).toEqual([
      ['out/n/all/2', 2],
      ['out/n/all/5', 5],
    ]);
  });

  test('the outputs of one record are numbered, by flatMap and by process', async () => {
    expect(await rowsOf((env) => numbers(env, 3).flatMap((n) => new Array(n).fill(n)))).toEqual([
      ['out/n/all/1.0', 1],
      ['out/n/all/2.0', 2],
      ['out/n/all/2.1', 2],
    ]);
    const twice = { processElement: (n: number, _: unknown, out: Collector<number>) => [n, -n].forEach((v) => void out.collect(v)) };
    expect(await rowsOf((env) => numbers(env, 2).process(twice).uid('twice'))).toEqual([
      ['out/n/all/0.0', 0],
      ['out/n/all/0.1', -0],
      ['out/n/all/1.0', 1],
      ['out/n/all/1.1', -1],
    ]);
  });

  test('a result of keyed state is known by the record that gave it, at every parallelism', async () => {
    const build = (env: Env): DataStream<number> =>
      numbers(env, 5)
        .keyBy((n) => n % 2)
        .reduce((a, b) => a + b)
        .uid('sum');
    const rows = [
      ['out/n/all/0.0', 0],
      ['out/n/all/1.0', 1],
      ['out/n/all/2.0', 2],
      ['out/n/all/3.0', 4],
      ['out/n/all/4.0', 6],
    ];
    expect(await rowsOf(build)).toEqual(rows);
    expect(await rowsOf(build, 3)).toEqual(rows);
  });

  test('a stream that meets itself is told apart by its senders', async () => {
    const build = (env: Env): DataStream<number> => {
      const n = numbers(env, 1);
      return n.union(
        n,
        n.map((x) => x + 1),
        n.process(splitter).uid('split'),
        numbers(env, 1, 'other'),
      );
    };
    expect(await rowsOf(build)).toEqual([
      ['out/n/all/0(n)', 0],
      ['out/n/all/0(n*2)', 0],
      ['out/n/all/0(n~map)', 1],
      ['out/n/all/0.0(split)', 0],
      ['out/other/all/0', 0],
    ]);
  });

  test('main and side outputs share the numbers of a record, and a union of them is told apart all the same', async () => {
    const build = (env: Env): DataStream<number> => {
      const even = numbers(env, 3).process(splitter).uid('split');
      return even.union(even.getSideOutput(odd));
    };
    expect(await rowsOf(build, 2)).toEqual([
      ['out/n/all/0.0(split)', 0],
      ['out/n/all/1.0(split:odd)', 1],
      ['out/n/all/2.0(split)', 2],
    ]);
  });

  test('two inputs of one operator are told apart where they come from one source', async () => {
    const build = (env: Env): DataStream<string> => {
      const n = numbers(env, 1).keyBy(() => 'k');
      return n
        .connect(n)
        .process({
          processElement1(_, _ctx, out: Collector<string>) {
            out.collect('first');
          },
          processElement2(_, _ctx, out) {
            out.collect('second');
          },
        })
        .uid('both');
    };
    expect(await rowsOf(build)).toEqual([
      ['out/n/all/0(n).0', 'first'],
      ['out/n/all/0(n*2).0', 'second'],
    ]);
  });

  test('copies that broadcast makes are one row', async () => {
    const target = new IdentifiedTarget();
    const job = defineJob('job', (env) => {
      numbers(env, 2).broadcast().sinkTo(target.sink(), { uid: 'out' });
    });
    await new Engine().finish(job, { parallelism: 3 });
    expect(target.ids).toEqual(['out/n/all/0', 'out/n/all/1']);
  });

  test('a window is known by its operator, its key and its last instant', async () => {
    const rows = await rowsOf((env) =>
      env
        .fromCollection([5, 15, 16], {
          uid: 'n',
          watermarks: WatermarkStrategy.forMonotonousTimestamps<number>().withTimestamps((n) => n),
        })
        .keyBy((n): [string, number] => ['k', n % 2])
        .window(TumblingEventTimeWindows.of(10))
        .aggregate(count(), (key, window, [n]) => [...key, window.start, n])
        .uid('w'),
    );
    const [zero, one] = [hexOfKey(['k', 0]), hexOfKey(['k', 1])];
    expect(rows).toEqual([
      [`out/w@event/~${zero}/19.0`, ['k', 0, 10, 1]],
      [`out/w@event/~${one}/19.0`, ['k', 1, 10, 1]],
      [`out/w@event/~${one}/9.0`, ['k', 1, 0, 1]],
    ]);
  });

  test('a timer that fires again, because it was set late, is known by the record that set it', async () => {
    const split: readonly Timed<number>[] = [100, 200, 50, 300, 50, 400].flatMap((n, i) => at(i * 1_000, n));
    const rows = await rowsOf((env) =>
      env
        .fromSource(timedSource({ s: split }), {
          uid: 'n',
          watermarks: WatermarkStrategy.forMonotonousTimestamps<number>().withTimestamps((n) => n),
        })
        .keyBy(() => 'k')
        .process({
          processElement(n, ctx, _out: Collector<number>) {
            if (n <= 100) ctx.timerService.registerEventTimeTimer(100);
          },
          onTimer(time, _ctx, out) {
            out.collect(time);
          },
        })
        .uid('again'),
    );
    expect(rows.map(([id]) => id)).toEqual(['out/again@event/k/100.0', 'out/again@event/k/100/n/s/2.0', 'out/again@event/k/100/n/s/4.0']);
  });

  test('a timer of processing time is known by what set it, not by its time, and a chain of them does not grow', async () => {
    const rows = await rowsOf((env) =>
      env
        .fromSource(timedSource({ s: at(0, 'a') }, { endsAt: 100 }), { uid: 'n' })
        .keyBy((k) => k)
        .process({
          state: { ticks: mapState<string, number>() },
          processElement(_, ctx, _out: Collector<string>) {
            const now = ctx.timerService.currentProcessingTime();
            ctx.timerService.registerProcessingTimeTimer(now + 1);
            ctx.timerService.registerProcessingTimeTimer(now + 2);
          },
          onTimer(time, ctx, out) {
            out.collect('tick');
            if (time % 2 === 0) ctx.timerService.registerProcessingTimeTimer(time + 2);
          },
        })
        .uid('clock'),
    );
    const ids = rows.map(([id]) => id).sort((a, b) => a.length - b.length);
    expect(ids.slice(0, 3).sort()).toEqual([
      'out/clock@processing/a/clock@processing/a/n/s/0#1#0.0',
      'out/clock@processing/a/n/s/0#0.0',
      'out/clock@processing/a/n/s/0#1.0',
    ]);
    expect(ids.length).toBeGreaterThan(20);
    expect(Math.max(...ids.map((id) => id.length))).toBeLessThan(300);
  });

  test('a malformed record is known by its number among those of its split', async () => {
    const bad = (value: number): Timed<number> => ({ at: value, value, isMalformed: true });
    const rows = await rowsOf((env) => {
      const n = env.fromSource(timedSource<unknown>({ s: [bad(1), ...at(2, 20), bad(3), bad(4)] }), { uid: 'n' });
      return n.union(n.getSideOutput(malformed));
    });
    expect(rows).toEqual([
      ['out/n/s/0(n)', 20],
      ['out/n/s/malformed-0.0(n:malformed)', 1],
      ['out/n/s/malformed-1.0(n:malformed)', 3],
      ['out/n/s/malformed-2.0(n:malformed)', 4],
    ]);
  });
});

function hexOfKey(key: unknown): string {
  return Buffer.from(encodeKey(key), 'latin1').toString('hex');
}
