import { describe, expect, test } from 'vitest';
import { ParamValues } from '../../../lib/api/params.ts';
import { compile } from '../../../lib/graph/compile.ts';
import { defineJob, type Env, valueState } from '../../../lib/index.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';

interface Click {
  readonly user: string;
}

const user = (c: Click): string => c.user;
const count = { state: { seen: valueState<number>() }, processElement: (): void => undefined };

function stagesOf(build: (env: Env) => void, keepsPartitions: boolean): readonly string[] {
  return compile(describeJob(defineJob('clicks', build), new ParamValues(new Map())), { keepsPartitions }).stages.map(({ name }) => name);
}

describe('a source that is partitioned by a key', () => {
  const keyed = (selector: (c: Click) => string) => (env: Env) =>
    void env
      .fromCollection<Click>([], { uid: 'in', partitionedBy: user })
      .filter((c) => c.user !== '')
      .keyBy(selector)
      .process(count)
      .uid('count');

  test('needs no exchange before that key where splits are kept apart', () => {
    expect(stagesOf(keyed(user), true)).toHaveLength(1);
    expect(
      stagesOf(
        keyed((c: Click): string => c.user),
        true,
      ),
    ).toHaveLength(1);
  });

  test('is known by what a selector says, not by its layout or what it calls its argument', () => {
    const selectors: readonly (readonly [selector: string, stages: number])[] = [
      ['(c           )         => c.user', 1],
      ['e=>e.user', 1],
      ['user=>user.user', 1],
      ['c=>c.c', 2],
      ['c => c["user"]', 2],
      ['function (c) { return c.user }', 2],
    ];
    for (const [text, stages] of selectors) {
      const selector = new Function(`return ${text}`)() as (c: Click) => string;
      expect(stagesOf(keyed(selector), true), text).toHaveLength(stages);
    }
  });

  test('is like any other where they are not, and before another key', () => {
    expect(stagesOf(keyed(user), false)).toHaveLength(2);
    expect(
      stagesOf(
        keyed((c) => c.user.toLowerCase()),
        true,
      ),
    ).toHaveLength(2);
  });

  test('does not help behind a map, which may change the key', () => {
    const build = (env: Env): void =>
      void env
        .fromCollection<Click>([], { uid: 'in', partitionedBy: user })
        .map((c) => ({ user: c.user.toUpperCase() }))
        .keyBy(user)
        .process(count)
        .uid('count');
    expect(stagesOf(build, true)).toHaveLength(2);
  });
});
