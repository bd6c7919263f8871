import { describeWith } from '../api/describe.ts';
import type { JobDescription } from '../api/description.ts';
import type { Job } from '../api/job.ts';
import type { JobDefaults } from '../api/options.ts';
import type { Params } from '../api/params.ts';
import { compositions } from './compositions.ts';

/**
 * Calls the build function of a job. Runs nothing, and may be done again.
 * @param defaults  settings from outside the job, over which its own calls win
 * @throws SluiceError of whatever the build function got wrong, with the job's name
 */
export function describe(job: Job, params: Params, defaults?: JobDefaults): JobDescription {
  return describeWith(compositions, job, params, defaults);
}
