// The plan of a job at synthesis: the same code that the functions run, with the same parameters and settings, so that both come to one plan.

import { defaultsOf, readSettings, unknownSetting } from '../adapters/embedded/settings.ts';
import type { Job } from '../api/job.ts';
import { ParamValues } from '../api/params.ts';
import { loadJobNow } from '../cli/job-file.ts';
import { compile } from '../graph/compile.ts';
import type { Plan } from '../graph/plan.ts';
import { checkDetached } from '../invocation/sinks/planned-sinks.ts';
import { describe } from '../operators/describe.ts';

export interface PlanRequest {
  readonly entry: string;
  readonly params: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * @throws SluiceError of whatever is wrong with the file, the job, its parameters (`SETTING_UNKNOWN` for one that it does not read) or settings,
 *   `FEATURE_NOT_AVAILABLE` for a sink that needs a process
 */
export function loadPlan({ entry, params, settings }: PlanRequest): Plan {
  const job = loadJobNow(entry);
  const plan = planOf(job, params, settings);
  checkDetached(plan);
  return plan;
}

function planOf(job: Job, params: PlanRequest['params'], settings: PlanRequest['settings']): Plan {
  const given = new Map(Object.entries(settings).map(([name, text]) => [name, { text, origin: 'settings' }]));
  const reader = new ParamValues(new Map(Object.entries(params)));
  const description = describe(job, reader, defaultsOf(readSettings(given), undefined));
  for (const name of Object.keys(params)) if (!reader.namesRead.has(name)) throw unknownSetting(name, 'params', reader.namesRead);
  return compile(description, { keepsPartitions: true });
}
