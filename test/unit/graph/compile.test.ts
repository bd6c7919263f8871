import { describe, expect, test } from 'vitest';
import type { Env } from '../../../lib/api/environment.ts';
import { type Collector, OutputTag } from '../../../lib/api/functions.ts';
import { mapState, valueState } from '../../../lib/api/state.ts';
import type { DataStream } from '../../../lib/api/stream.ts';
import { ndjson } from '../../../lib/connectors/formats/ndjson.ts';
import { fileSink } from '../../../lib/connectors/sinks/file-sink.ts';
import { compile } from '../../../lib/graph/compile.ts';
import type { Plan, Target } from '../../../lib/graph/plan.ts';
import { type Build, described, nowhere, planned, refusal } from '../api/building.ts';

const numbers = (env: Env, uid = 'numbers'): DataStream<number> => env.fromSequence(1, 9, { uid });
const pass = {
  processElement(value: number, _ctx: unknown, out: Collector<number>) {
    out.collect(value);
  },
};
const stagesOf = (plan: Plan): readonly (readonly string[])[] => plan.stages.map(({ operators }) => operators.map(({ uid }) => uid));
const exchangesOf = (plan: Plan): readonly string[] =>
  plan.stages
    .flatMap(({ outlets }) => outlets)
    .sort((a, b) => a.id - b.id)
    .map((e) => `${e.fromStage}.${e.outlet}-${e.partitioning.kind}->${e.toStage}.${e.input}`);
const told = (targets: readonly Target[]): readonly string[] =>
  targets.map((t) => (t.kind === 'operator' ? `operator ${t.operator}` : `outlet ${t.outlet}`));

describe('chaining (P1)', () => {
  test('joins operators of one parallelism into one stage', () => {
    const plan = planned((env) =>
      numbers(env)
        .map((n) => n)
        .uid('m')
        .filter(() => true)
        .uid('f')
        .sinkTo(nowhere(), { uid: 'out' }),
    );
    expect(stagesOf(plan)).toEqual([['numbers', 'm', 'f', 'out']]);
    expect(exchangesOf(plan)).toEqual([]);
  });

  test('is cut by keyBy, by another parallelism, by a union and by every partitioning but forward', () => {
    const cuts: readonly (readonly [string, Build, string])[] = [
      [
        'keyBy',
        (env) =>
          void numbers(env)
            .keyBy((n) => n)
            .process(pass)
            .uid('x'),
        '0.0-hash->1.0',
      ],
      [
        'parallelism',
        (env) =>
          void numbers(env)
            .map((n) => n)
            .uid('x')
            .setParallelism(2),
        '0.0-rebalance->1.0',
      ],
      [
        'rebalance',
        (env) =>
          void numbers(env)
            .rebalance()
            .map((n) => n)
            .uid('x'),
        '0.0-rebalance->1.0',
      ],
      [
        'rescale',
        (env) =>
          void numbers(env)
            .rescale()
            .map((n) => n)
            .uid('x'),
        '0.0-rescale->1.0',
      ],
      [
        'shuffle',
        (env) =>
          void numbers(env)
            .shuffle()
            .map((n) => n)
            .uid('x'),
        '0.0-shuffle->1.0',
      ],
      [
        'broadcast',
        (env) =>
          void numbers(env)
            .broadcast()
            .map((n) => n)
            .uid('x'),
        '0.0-broadcast->1.0',
      ],
      [
        'global',
        (env) =>
          void numbers(env)
            .global()
            .map((n) => n)
            .uid('x'),
        '0.0-global->1.0',
      ],
      [
        'custom',
        (env) =>
          void numbers(env)
            .partitionCustom(
              () => 0,
              (n) => n,
            )
            .map((n) => n)
            .uid('x'),
        '0.0-custom->1.0',
      ],
    ];
    for (const [what, build, exchange] of cuts) {
      const plan = planned(build);
      expect([what, stagesOf(plan), exchangesOf(plan)]).toEqual([what, [['numbers'], ['x']], [exchange]]);
    }
    expect(
      stagesOf(
        planned(
          (env) =>
            void numbers(env)
              .forward()
              .map((n) => n)
              .uid('x'),
        ),
      ),
    ).toEqual([['numbers', 'x']]);
  });

  test('keeps a union on forward exchanges where the parallelism is one', () => {
    const plan = planned(
      (env) =>
        void numbers(env, 'a')
          .union(
            numbers(env, 'b'),
            numbers(env, 'c')
              .map((n) => n)
              .uid('m')
              .setParallelism(2),
          )
          .map((n) => n)
          .uid('u'),
    );
    expect(stagesOf(plan)).toEqual([['a'], ['b'], ['c'], ['m'], ['u']]);
    expect(exchangesOf(plan)).toEqual(['2.0-rebalance->3.0', '0.0-forward->4.0', '1.0-forward->4.0', '3.0-rebalance->4.0']);
  });

  test('delivers a stream twice that was united with itself', () => {
    const plan = planned((env) => {
      const a = numbers(env);
      a.union(a)
        .map((n) => n)
        .uid('u');
    });
    expect(exchangesOf(plan)).toEqual(['0.0-forward->1.0', '0.1-forward->1.0']);
    expect(told(plan.stages[0]!.operators[0]!.targets)).toEqual(['outlet 0', 'outlet 1']);
  });
});

