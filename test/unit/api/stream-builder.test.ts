import { describe, expect, test } from 'vitest';
import type { Edge, LogicalNode } from '../../../lib/api/description.ts';
import type { Env } from '../../../lib/api/environment.ts';
import { type Collector, OutputTag } from '../../../lib/api/functions.ts';
import { mapState, valueState } from '../../../lib/api/state.ts';
import type { DataStream } from '../../../lib/api/stream.ts';
import { WatermarkStrategy } from '../../../lib/api/watermark.ts';
import { TumblingEventTimeWindows } from '../../../lib/api/window.ts';
import { described, nowhere, refusal } from './building.ts';

const numbers = (env: Env, uid = 'numbers'): DataStream<number> => env.fromSequence(1, 9, { uid });
const edgesOf = (node: LogicalNode | undefined): readonly (readonly [number, string, 0 | 1, string | undefined])[] =>
  (node?.inputs ?? []).map(({ from, partitioning, input, sideOutput }: Edge) => [from, partitioning.kind, input, sideOutput] as const);
const pass = {
  processElement(value: number, _ctx: unknown, out: Collector<number>) {
    out.collect(value);
  },
};

describe('a description', () => {
  test('has a node for each operator, in the order of the calls, and an edge from each sender', () => {
    const { nodes } = described((env) => {
      const source = numbers(env);
      source
        .map((n) => n + 1)
        .filter((n) => n > 1)
        .sinkTo(nowhere(), { uid: 'out' });
      source.flatMap((n) => [n, n]).uid('twice');
    });
    expect(nodes.map(({ id, label, uid }) => [id, label, uid])).toEqual([
      [0, 'fromSequence', 'numbers'],
      [1, 'map', undefined],
      [2, 'filter', undefined],
      [3, 'sinkTo(nowhere)', 'out'],
      [4, 'flatMap', 'twice'],
    ]);
    expect(nodes.map((node) => edgesOf(node).map(([from]) => from))).toEqual([[], [0], [1], [2], [0]]);
  });

  test('keeps unions, partitionings and side outputs as edges, not as nodes', () => {
    const tag = new OutputTag<number>('odd');
    const { nodes } = described((env) => {
      const a = numbers(env, 'a');
      const b = numbers(env, 'b').rebalance();
      const c = a.process(pass).getSideOutput(tag).global();
      a.union(
        b,
        c,
        a.keyBy((n) => n),
      ).map((n) => n);
    });
    expect(nodes).toHaveLength(4);
    expect(edgesOf(nodes[3])).toEqual([
      [0, 'auto', 0, undefined],
      [1, 'rebalance', 0, undefined],
      [2, 'global', 0, 'odd'],
      [0, 'hash', 0, undefined],
    ]);
  });

  test.each(['rebalance', 'rescale', 'shuffle', 'broadcast', 'forward', 'global'] as const)(
    'says %s on the edge to the next operator',
    (kind) => {
      const { nodes } = described(
        (env) =>
          void numbers(env)
            [kind]()
            .map((n) => n),
      );
      expect(edgesOf(nodes[1])).toEqual([[0, kind, 0, undefined]]);
    },
  );

  test('takes the last partitioning before an operator', () => {
    const { nodes } = described(
      (env) =>
        void numbers(env)
          .rebalance()
          .keyBy((n) => n)
          .shuffle()
          .map((n) => n),
    );
    expect(edgesOf(nodes[1])).toEqual([[0, 'shuffle', 0, undefined]]);
  });

  test('keeps selector and partitioner of partitionCustom', () => {
    const { nodes } = described(
      (env) =>
        void numbers(env)
          .partitionCustom((key: string, p) => key.length % p, String)
          .map((n) => n),
    );
    const partitioning = nodes[1]?.inputs[0]?.partitioning;
    if (partitioning?.kind !== 'custom') throw new Error('no custom partitioning');
    expect(partitioning.selector(12)).toBe('12');
    expect(partitioning.partition('abc', 2)).toBe(1);
  });

  test('gives the second stream of connect input 1, and a broadcast stream its partitioning', () => {
    const { nodes } = described((env) => {
      const a = numbers(env, 'a').keyBy((n) => n);
      a.connect(numbers(env, 'b').keyBy((n) => n)).process({ processElement1() {}, processElement2() {} });
      a.connect(numbers(env, 'c').broadcast({ rules: mapState<number, number>() })).process({
        processElement() {},
        processBroadcastElement() {},
      });
    });
    const [co, broadcast] = nodes.filter(({ label }) => label === 'connect.process');
    expect(edgesOf(co)).toEqual([
      [0, 'hash', 0, undefined],
      [1, 'hash', 1, undefined],
    ]);
    expect(edgesOf(broadcast)).toEqual([
      [0, 'hash', 0, undefined],
      [3, 'broadcast', 1, undefined],
    ]);
    expect(broadcast?.operator.kind === 'broadcastProcess' && Object.keys(broadcast.operator.broadcastState)).toEqual(['rules']);
  });

  test('makes every rolling and windowed result of a keyed process', () => {
    interface Row {
      k: string;
      n: number;
    }
    const { nodes } = described((env) => {
      const rows = env.fromCollection<Row>([], { uid: 'rows' }).keyBy((r) => r.k);
      rows.sum('n');
      rows.min('n');
      rows.maxBy('k');
      rows.reduce((a) => a);
      rows
        .window(TumblingEventTimeWindows.of('1 min'))
        .allowedLateness('1 s')
        .reduce((a) => a);
    });
    expect(nodes.slice(1).map(({ label, operator, isStateful }) => [label, operator.kind, isStateful])).toEqual(
      ['sum(n)', 'min(n)', 'maxBy(k)', 'reduce', 'window.reduce'].map((label) => [label, 'keyedProcess', true]),
    );
  });

  test('says names and parallelisms of the operator made last', () => {
    const { nodes } = described((env) => {
      numbers(env)
        .setParallelism(1)
        .map((n) => n)
        .name('same')
        .setParallelism(3)
        .setMaxParallelism(64)
        .uid('m')
        .sinkTo(nowhere(), { uid: 'out', name: 'end', parallelism: 2 });
    });
    expect(nodes.map(({ uid, name, parallelism, maxParallelism }) => [uid, name, parallelism, maxParallelism])).toEqual([
      ['numbers', undefined, 1, undefined],
      ['m', 'same', 3, 64],
      ['out', 'end', 2, undefined],
    ]);
  });

  test('lets a sink without memory go without a uid', () => {
    const { nodes } = described((env) => numbers(env).sinkTo({ ...nowhere<number>(), isStateless: true }));
    expect(nodes[1]?.isStateful).toBe(false);
  });
});

