// Which operators carry what caused their records, and which edges mark it.

import { describe, expect, test } from 'vitest';
import type { Env } from '../../../lib/api/environment.ts';
import { type Collector, OutputTag } from '../../../lib/api/functions.ts';
import type { DataStream } from '../../../lib/api/stream.ts';
import { idempotentSink } from '../../../lib/connectors/sinks/idempotent.ts';
import type { Plan } from '../../../lib/graph/plan.ts';
import { type Build, nowhere, planned } from '../api/building.ts';

const asking = () => idempotentSink<number>({ write: () => {} });
const numbers = (env: Env, uid = 'numbers'): DataStream<number> => env.fromSequence(1, 9, { uid });
const pass = {
  processElement(value: number, _ctx: unknown, out: Collector<number>) {
    out.collect(value);
  },
};

function carriers(plan: Plan): readonly string[] {
  return plan.stages.flatMap(({ operators }) => operators.filter((o) => o.carriesOrigins === true).map(({ uid }) => uid));
}

function marks(build: Build): readonly (string | undefined)[] {
  return planned(build)
    .stages.flatMap(({ outlets }) => outlets)
    .sort((a, b) => a.id - b.id)
    .map(({ originMark }) => originMark);
}

describe('carrying', () => {
  test('a job without a sink that asks has nothing of it in its plan', () => {
    const plan = planned((env) => numbers(env).union(numbers(env, 'more')).sinkTo(nowhere(), { uid: 'out' }));
    expect(JSON.stringify(plan)).not.toMatch(/origin/i);
  });

  test('only what leads to a sink that asks carries origins, over exchanges too', () => {
    const plan = planned((env) => {
      const n = numbers(env);
      n.map((x) => x)
        .uid('plain')
        .sinkTo(nowhere(), { uid: 'out' });
      n.filter(() => true)
        .uid('kept')
        .keyBy((x) => x)
        .process(pass)
        .uid('keyed')
        .sinkTo(asking(), { uid: 'rows' });
      numbers(env, 'other').sinkTo(nowhere(), { uid: 'elsewhere' });
    });
    expect(carriers(plan)).toEqual(['numbers', 'kept', 'keyed', 'rows']);
  });

  test('asking changes no hash: a sink may be exchanged for one that asks', () => {
    const [plain, rows] = [nowhere(), asking()].map((sink) => planned((env) => numbers(env).sinkTo(sink, { uid: 'out' })).hash);
    expect(rows).toBe(plain);
  });
});

describe('marking', () => {
  test('streams of different sources meet without marks', () => {
    expect(marks((env) => numbers(env).union(numbers(env, 'more')).sinkTo(asking(), { uid: 'out' }))).toEqual([undefined, undefined]);
  });

  test('edges that share a source are marked by their sender, those beside them are not', () => {
    expect(
      marks((env) => {
        const n = numbers(env);
        const doubled = n.map((x) => x * 2).uid('doubled');
        n.union(numbers(env, 'more'), doubled, doubled).sinkTo(asking(), { uid: 'out' });
      }),
    ).toEqual(['(numbers)', undefined, '(doubled)', '(doubled*2)']);
  });

  test('a side output is told from the main output, whatever characters its tag has', () => {
    const tag = new OutputTag<number>('a(b)/*é');
    expect(
      marks((env) => {
        const main = numbers(env).process(pass).uid('p');
        main.union(main.getSideOutput(tag)).sinkTo(asking(), { uid: 'out' });
      }),
    ).toEqual(['(p)', '(p:a%0028b%0029%002f%002a%00e9)']);
  });

  test('timers of one operator that come on two ways are marked as its records are', () => {
    expect(
      marks((env) => {
        const keyed = numbers(env)
          .keyBy((x) => x)
          .process(pass)
          .uid('keyed');
        keyed
          .map((x) => x)
          .uid('a')
          .union(keyed.map((x) => x).uid('b'))
          .sinkTo(asking(), { uid: 'out' });
      }),
    ).toEqual([undefined, '(a)', '(b)']);
  });

  test('nothing is marked where nobody asks', () => {
    expect(
      marks((env) => {
        const n = numbers(env);
        n.sinkTo(asking(), { uid: 'rows' });
        n.union(n).sinkTo(nowhere(), { uid: 'out' });
      }),
    ).toEqual([undefined, undefined]);
  });
});