describe('a stage', () => {
  test('may branch, and each operator knows where its records and side outputs go', () => {
    const tag = new OutputTag<number>('odd');
    const plan = planned((env) => {
      const source = numbers(env);
      const split = source.process(pass).uid('split');
      split.map((n) => n).uid('even');
      split
        .getSideOutput(tag)
        .map((n) => n)
        .uid('odd');
      split
        .getSideOutput(tag)
        .keyBy((n) => n)
        .process(pass)
        .uid('keyed');
      source
        .keyBy((n) => n)
        .process(pass)
        .uid('direct');
    });
    expect(stagesOf(plan)).toEqual([['numbers', 'split', 'even', 'odd'], ['keyed'], ['direct']]);
    const [source, split] = plan.stages[0]!.operators;
    expect(told(source!.targets)).toEqual(['operator 1', 'outlet 1']);
    expect(told(split!.targets)).toEqual(['operator 2']);
    expect([...split!.sideTargets].map(([id, targets]) => [id, told(targets)])).toEqual([['odd', ['operator 3', 'outlet 0']]]);
    expect(exchangesOf(plan)).toEqual(['0.0-hash->1.0', '0.1-hash->2.0']);
  });

  test('reads the second stream of connect on input 1 of its head', () => {
    const plan = planned((env) => {
      numbers(env, 'a')
        .keyBy((n) => n)
        .connect(numbers(env, 'b').keyBy((n) => n))
        .process({ processElement1() {}, processElement2() {} })
        .uid('co');
      numbers(env, 'c')
        .keyBy((n) => n)
        .connect(numbers(env, 'd').broadcast({ r: mapState<number, number>() }))
        .process({ processElement() {}, processBroadcastElement() {} })
        .uid('rules');
    });
    expect(exchangesOf(plan)).toEqual(['0.0-hash->2.0', '1.0-hash->2.1', '3.0-hash->5.0', '4.0-broadcast->5.1']);
    expect(plan.stages[2]!.inputs.map(({ id, input }) => [id, input])).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  test('has the parallelism and the maximum parallelism of its head', () => {
    const plan = planned((env) => {
      env.setParallelism(2);
      env.setMaxParallelism(64);
      numbers(env)
        .keyBy((n) => n)
        .process(pass)
        .uid('a')
        .setParallelism(3)
        .setMaxParallelism(12)
        .sinkTo(nowhere(), { uid: 'out', parallelism: 3 });
    });
    expect(plan.stages.map(({ parallelism, maxParallelism }) => [parallelism, maxParallelism])).toEqual([
      [2, 64],
      [3, 12],
    ]);
    expect(stagesOf(plan)).toEqual([['numbers'], ['a', 'out']]);
  });
});

test('uids that nobody gave come from the place, are unique, and cannot be typed', () => {
  const plan = planned((env) => {
    const source = numbers(env);
    source
      .map((n) => n)
      .filter(() => true)
      .filter(() => true);
    source.map((n) => n);
    source.union(source).map((n) => n);
  });
  expect(stagesOf(plan).flat()).toEqual([
    'numbers',
    'numbers~map',
    'numbers~map~filter',
    'numbers~map~filter~filter',
    'numbers~map-2',
    'numbers~map-3',
  ]);
});

describe('a job is refused', () => {
  test.each<readonly [string, Build, string, string]>([
    ['without operators', () => {}, 'JOB_EMPTY', 'env.fromSource'],
    ['with a source without uid', (env) => void env.fromSequence(1, 2, {} as never), 'UID_MISSING', 'fromSequence has no uid'],
    [
      'with a keyed process without uid',
      (env) =>
        void numbers(env)
          .filter(() => true)
          .keyBy((n) => n)
          .process(pass),
      'UID_MISSING',
      'numbers → filter → keyBy.process',
    ],
    ['with a factory without uid', (env) => void numbers(env).process(() => pass), 'UID_MISSING', ".uid('…')"],
    [
      'with a reduce without uid',
      (env) =>
        void numbers(env)
          .keyBy((n) => n)
          .reduce((a) => a),
      'UID_MISSING',
      'reduce',
    ],
    ['with a sink without uid', (env) => numbers(env).sinkTo(nowhere()), 'UID_MISSING', ".sinkTo(sink, { uid: '…' })"],
    [
      'with two sinks in one directory',
      (env) => {
        numbers(env).sinkTo(fileSink({ path: 'out', format: ndjson() }), { uid: 'a' });
        numbers(env, 'more').sinkTo(fileSink({ path: './out/', format: ndjson() }), { uid: 'b' });
      },
      'SINK_TARGET_DUPLICATE',
      'two sinks write to directory out',
    ],
    [
      'with one uid for two operators',
      (env) =>
        void numbers(env)
          .map((n) => n)
          .uid('numbers'),
      'UID_DUPLICATE',
      "'numbers' is used twice: by fromSequence and by map (numbers → numbers)",
    ],
    [
      'above its maximum parallelism',
      (env) => {
        env.setParallelism(200);
        numbers(env);
      },
      'PARALLELISM_INVALID',
      'parallelism 200, above its maximum parallelism 128',
    ],
    [
      'with an operator above its own',
      (env) =>
        void numbers(env)
          .map((n) => n)
          .setMaxParallelism(2)
          .setParallelism(3),
      'PARALLELISM_INVALID',
      'map (numbers → map)',
    ],
    [
      'with forward between two parallelisms',
      (env) =>
        void numbers(env)
          .forward()
          .map((n) => n)
          .setParallelism(2),
      'FORWARD_INVALID',
      'at parallelism 1 to map at 2',
    ],
  ])('%s', (_what, build, code, words) => {
    const error = refusal(() => planned(build));
    expect([error.code, error.details['job'], error.next]).toEqual([code, 'test', 'fix-the-job']);
    expect(error.message).toContain(words);
  });
});

describe('the hash of a plan (P4)', () => {
  const base: Build = (env) =>
    void numbers(env)
      .filter(() => true)
      .keyBy((n) => n)
      .process({ state: { n: valueState<number>() }, ...pass })
      .uid('p');
  const hashOf = (build: Build, forcedParallelism = 1): string => compile(described(build, { forcedParallelism })).hash;

  test('is the same for other code, other names, another parallelism and another order of branches', () => {
    expect(
      hashOf(
        (env) =>
          void numbers(env)
            .filter((n) => n > 5)
            .name('big')
            .keyBy((n) => n + 1)
            .process({ state: { n: valueState<number>() }, ...pass })
            .uid('p'),
      ),
    ).toBe(hashOf(base));
    expect(hashOf(base, 3)).toBe(hashOf(base));
    const branches = (first: string, second: string): string =>
      hashOf((env) => {
        const source = numbers(env);
        for (const uid of [first, second]) source.map((n) => n).uid(uid);
      });
    expect(branches('a', 'b')).toBe(branches('b', 'a'));
  });

  test.each<readonly [string, Build]>([
    [
      'uid',
      (env) =>
        void numbers(env)
          .filter(() => true)
          .keyBy((n) => n)
          .process({ state: { n: valueState<number>() }, ...pass })
          .uid('q'),
    ],
    [
      'state',
      (env) =>
        void numbers(env)
          .filter(() => true)
          .keyBy((n) => n)
          .process({ state: { m: valueState<number>() }, ...pass })
          .uid('p'),
    ],
    [
      'version of a state',
      (env) =>
        void numbers(env)
          .filter(() => true)
          .keyBy((n) => n)
          .process({ state: { n: valueState<number>({ version: 1 }) }, ...pass })
          .uid('p'),
    ],
    [
      'operator more',
      (env) =>
        void numbers(env)
          .filter(() => true)
          .filter(() => true)
          .keyBy((n) => n)
          .process({ state: { n: valueState<number>() }, ...pass })
          .uid('p'),
    ],
    [
      'maximum parallelism',
      (env) => {
        env.setMaxParallelism(64);
        base(env, undefined as never);
      },
    ],
  ])('changes with another %s', (_what, build) => {
    expect(hashOf(build)).not.toBe(hashOf(base));
  });
});