describe('a stream is refused', () => {
  test.each([
    ['uid after rebalance', (s: DataStream<number>) => s.rebalance().uid('x'), 'STREAM_WITHOUT_OPERATOR', 'rebalance is no operator'],
    ['parallelism of a union', (s: DataStream<number>) => s.union(s).setParallelism(2), 'STREAM_WITHOUT_OPERATOR', 'union'],
    [
      'a side output of a map',
      (s: DataStream<number>) => s.map((n) => n).getSideOutput(new OutputTag('x')),
      'FUNCTION_INVALID',
      "side output 'x'",
    ],
    ['a uid with a slash', (s: DataStream<number>) => s.map((n) => n).uid('a/b'), 'NAME_INVALID', "'a/b'"],
    ['an empty uid', (s: DataStream<number>) => s.map((n) => n).uid(''), 'NAME_INVALID', 'the uid of map'],
    ['a parallelism of 0', (s: DataStream<number>) => s.map((n) => n).setParallelism(0), 'OPTION_INVALID', 'not 0'],
    ['a parallelism above the bound', (s: DataStream<number>) => s.map((n) => n).setMaxParallelism(32_769), 'OPTION_INVALID', '32768'],
    ['an async map', (s: DataStream<number>) => s.map(async (n) => n), 'FUNCTION_ASYNC', 'map'],
    ['an async process', (s: DataStream<number>) => s.process({ async processElement() {} }), 'FUNCTION_ASYNC', 'processElement'],
    [
      'a state that is no map in broadcast',
      (s: DataStream<number>) => s.broadcast({ n: valueState<number>() }),
      'FUNCTION_INVALID',
      "'n' is a value state",
    ],
    [
      'an option of sinkTo that nobody reads',
      (s: DataStream<number>) => s.sinkTo(nowhere(), { uuid: 'x' } as never),
      'OPTION_UNKNOWN',
      "did you mean 'uid'?",
    ],
    [
      'watermarks that are no strategy',
      (s: DataStream<number>) => s.assignTimestampsAndWatermarks({} as never),
      'FUNCTION_INVALID',
      'WatermarkStrategy',
    ],
    ['a window that is none', (s: DataStream<number>) => s.keyBy((n) => n).window({} as never), 'FUNCTION_INVALID', 'window assigner'],
    [
      'a stream to connect that is not keyed',
      (s: DataStream<number>) => s.keyBy((n) => n).connect(s as never),
      'FUNCTION_INVALID',
      'keyBy',
    ],
    [
      'timers without keys',
      (s: DataStream<number>) => s.process({ processElement() {}, onTimer() {} } as never),
      'FUNCTION_INVALID',
      'keyBy',
    ],
    ['a map that is no function', (s: DataStream<number>) => s.map(1 as never), 'OPTION_INVALID', 'not a number'],
  ])('%s', (_what, use, code, words) => {
    const error = refusal(() => described((env) => void use(numbers(env))));
    expect([error.code, error.details['job']]).toEqual([code, 'test']);
    expect(error.message).toContain(words);
  });

  test('a stream of another build, because its nodes are not there', () => {
    let other: DataStream<number> | undefined;
    described((env) => void (other = numbers(env)));
    expect(refusal(() => described((env) => void numbers(env).union(other as DataStream<number>))).message).toContain('two builds');
  });

  test('a call after the build function has returned', () => {
    let kept: DataStream<number> | undefined;
    let keptEnv: Env | undefined;
    described((env) => {
      keptEnv = env;
      kept = numbers(env);
    });
    expect(refusal(() => kept?.map((n) => n)).code).toBe('JOB_ALREADY_BUILT');
    expect(refusal(() => keptEnv?.setParallelism(2)).code).toBe('JOB_ALREADY_BUILT');
  });
});

