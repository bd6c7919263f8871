// `sluice cancel|pause|resume|restore NAME --stack STACK`: the request is one conditional write; pulses carry it out, and the command calls
// them until the job is there instead of waiting for the schedule.
import { homeOf, noteHome, passedByOriginal, tellPassed } from '../../adapters/aws/home.ts';
import { systemClock as clock } from '../../adapters/embedded/system-clock.ts';
import { SluiceError } from '../../core/errors.ts';
import { requestCancel, requestPause, requestResume } from '../../invocation/coordinator/job-life.ts';
import { startRestore } from '../../invocation/coordinator/restore.ts';
import type { JobItem } from '../../invocation/job-item.ts';
import { usageError } from '../arguments.ts';
import type { Call, Command } from '../commands.ts';
import { type OpenedDeployment, withDeployment } from './open.ts';

const pulseEveryMs = 500;
const waitMs = 15 * 60_000;
/** A pulse that fails is made up for by the next one; as many in a row are no accident. */
const failuresMax = 3;

export const pauseDeployed: Command = (call) =>
  withDeployment(call, async (o) => {
    await requestPause(o.opened.ports);
    return tell(call, await pulsesUntil(o, ({ status }) => status !== 'pausing'));
  });

export const resumeDeployed: Command = (call) =>
  withDeployment(call, async (o) => {
    await requestResume(o.opened.ports);
    return tell(call, await pulsesUntil(o, ({ status }) => status !== 'resuming'));
  });

export const cancelDeployed: Command = (call) =>
  withDeployment(call, async (o) => {
    const { status } = await o.item();
    if (status === 'cancelled' || status === 'finished') {
      call.output.text(`${o.deployed.job} is not running`);
      call.output.object({ job: o.deployed.job, state: 'not-running' });
      return 0;
    }
    await requestCancel(o.opened.ports);
    return tell(call, await pulsesUntil(o, (item) => item.status !== 'cancelling'));
  });

/** `sluice restore NAME [PATH]`: to the newest checkpoint, or to the one that PATH numbers. */
export const restoreDeployed: Command = (call) =>
  withDeployment(call, async (o) => {
    const wanted = checkpointOf(call.arguments.positionals[1]);
    const before = await o.item();
    // First: a checkpoint that is not there is no reason to have sinks look at their targets anew.
    if (!before.completed.some(({ checkpoint }) => wanted === 'latest' || checkpoint === wanted)) throw notKept(o, wanted);
    const { ports } = o.opened;
    const passedBy = await passedByOriginal(ports, { table: o.deployed.table, nowMs: clock.now() });
    const mark = await startRestore(ports, wanted, passedBy);
    if (mark.kind === 'no-checkpoint') throw notKept(o, wanted);
    if (passedBy !== undefined) await tellPassed(ports.objects, passedBy);
    await noteHome(ports.items, homeOf(o.deployed), 'any');
    const checkpoint = mark.item.restoring?.checkpoint;
    const after = await pulsesUntil(o, ({ restoring }) => restoring === undefined);
    call.output.text(`${after.job} is restored to checkpoint ${checkpoint}, generation ${after.generation}; it is ${after.status}`);
    call.output.object({ job: after.job, state: after.status, checkpoint, generation: after.generation });
    return 0;
  });

function notKept({ deployed: { job, stack } }: OpenedDeployment, wanted: number | 'latest'): SluiceError {
  return new SluiceError('CHECKPOINT_NOT_FOUND', {
    message: `${job} has kept ${wanted === 'latest' ? 'no checkpoint' : `no checkpoint ${wanted}`}`,
    next: 'fix-the-command',
    advice: `\`sluice checkpoints list ${job} --stack ${stack}\` shows those that it has`,
    job,
  });
}

/** A number, or a path that `checkpoints list` shows, which ends with the number. */
function checkpointOf(path: string | undefined): number | 'latest' {
  if (path === undefined || path === 'latest') return 'latest';
  const number = /(?:^|[^0-9])([0-9]+)(?:\/_metadata)?$/.exec(path)?.[1];
  if (number === undefined) throw usageError(`'${path}' is no number of a checkpoint and no path of one`);
  return Number(number);
}

/** @throws SluiceError `STEP_TIMED_OUT`, or what pulses throw; the job goes on with it all the same */
async function pulsesUntil({ deployed, functions, item }: OpenedDeployment, isThere: (item: JobItem) => boolean): Promise<JobItem> {
  let failures = 0;
  for (let waited = 0; ; waited += pulseEveryMs) {
    const now = await item();
    if (isThere(now)) return now;
    if (waited >= waitMs) {
      throw new SluiceError('STEP_TIMED_OUT', {
        message: `${deployed.job} is ${now.status} after ${waitMs / 60_000} minutes`,
        next: 'try-again',
        advice: 'the job goes on with it; its pulse function logs what keeps it',
        job: deployed.job,
      });
    }
    try {
      await functions.call(deployed.pulse, {});
      failures = 0;
    } catch (error) {
      if (++failures >= failuresMax) throw error;
    }
    await clock.sleep(pulseEveryMs).done;
  }
}

function tell({ output }: Call, { job, status }: JobItem): number {
  output.text(`${job} is ${status}`);
  output.object({ job, state: status });
  return 0;
}
