// `sluice cancel NAME`: asks the process that runs the job to cancel it, and waits until that process has ended. The job's own clean-up
// setting decides what becomes of its checkpoints.
import { liveOwner } from '../adapters/embedded/attempt-directory.ts';
import { findRoot } from '../adapters/embedded/checkpoint-directory.ts';
import { nodeFileSystem } from '../adapters/embedded/node-file-system.ts';
import { findRun, type Liveness, livenessOf, type RunEntry } from '../adapters/embedded/registry.ts';
import { systemClock } from '../adapters/embedded/system-clock.ts';
import { askToCancel } from './ask-to-cancel.ts';
import type { Command } from './commands.ts';
import { loadConfiguration } from './configuration.ts';
import { findInvocationsJob } from './invocations-job.ts';
import { jobUnknown } from './job-unknown.ts';
import { pidOfOwner } from './ports.ts';

const lookEveryMs = 50;
const sayEveryMs = 5_000;

export const cancel: Command = async (call) => {
  const { arguments: given, output } = call;
  const opened = await findInvocationsJob(call);
  if (opened !== undefined) return await (await import('./cancel-invocations.ts')).cancelInvocations(call, opened);
  const job = given.positionals[0]!;
  const directory = process.cwd();
  const { settings } = await loadConfiguration({ directory, variables: process.env, set: given.flags.get('set') ?? [] });
  const root = await findRoot(nodeFileSystem, job, settings.checkpointsDirectory, directory);
  const entry = findRun(directory, job) ?? (root === undefined ? undefined : await ownerOf(job, root));
  if (entry === undefined && root === undefined) throw jobUnknown(job, directory);
  if (entry === undefined || livenessOf(entry) === 'gone') {
    output.text(`${job} is not running`);
    output.object({ job, state: 'not-running' });
    return 0;
  }

  askToCancel(entry);
  output.note(`${job} is asked to cancel; waiting for process ${entry.pid}`);
  await waitUntilGone(entry, (liveness) =>
    output.note(`still waiting for process ${entry.pid}${liveness === 'stopped' ? stoppedHint : ''}`),
  );
  output.text(`${job} is cancelled`);
  output.object({ job, state: 'cancelled', pid: entry.pid });
  return 0;
};

const stoppedHint = ', which is stopped: it cancels when it is continued, or a new run may take its directory by --take-over';

/** The owner of a checkpoint directory that another working directory's run registered, as the lock in it says. */
async function ownerOf(job: string, root: string): Promise<RunEntry | undefined> {
  const pid = pidOfOwner(await liveOwner(nodeFileSystem, root));
  return pid === undefined ? undefined : { job, pid, began: undefined };
}

async function waitUntilGone(entry: RunEntry, say: (liveness: Liveness) => void): Promise<void> {
  let saidAt = performance.now();
  for (let liveness = livenessOf(entry); liveness !== 'gone'; liveness = livenessOf(entry)) {
    await systemClock.sleep(lookEveryMs).done;
    if (performance.now() - saidAt < sayEveryMs) continue;
    saidAt = performance.now();
    say(liveness);
  }
}
