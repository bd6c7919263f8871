// `sluice pause NAME` and `sluice resume NAME`. A pause seals the changelogs: input stays where it is, and nothing of the job moves until it is
// resumed. Whoever runs the job carries both out; when nobody does, this process seals, and the next run goes on.
import { livenessOf } from '../adapters/embedded/registry.ts';
import { systemClock } from '../adapters/embedded/system-clock.ts';
import { itemOf, loadPlan, type OpenedJob, ownerOf, standStill } from '../adapters/invocations/tools.ts';
import { requestPause, requestResume } from '../invocation/coordinator/job-life.ts';
import type { JobStatus } from '../invocation/job-item.ts';
import type { Call, Command } from './commands.ts';
import { invocationsJob, withTargets } from './invocations-job.ts';
import { loadJob } from './job-file.ts';
import { ownerOfProcess, pidOfOwner } from './ports.ts';

const lookEveryMs = 50;
const sayEveryMs = 5_000;

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
    const before = await itemOf(opened);
    if (before.status === 'failed')
      call.output.note(`${opened.job} had failed${before.failure === undefined ? '' : ` (${before.failure})`}`);
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
  const patience = patienceWith(call, opened);
  while ((await itemOf(opened)).status === status) {
    const owner = await ownerOf(opened);
    if (owner === undefined) {
      const plan = await loadPlan(opened, loadJob);
      const owner = ownerOfProcess(process.pid);
      await withTargets(call, opened, (voice) => standStill(opened, plan, voice, { owner, leaves: status }));
    } else await patience(owner);
  }
}

/** Waits a moment for the owner, and says now and then for whom, above all when that process will not do anything. */
export function patienceWith({ output }: Call, { job }: OpenedJob): (owner: string) => Promise<void> {
  let saidMs = performance.now();
  let wasStopped = false;
  return async (owner) => {
    await systemClock.sleep(lookEveryMs).done;
    const pid = pidOfOwner(owner);
    const isStopped = pid !== undefined && livenessOf({ job, pid, began: undefined }) === 'stopped';
    const isNews = isStopped && !wasStopped;
    wasStopped = isStopped;
    if (!isNews && performance.now() - saidMs < sayEveryMs) return;
    saidMs = performance.now();
    output.note(`waiting for ${owner}${isStopped ? stoppedHint(pid) : ''}`);
  };
}

function stoppedHint(pid: number): string {
  return `, which is stopped: it goes on with \`kill -CONT ${pid}\`, or a new run may take its job by --take-over`;
}

function tell({ output }: Call, { job }: OpenedJob, status: JobStatus): number {
  output.text(`${job} is ${status}`);
  output.object({ job, state: status });
  return 0;
}
