import { isSluiceError, SluiceError } from '../core/errors.ts';
import { bindFiles } from './bind-files.ts';
import type { Compositions } from './compositions.ts';
import type { JobDescription } from './description.ts';
import { EnvironmentBuilder } from './environment-builder.ts';
import { GraphBuilder } from './graph-builder.ts';
import type { Job } from './job.ts';
import { type JobDefaults, resolveSettings } from './options.ts';
import type { Params } from './params.ts';

// describe.ts calls a job's build function and hands back what it described. Whether the description makes sense is for graph/ to say.

/**
 * Describes a job with the given operators behind the stream algebra; `describe` in operators/describe.ts is the one to call.
 * @throws SluiceError of whatever the build function got wrong, with the job's name; `JOB_BUILD_THREW` for its own errors,
 *   `JOB_BUILD_ASYNC` when it returns a promise
 */
export function describeWith(compositions: Compositions, job: Job, params: Params, defaults?: JobDefaults): JobDescription {
  const graph = new GraphBuilder(job.name, compositions);
  const env = new EnvironmentBuilder(graph);
  try {
    const returned: unknown = job.build(env, params);
    if (returned instanceof Promise) {
      returned.catch(() => {}); // what it would say is of no use: it goes on against a closed job
      throw asyncBuild(job.name);
    }
    const nodes = defaults?.bind === undefined ? graph.nodes : bindFiles(graph.nodes, defaults.bind);
    return { job: job.name, nodes, settings: resolveSettings(env.settings, defaults) };
  } catch (error) {
    if (isSluiceError(error)) throw error.at({ job: job.name });
    throw new SluiceError('JOB_BUILD_THREW', {
      message: `the build function of '${job.name}' threw ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`,
      next: 'fix-the-job',
      cause: error,
      job: job.name,
    });
  } finally {
    graph.close();
  }
}

function asyncBuild(job: string): SluiceError {
  return new SluiceError('JOB_BUILD_ASYNC', {
    message: `the build function of '${job}' is async; it only describes the job, so load what it needs before, or inside a source`,
    next: 'fix-the-job',
    job,
  });
}
