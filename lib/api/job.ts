import { SluiceError } from '../core/errors.ts';
import { nameOfKind } from '../core/kinds.ts';
import type { Env } from './environment.ts';
import { checkName } from './names.ts';
import type { Params } from './params.ts';

// job.ts is the name of a job and the function that describes it. `describe` in operators/describe.ts calls that function.

/** A job: what a module exports as its default. */
export interface Job {
  readonly name: string;
  /** Describes the job and runs nothing. May be called again, so it depends on nothing but `params`. */
  readonly build: (env: Env, params: Params) => void;
}

/**
 * Names a job and says how it is built.
 * @param name  letters, digits, `_`, `-` and `.`; part of paths and of transaction names, and how the command line finds the job's checkpoints
 * @throws SluiceError `NAME_INVALID`, or `OPTION_INVALID` when `build` is no function
 */
export function defineJob(name: string, build: (env: Env, params: Params) => void): Job {
  checkName('the name of a job', name);
  if (typeof build !== 'function') {
    throw new SluiceError('OPTION_INVALID', {
      message: `defineJob('${name}', build): build is a function of (env, params), not ${nameOfKind(build)}`,
      next: 'fix-the-job',
      job: name,
    });
  }
  return Object.freeze({ name, build });
}

/** True for what `defineJob` made, also in another copy of the package. */
export function isJob(value: unknown): value is Job {
  if (typeof value !== 'object' || value === null) return false;
  const { name, build } = value as Partial<Job>;
  return typeof name === 'string' && typeof build === 'function';
}
