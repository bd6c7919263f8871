// Handlers of a deployed job's functions, made of the user's module. `functions/` has a file for each role.
import middy from '@middy/core';
import { systemClock } from '../adapters/embedded/system-clock.ts';
import { isJob, type Job } from '../api/job.ts';
import { SluiceError } from '../core/errors.ts';
import { around } from './around.ts';
import { StageAtHome } from './at-home.ts';
import { isControlEvent } from './control-call.ts';
import { deployedOnce } from './deployed.ts';
import { functionError } from './function-error.ts';
import { handlePulse, newPulseState, type PulseAnswer, type PulseCall } from './pulse-handler.ts';
import { handleQuery, type Query } from './query-handler.ts';
import { handleStage, type LambdaContext, type StageAnswer, type StageEvent } from './stage-handler.ts';

/** What a job's module may export beside the job. */
export interface JobModule {
  readonly default?: unknown;
  /** Of middy, around the handlers of its stages: the user's own code around the user's own code. */
  readonly middlewares?: readonly middy.MiddlewareObj[];
}

type Handler<E, A> = (event: E, context: LambdaContext) => Promise<A>;

function jobOf(module: JobModule): Job {
  if (isJob(module.default)) return module.default;
  throw functionError(
    new SluiceError('JOB_FILE_WITHOUT_JOB', { message: 'the bundled module has no job as its default export', next: 'fix-the-job' }),
  );
}

const variables = process.env;

export function stageHandler(module: JobModule): Handler<StageEvent, StageAnswer> {
  const deployed = deployedOnce({ job: jobOf(module), variables });
  const home = new StageAtHome();
  return around(module.middlewares ?? [], async (event: StageEvent, context: LambdaContext) => {
    if (!isControlEvent(event)) await home.check(opened(deployed)); // a restore works by control calls, and is what brings a job home
    return await handleStage(opened(deployed), event, context, systemClock);
  });
}

export function pulseHandler(module: JobModule): Handler<PulseCall, PulseAnswer> {
  const deployed = deployedOnce({ job: jobOf(module), variables });
  const state = newPulseState();
  return middy<PulseCall, PulseAnswer>().handler(async (call: PulseCall) => await handlePulse(opened(deployed), state, call)) as never;
}

export function queryHandler(module: JobModule): Handler<Query, Readonly<Record<string, unknown>>> {
  const deployed = deployedOnce({ job: jobOf(module), variables });
  return middy<Query, Readonly<Record<string, unknown>>>().handler(
    async (query: Query) => await handleQuery(opened(deployed), query),
  ) as never;
}

function opened<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw functionError(error);
  }
}
