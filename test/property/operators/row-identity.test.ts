// Random jobs end in one sink that asks for ids. Whatever the parallelism, the order of events, the cuts of the batches and the moment of a crash:
// the target ends with the same rows under the same ids, and within a run no two rows have one id.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Collector,
  type DataStream,
  defineJob,
  type Env,
  type Job,
  OutputTag,
  TumblingEventTimeWindows,
  valueState,
  WatermarkStrategy,
} from '../../../lib/index.ts';
import { seededRandom } from '../../../lib/testing/index.ts';
import { Engine, type Started } from '../../support/engine.ts';
import { IdentifiedTarget } from '../../support/identified-target.ts';
import { malformed, type Timed, timedSource } from '../../support/timed-source.ts';

interface Row {
  /** Event time: never falls within a split, so nothing is ever late. */
  readonly t: number;
  readonly k: string;
  readonly v: number;
}

const opKinds = [
  'map',
  'filter',
  'flatMap',
  'process',
  'side',
  'timestamps',
  'spread',
  'reduce',
  'window',
  'timers',
  'union',
  'itself',
  'connect',
  'rules',
] as const;

interface Step {
  readonly op: (typeof opKinds)[number];
  /** Which of the streams so far it reads, and which other one. */
  readonly from: number;
  readonly other: number;
  readonly n: number;
}

interface Spec {
  readonly sources: readonly (readonly (readonly Row[])[])[];
  readonly steps: readonly Step[];
}

const rows = fc
  .array(fc.record({ dt: fc.nat(5), k: fc.constantFrom('a', 'b', 'c/d', ''), v: fc.nat(9) }), { maxLength: 25 })
  .map((given) => {
    let t = 0;
    return given.map(({ dt, k, v }): Row => ({ t: (t += dt), k, v }));
  });

