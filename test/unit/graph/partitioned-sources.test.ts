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