test('idleness behind the source is refused, because nothing would look for it', () => {
  const strategy = WatermarkStrategy.forMonotonousTimestamps<number>().withTimestamps((n) => n);
  described((env) => {
    const stream = numbers(env);
    stream.assignTimestampsAndWatermarks(strategy);
    expect(refusal(() => stream.assignTimestampsAndWatermarks(strategy.withIdleness('1 min')))).toMatchObject({
      code: 'FEATURE_NOT_AVAILABLE',
      message: expect.stringContaining('withIdleness'),
    });
  });
});

test('a watermark strategy never changes; each with… gives another', () => {
  const plain = WatermarkStrategy.forBoundedOutOfOrderness<number>('5 s');
  const timed = plain.withTimestamps((n) => n).withIdleness('1 min');
  expect([plain.timestamps, plain.idlenessMs]).toEqual([undefined, undefined]);
  expect([timed.kind, timed.boundMs, timed.idlenessMs, timed.timestamps?.(7, undefined)]).toEqual([
    'bounded-out-of-orderness',
    5_000,
    60_000,
    7,
  ]);
  expect(refusal(() => plain.withIdleness(0)).code).toBe('OPTION_INVALID');
  expect(() => Object.assign(plain, { boundMs: 1 })).toThrow(TypeError);
});