const specs: fc.Arbitrary<Spec> = fc.record({
  sources: fc.array(fc.array(rows, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
  steps: fc.array(fc.record({ op: fc.constantFrom(...opKinds), from: fc.nat(9), other: fc.nat(9), n: fc.integer({ min: 1, max: 3 }) }), {
    maxLength: 7,
  }),
});

const aside = new OutputTag<Row>('a(side)/');
const state = { n: valueState<number>({ default: () => 0 }) };

/** The rows of a run depend on the input only: no result says in which order records of several splits came. */
function applied(step: Step, uid: string, input: DataStream<Row>, other: DataStream<Row>): readonly DataStream<Row>[] {
  const { n } = step;
  switch (step.op) {
    case 'map':
      return [input.map((r) => ({ ...r, v: r.v + n }))];
    case 'filter':
      return [input.filter((r) => r.v % (n + 1) !== 0)];
    case 'flatMap':
      return [input.flatMap((r) => Array.from({ length: r.v % (n + 1) }, (_, i) => ({ ...r, v: i })))];
    case 'process':
      return [
        input
          .process({
            processElement(r, _ctx, out: Collector<Row>) {
              for (let i = 0; i < r.v % 3; i++) out.collect({ ...r, v: r.v + i });
            },
          })
          .uid(uid),
      ];
    case 'side': {
      const main = input
        .process({
          processElement(r, ctx, out: Collector<Row>) {
            if (r.v % 2 === 0) ctx.output(aside, r);
            if (r.v % 3 === 0) out.collect(r);
            if (r.v % 4 === 0) ctx.output(aside, { ...r, v: -r.v });
          },
        })
        .uid(uid);
      return [main, main.getSideOutput(aside)];
    }
    case 'timestamps':
      return [
        input.assignTimestampsAndWatermarks(WatermarkStrategy.forBoundedOutOfOrderness<Row>('1 h').withTimestamps((r, t) => t ?? r.t)),
      ];
    case 'spread':
      return [[input.rebalance(), input.rescale(), input.shuffle()][n - 1]!.map((r) => r)];
    case 'reduce':
      return [
        input
          .keyBy((r) => [r.k, r.v] as const)
          .reduce((_, r) => r)
          .uid(uid),
      ];
    case 'window':
      return [
        input
          .keyBy((r) => ({ k: r.k }))
          .window(TumblingEventTimeWindows.of(n * 5))
          .reduce(
            (a, b) => ({ t: a.t, k: a.k, v: a.v + b.v }),
            (_key, w, [sum]) => ({ t: w.start, k: sum.k, v: sum.v }),
          )
          .uid(uid),
      ];
    case 'timers':
      return [
        input
          .keyBy((r) => r.k)
          .process({
            state,
            processElement(r, ctx, out: Collector<Row>) {
              ctx.timerService.registerEventTimeTimer(Math.ceil((ctx.timestamp()! + 1) / 7) * 7);
              if (r.v === 0) out.collect(r);
            },
            onTimer(t, ctx, out) {
              for (let i = 0; i < n; i++) out.collect({ t, k: ctx.getCurrentKey(), v: i });
            },
          })
          .uid(uid),
      ];
    case 'union':
      return [input.union(other).map((r) => r)];
    case 'itself':
      return [input.union(input).map((r) => r)];
    case 'connect':
      return [
        input
          .keyBy((r) => r.k)
          .connect(other.keyBy((r) => r.k))
          .process({
            processElement1: (r, _ctx, out: Collector<Row>) => out.collect(r),
            processElement2(r, ctx, out) {
              ctx.timerService.registerEventTimeTimer(ctx.timestamp()! + 3);
              out.collect(r);
            },
            onTimer: (t, ctx, out) => out.collect({ t, k: ctx.getCurrentKey(), v: 0 }),
          })
          .uid(uid),
      ];
    case 'rules':
      return [
        input
          .keyBy((r) => r.k)
          .connect(other.broadcast({}))
          .process({
            processElement: (r, _ctx, out: Collector<Row>) => out.collect(r),
            processBroadcastElement: () => {},
          })
          .uid(uid),
      ];
  }
}

const checkpoints = { externalizedCleanup: 'RETAIN_ON_CANCELLATION', numRetained: 2 } as const;

/** @param seed  of the moments at which records come, and so of the batches */
function jobOf({ sources, steps }: Spec, target: IdentifiedTarget, seed: number): Job {
  const random = seededRandom(seed).fork('arrivals');
  return defineJob('job', (env: Env) => {
    env.enableCheckpointing(20, checkpoints);
    const unread: DataStream<Row>[] = [];
    const streams: DataStream<Row>[] = sources.map((splits, source) => {
      const timed = Object.fromEntries(splits.map((split, i) => [`split/${i}`, arrivals(split, random.fork(`${source}/${i}`))]));
      const watermarks = WatermarkStrategy.forMonotonousTimestamps<Row>().withTimestamps((r) => r.t);
      const read = env.fromSource(timedSource<Row>(timed, { isEager: seed % 2 === 0 }), { uid: `source${source}`, watermarks });
      unread.push(read.getSideOutput(malformed) as DataStream<Row>);
      return read;
    });
    for (const [i, step] of steps.entries()) {
      const [input, other] = [streams[step.from % streams.length]!, streams[step.other % streams.length]!];
      streams.push(...applied(step, `step${i}`, input, other));
    }
    const [first, ...others] = streams;
    first!.union(...others, ...unread).sinkTo(target.sink(), { uid: 'out' });
  });
}

function arrivals(split: readonly Row[], random: ReturnType<typeof seededRandom>): readonly Timed<Row>[] {
  let at = 0;
  return split.map((value) => ({ at: (at += random.below(12)), value, isMalformed: value.v === 9 }));
}

interface Way {
  readonly seed: number;
  readonly parallelism: number;
  readonly killAfterMs?: number | undefined;
  readonly parallelismAfter?: number;
}

/** Runs the job to its end, with a kill on the way if so wanted. @returns the rows by id */
async function run(
  spec: Spec,
  { seed, parallelism, killAfterMs, parallelismAfter = parallelism }: Way,
): Promise<ReadonlyMap<string, unknown>> {
  const engine = new Engine(seed);
  const target = new IdentifiedTarget();
  const job = (): Job => jobOf(spec, target, seed);
  let wasKilled = false;
  if (killAfterMs !== undefined) {
    const started: Started = engine.start(job(), { parallelism });
    engine.world.alarm(killAfterMs, () => started.process.kill());
    wasKilled = (await engine.world.run(started.ended)).wasKilled;
    checkUnique(target);
  }
  if (killAfterMs === undefined || wasKilled) {
    const before = target.handed.length;
    await engine.finish(job(), wasKilled ? { parallelism: parallelismAfter, from: 'latest' } : { parallelism });
    checkUnique(target, before);
  }
  return target.rows;
}

function checkUnique({ handed }: IdentifiedTarget, from = 0): void {
  const ids = handed.slice(from).map(({ id }) => id);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
}

function sorted(rows: ReadonlyMap<string, unknown>): readonly (readonly [string, unknown])[] {
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
}

const ways: fc.Arbitrary<Way> = fc.record({
  seed: fc.integer({ min: 2, max: 1_000 }),
  parallelism: fc.integer({ min: 1, max: 3 }),
  killAfterMs: fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined }),
  parallelismAfter: fc.integer({ min: 1, max: 3 }),
});

test('ids and rows are the same at every parallelism, in every order of arrival, and after a crash', async () => {
  await fc.assert(
    fc.asyncProperty(specs, fc.array(ways, { minLength: 1, maxLength: 2 }), async (spec, others) => {
      const expected = sorted(await run(spec, { seed: 1, parallelism: 1 }));
      for (const way of others) expect(sorted(await run(spec, way))).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});
