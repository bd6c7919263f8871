import type { Job } from '../../api/job.ts';
import { ParamValues } from '../../api/params.ts';
import { compile } from '../../graph/compile.ts';
import type { Plan } from '../../graph/plan.ts';
import { describe } from '../../operators/describe.ts';
import type { GlobalSettings } from '../embedded/run-types.ts';

export interface PlanRequest {
  readonly job: Job;
  readonly params: ReadonlyMap<string, string>;
  readonly global: GlobalSettings;
  readonly parallelism?: number | undefined;
}

/** Builds and compiles a job, as the embedded runtime does. @throws SluiceError of whatever is wrong with it */
export function planOf({ job, params, global, parallelism }: PlanRequest): Plan {
  return compile(describe(job, new ParamValues(params), { ...global, forcedParallelism: parallelism }));
}
