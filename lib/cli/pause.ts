// `sluice pause NAME` and `sluice resume NAME`. A pause seals the changelogs: input stays where it is, and nothing of the job moves until it is
// resumed. Whoever runs the job carries both out; when nobody does, this process seals, and the next run goes on.
import { systemClock } from '../adapters/embedded/system-clock.ts';
import { itemOf, loadPlan, type OpenedJob, ownerOf, standStill } from '../adapters/invocations/tools.ts';
import { requestPause, requestResume } from '../invocation/coordinator/job-life.ts';
import type { JobStatus } from '../invocation/job-item.ts';
import type { Call, Command } from './commands.ts';
import { invocationsJob, voiceOf } from './invocations-job.ts';
import { loadJob } from './job-file.ts';
import { ownerOfProcess } from './ports.ts';

const lookEveryMs = 50;

export const pause: Command = async (call) => {
  const opened = await invocationsJob(call);
  try {
    await requestPause(opened.ports);
    await stillnessOf(call, opened, 'pausing');
    return tell(call, opened, (await itemOf(opened)).status);
  } finally {
    opened.close();
  }
};

export const resume: Command = async (call) => {
  const opened = await invocationsJob(call);
  try {
    await requestResume(opened.ports);
    await stillnessOf(call, opened, 'resuming');
    if ((await ownerOf(opened)) === undefined)
      call.output.note(`nobody runs ${opened.job} now; the next \`sluice run\` goes on from where it stands`);
    return tell(call, opened, (await itemOf(opened)).status);
  } finally {
    opened.close();
  }
};

/** Waits until the job has left `status`: its owner sees to it, or this process when there is none. */
export async function stillnessOf(call: Call, opened: OpenedJob, status: JobStatus): Promise<void> {
  while ((await itemOf(opened)).status === status) {
    if ((await ownerOf(opened)) === undefined) {
      const plan = await loadPlan(opened, loadJob);
      await standStill(opened, plan, voiceOf(call), { owner: ownerOfProcess(process.pid), leaves: status });
    } else await systemClock.sleep(lookEveryMs).done;
  }
}

function tell({ output }: Call, { job }: OpenedJob, status: JobStatus): number {
  output.text(`${job} is ${status}`);
  output.object({ job, state: status });
  return 0;
}
