// `sluice destroy FILE`: removes the stack that `sluice deploy FILE` made.
//   S1  State stays unless --delete-state says that it goes, and what stays is named: nothing else knows where it lies once the stack is gone.
//   S2  A job that may go on is not taken apart: what it has promised to its sinks would stay undecided.
//   S3  State goes before the stack does, so that a removal that stopped half-way is told again by the same command.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { isSluiceError, SluiceError } from '../../core/errors.ts';
import { readJob } from '../../invocation/coordinator/read-job.ts';
import type { JobStatus } from '../../invocation/job-item.ts';
import { usageError } from '../arguments.ts';
import type { Call, Command } from '../commands.ts';
import { loadJob } from '../job-file.ts';
import { findCdk } from './cdk.ts';
import { ownJobOf } from './deploy.ts';
import { makeAssembly } from './job-app.ts';
import { callOn, type OpenedDeployment, placeOf, withDeployment } from './open.ts';
import { removeState } from './remove-state.ts';
import type { DeployedJob } from './stack.ts';
import { stackOf } from './stack-name.ts';

export const destroy: Command = async (call) => {
  const place = placeOf(call);
  const cdk = findCdk(process.cwd(), place, call.output);
  const { name } = await loadJob(call.arguments.positionals[0]!);
  const stack = stackOf(call, name);
  const deletes = call.arguments.flags.has('delete-state');
  return await withDeployment(callOn(call, name, stack), async (o) => {
    ownJobOf(stack, { jobs: [o.deployed] }, name);
    await refuseWhileItMayGoOn(o);
    if (!(await isConfirmed(call, o.deployed, deletes))) return 1;
    const directory = await mkdtemp(join(tmpdir(), 'sluice-destroy-'));
    try {
      await makeAssembly({ stack, directory, job: undefined });
      if (deletes) await removeState(o.deployed, place, (line) => call.output.note(line));
      await cdk.run(['destroy', stack, '--app', directory, '--force']);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
    tell(call, o.deployed, deletes);
    return 0;
  });
};

const isStill: readonly JobStatus[] = ['paused', 'cancelled', 'failed', 'finished'];

/** @throws SluiceError `JOB_NOT_IN_STATE` */
async function refuseWhileItMayGoOn({ opened: { ports }, deployed: { job, stack } }: OpenedDeployment): Promise<void> {
  const read = await readJob(ports).catch((error: unknown) => {
    if (isSluiceError(error) && error.code === 'STORE_MISSING') return undefined; // there is nothing left that could be lost
    throw error;
  });
  if (read === undefined || isStill.includes(read.item.status)) return;
  throw new SluiceError('JOB_NOT_IN_STATE', {
    message: `${job} is ${read.item.status}, and its functions would go in the middle of their work; nothing was changed`,
    next: 'fix-the-command',
    advice: `\`sluice cancel ${job} --stack ${stack}\` ends it, \`sluice pause\` lets it stand still`,
    job,
  });
}

interface Kept {
  readonly what: 'table' | 'bucket' | 'queue' | 'stream';
  readonly name: string;
}

/** Pure. What the stack leaves behind. */
export function stateOf({ table, bucket, queues }: Pick<DeployedJob, 'table' | 'bucket' | 'queues'>): readonly Kept[] {
  const own = Object.values(queues).map(
    (place): Kept => (typeof place === 'string' ? { what: 'queue', name: place } : { what: 'stream', name: place.stream }),
  );
  return [{ what: 'table', name: table }, { what: 'bucket', name: bucket }, ...own];
}

async function isConfirmed(call: Call, deployed: DeployedJob, deletes: boolean): Promise<boolean> {
  if (call.arguments.flags.has('yes')) return true;
  if (!call.output.isWatched || !process.stdin.isTTY)
    throw usageError('`sluice destroy` asks before it removes anything, and nobody can answer here; say --yes');
  const goes = deletes ? `stack ${deployed.stack} and all state of ${deployed.job}` : `stack ${deployed.stack}`;
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asking.question(`remove ${goes}? (yes/no) `);
  asking.close();
  if (answer.trim().toLowerCase() === 'yes') return true;
  call.output.note('nothing was changed');
  return false;
}

function tell({ output }: Call, deployed: DeployedJob, deletes: boolean): void {
  const { job, stack } = deployed;
  const state = stateOf(deployed);
  if (deletes) output.text(`stack ${stack} and the state of ${job} are gone`);
  else {
    output.text(`stack ${stack} is gone; the state of ${job} stays:`);
    for (const { what, name } of state) output.text(`  ${what.padEnd(6)}  ${name}`);
    output.text(
      `\`sluice deploy\` with --table ${deployed.table} --bucket ${deployed.bucket} takes it up; \`sluice restore\` then lets it go on`,
    );
    if (state.some(({ what }) => what === 'queue'))
      output.text('what was on its way in a queue is sent again by that, to a queue of the new stack: this one may be deleted');
  }
  output.object({ job, state: 'destroyed', stack, [deletes ? 'deleted' : 'kept']: state });
}
