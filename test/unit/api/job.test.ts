import { describe, expect, test } from 'vitest';
import { defineJob, isJob } from '../../../lib/api/job.ts';
import { ParamValues, variableOf } from '../../../lib/api/params.ts';
import type { SourceOutput } from '../../../lib/api/source.ts';
import { compile } from '../../../lib/graph/compile.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';
import { described, refusal } from './building.ts';

describe('a job', () => {
  test('is a name and a build function, and is known as one', () => {
    const job = defineJob('late-flights', () => {});
    expect([job.name, isJob(job), isJob({ ...job }), isJob(undefined), isJob({ name: 'x' })]).toEqual([
      'late-flights',
      true,
      true,
      false,
      false,
    ]);
  });

  test.each(['', 'a/b', '.hidden', '-x', 'ä', 'a b', 'x'.repeat(121), 5])('is not called %j', (name) => {
    expect(refusal(() => defineJob(name as string, () => {})).code).toBe('NAME_INVALID');
  });

  test('is refused without a build function, with an async one, and with one that throws', () => {
    expect(refusal(() => defineJob('x', undefined as never)).code).toBe('OPTION_INVALID');
    expect(refusal(() => described((async () => {}) as never)).code).toBe('JOB_BUILD_ASYNC');
    const thrown = new TypeError('oops');
    const error = refusal(() =>
      described(() => {
        throw thrown;
      }),
    );
    expect([error.code, error.cause, error.details['job']]).toEqual(['JOB_BUILD_THREW', thrown, 'test']);
    expect(error.message).toContain('oops');
  });

  test('may be built again and gives the same plan', () => {
    const job = defineJob('x', (env) => void env.fromSequence(1, 3, { uid: 'a' }).map((n) => n));
    const once = compile(describeJob(job, new ParamValues(new Map())));
    const again = compile(describeJob(job, new ParamValues(new Map())));
    expect(again.hash).toBe(once.hash);
  });
});

describe('sources in the job itself', () => {
  const read = (build: Parameters<typeof described>[0], max = 100, from?: { index: number; at: unknown }): readonly unknown[] => {
    const [node] = described(build).nodes;
    if (node?.operator.kind !== 'source') throw new Error('no source');
    const reader = node.operator.source.open({ id: 'all' }, from, undefined as never);
    const out: SourceOutput<unknown> = { values: [], count: 0, side: () => {} };
    while (!reader.hasEnded && out.count < 1_000) reader.poll(out, max);
    return out.values.slice(0, out.count);
  };

  test('hand out what they were given, in order, whatever the size of a poll', () => {
    const letters = ['a', 'b', 'c'];
    for (const max of [1, 2, 100]) expect(read((env) => void env.fromCollection(new Set(letters), { uid: 's' }), max)).toEqual(letters);
    expect(read((env) => void env.fromSequence(-1, 2, { uid: 's' }))).toEqual([-1, 0, 1, 2]);
    expect(read((env) => void env.generate((i) => i * i, { uid: 's', count: 4 }))).toEqual([0, 1, 4, 9]);
    expect(read((env) => void env.fromCollection([], { uid: 's' }))).toEqual([]);
  });

  test('go on from a position', () => {
    expect(read((env) => void env.fromSequence(1, 5, { uid: 's' }), 2, { index: 3, at: 3 })).toEqual([4, 5]);
  });

  test('copy a collection, so that later changes are not part of the job', () => {
    const values = [1];
    const build = described((env) => void env.fromCollection(values, { uid: 's' }));
    values.push(2);
    const { operator } = build.nodes[0]!;
    const reader = operator.kind === 'source' ? operator.source.open({ id: 'all' }, undefined, undefined as never) : undefined;
    const out: SourceOutput<unknown> = { values: [], count: 0, side: () => {} };
    reader?.poll(out, 10);
    expect(out.values).toEqual([1]);
  });

  test.each([
    [
      'a source that is none',
      (env: Parameters<Parameters<typeof described>[0]>[0]) => env.fromSource({} as never, { uid: 's' }),
      'OPTION_INVALID',
    ],
    [
      'an unknown option',
      (env: Parameters<Parameters<typeof described>[0]>[0]) => env.fromSequence(1, 2, { uid: 's', watermark: 1 } as never),
      'OPTION_UNKNOWN',
    ],
    [
      'a count of half a record',
      (env: Parameters<Parameters<typeof described>[0]>[0]) => env.generate((i) => i, { uid: 's', count: 0.5 }),
      'OPTION_INVALID',
    ],
    [
      'a sequence backwards',
      (env: Parameters<Parameters<typeof described>[0]>[0]) => env.fromSequence(2, 1, { uid: 's' }),
      'OPTION_INVALID',
    ],
    [
      'a collection that is none',
      (env: Parameters<Parameters<typeof described>[0]>[0]) => env.fromCollection(5 as never, { uid: 's' }),
      'OPTION_INVALID',
    ],
  ])('refuse %s', (_what, use, code) => {
    expect(refusal(() => described((env) => void use(env))).code).toBe(code);
  });
});

describe('parameters', () => {
  const params = new ParamValues(
    new Map([
      ['n', ' 1e3 '],
      ['flag', ''],
      ['no', 'FALSE'],
      ['wait', '10s'],
      ['text', 'x'],
    ]),
  );

  test('are read as what they are asked for, and fall back where there is none', () => {
    expect([params.required('text'), params.get('other', 'y')]).toEqual(['x', 'y']);
    expect([params.number('n'), params.number('m', 7)]).toEqual([1_000, 7]);
    expect([params.boolean('flag'), params.boolean('no'), params.boolean('other', true)]).toEqual([true, false, true]);
    expect([params.duration('wait'), params.duration('other', '2 min')]).toEqual([10_000, 120_000]);
  });

  test('are refused by name when they are missing or something else', () => {
    const missing = refusal(() => params.required('max-rows'));
    expect([missing.code, missing.next]).toEqual(['PARAM_MISSING', 'fix-the-command']);
    expect(missing.message).toContain('--max-rows');
    expect(missing.message).toContain(variableOf('max-rows'));
    for (const call of [() => params.number('text'), () => params.boolean('text')]) expect(refusal(call).code).toBe('PARAM_INVALID');
    for (const call of [() => params.number('x'), () => params.boolean('x'), () => params.duration('x')])
      expect(refusal(call).code).toBe('PARAM_MISSING');
    expect(refusal(() => params.duration('text')).code).toBe('DURATION_INVALID');
    for (const text of ['', '1,5', '0x10', 'NaN', 'Infinity', '1_000'])
      expect(refusal(() => new ParamValues(new Map([['a', text]])).number('a')).code).toBe('PARAM_INVALID');
  });

  test('remember what was asked for, so that a flag for nobody is found', () => {
    const fresh = new ParamValues(new Map([['a', '1']]));
    fresh.get('b', '');
    fresh.number('a');
    expect([...fresh.namesRead]).toEqual(['b', 'a']);
  });

  test('are variables in capitals', () => {
    expect(['input', 'max-rows', 'maxRows', 'a.b'].map(variableOf)).toEqual([
      'SLUICE_INPUT',
      'SLUICE_MAX_ROWS',
      'SLUICE_MAX_ROWS',
      'SLUICE_A_B',
    ]);
  });
});
