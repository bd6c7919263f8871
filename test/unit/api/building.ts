// Builds jobs for tests that look at what was described.

import type { JobDescription } from '../../../lib/api/description.ts';
import type { Env } from '../../../lib/api/environment.ts';
import { defineJob } from '../../../lib/api/job.ts';
import type { JobDefaults } from '../../../lib/api/options.ts';
import { type Params, ParamValues } from '../../../lib/api/params.ts';
import type { Sink } from '../../../lib/api/sink.ts';
import type { SluiceError } from '../../../lib/core/errors.ts';
import { isSluiceError } from '../../../lib/core/errors.ts';
import { compile } from '../../../lib/graph/compile.ts';
import type { Plan } from '../../../lib/graph/plan.ts';
import { describe } from '../../../lib/operators/describe.ts';

export type Build = (env: Env, params: Params) => void;

export const described = (build: Build, defaults?: JobDefaults): JobDescription =>
  describe(defineJob('test', build), new ParamValues(new Map()), defaults);

export const planned = (build: Build, defaults?: JobDefaults): Plan => compile(described(build, defaults));

/** The error that a call must throw. */
export function refusal(call: () => unknown): SluiceError {
  try {
    call();
  } catch (error) {
    if (isSluiceError(error)) return error;
    throw new Error('it threw, but no error of ours', { cause: error });
  }
  throw new Error('it was not refused');
}

/** A sink that nobody writes to. */
export function nowhere<T>(): Sink<T> {
  return {
    kind: 'nowhere',
    recover: () => undefined,
    createWriter: () => {
      throw new Error('nothing runs in this test');
    },
  };
}
