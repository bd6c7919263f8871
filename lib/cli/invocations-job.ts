// How commands find a job of `--runtime invocations`: by its file, under the name of the job or by the path of the file.
import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { newestGeneration } from '../adapters/embedded/attempt-directory.ts';
import { findRoot } from '../adapters/embedded/checkpoint-directory.ts';
import { nodeFileSystem } from '../adapters/embedded/node-file-system.ts';
import { databaseName, findDatabase } from '../adapters/invocations/job-place.ts';
import type { OpenedJob, Voice } from '../adapters/invocations/tools.ts';
import { SluiceError } from '../core/errors.ts';
import { readExistingJob } from '../invocation/coordinator/read-job.ts';
import type { JobItem } from '../invocation/job-item.ts';
import { readRing } from '../invocation/ring.ts';
import { usageError } from './arguments.ts';
import { useEndpoint } from './aws/endpoint.ts';
import { openBound } from './aws/services.ts';
import type { Call } from './commands.ts';
import { loadConfiguration } from './configuration.ts';
import { jobUnknown } from './job-unknown.ts';
import { keepBackNotices } from './module-hooks.ts';

/**
 * The job of the call, open; `undefined` when the call means a job of the embedded runtime, or none. A name that both runtimes have run in one
 * directory means the run that wrote there last, and the call is told so.
 * @param isOnlyHere  the command is for this runtime alone, so that no other run can be meant
 */
export async function findInvocationsJob({ arguments: given, output }: Call, isOnlyHere = false): Promise<OpenedJob | undefined> {
  const wanted = given.positionals[0]!;
  const directory = process.cwd();
  const path = pathOf(wanted);
  if (path !== undefined) return await openAt(path);
  const { settings } = await loadConfiguration({ directory, variables: process.env, set: given.flags.get('set') ?? [] });
  const database = await findDatabase(nodeFileSystem, wanted, settings.checkpointsDirectory, directory);
  if (database === undefined) return undefined;
  const { path: file, embedded } = database;
  const opened = await openAt(file, wanted);
  if (opened === undefined || embedded === 'none' || isOnlyHere) return opened;
  const both = `both runtimes have run ${wanted} in ${relative(directory, dirname(file)) || '.'}; this is about`;
  if (embedded === 'older') {
    output.note(`${both} the run by invocations, which is the newer one`);
    return opened;
  }
  output.note(`${both} the embedded run, which is the newer one; the other is meant by ${relative(directory, file)}`);
  opened.close();
  return undefined;
}

/** A path to the file, or to the directory that it lies in when no checkpoints of the embedded runtime lie there. */
function pathOf(wanted: string): string | undefined {
  if (!/[./\\]/.test(wanted)) return undefined;
  const path = resolve(wanted);
  if (basename(path) === databaseName && existsSync(path)) return path;
  return existsSync(join(path, databaseName)) ? join(path, databaseName) : undefined;
}

async function openAt(database: string, job?: string): Promise<OpenedJob | undefined> {
  keepBackNotices();
  const { openJob } = await import('../adapters/invocations/tools.ts');
  const { jobsOfSqliteFile } = await import('../adapters/sqlite/sqlite-ports.ts');
  const { readJob } = await import('../invocation/coordinator/read-job.ts');
  const jobs = jobsOfSqliteFile({ path: database });
  const name = job ?? jobs[0];
  if (name === undefined || !jobs.includes(name)) return undefined;
  const opened = openJob(database, name);
  if ((await readJob(opened.ports)) !== undefined) return opened;
  opened.close(); // a start that was refused leaves a file without a job
  return undefined;
}

/**
 * For commands that only this runtime has.
 * @throws SluiceError `JOB_UNKNOWN`, or `NOT_AVAILABLE_YET` for a job of the embedded runtime
 */
export async function invocationsJob(call: Call): Promise<OpenedJob> {
  const opened = await findInvocationsJob(call, true);
  if (opened !== undefined) return opened;
  const { arguments: given, shape } = call;
  const wanted = given.positionals[0]!;
  const directory = process.cwd();
  const { settings } = await loadConfiguration({ directory, variables: process.env, set: given.flags.get('set') ?? [] });
  const root = await findRoot(nodeFileSystem, wanted, settings.checkpointsDirectory, directory);
  if (root === undefined && (await newestGeneration(nodeFileSystem, resolve(wanted))) === 0) throw jobUnknown(wanted, directory);
  throw new SluiceError('NOT_AVAILABLE_YET', {
    message: `\`sluice ${shape.name}\` is for jobs of --runtime invocations, and ${wanted} is run by the embedded runtime`,
    next: 'fix-the-command',
    advice: 'run the job with --runtime invocations',
    job: wanted,
  });
}

/** The value of a flag that has to be given. */
export function requiredFlag({ arguments: given, shape }: Call, name: string): string {
  const value = given.flags.get(name)?.[0];
  if (value === undefined) throw usageError(`\`sluice ${shape.name}\` needs --${name}`);
  return value;
}

/**
 * Changelogs of a job that was cancelled go with its checkpoints.
 * @throws SluiceError `JOB_NOT_IN_STATE` when nothing of its state is left
 */
export async function refuseWhenGone({ job, ports }: OpenedJob): Promise<void> {
  const { item } = await readExistingJob(ports);
  const [owner] = item.owners;
  if (item.status !== 'cancelled' || owner === undefined) return;
  const view = await readRing(ports.changelog, { generation: item.generation, subtask: owner.subtask }, item.ringSlots);
  if (view !== undefined && view !== 'closed') return;
  throw stateIsGone(item);
}

/** Pure: what to say of a job whose changelogs went with its cancel. */
export function stateIsGone({ job, completed, confirmed }: Pick<JobItem, 'job' | 'completed' | 'confirmed'>): SluiceError {
  const newest = completed.at(-1);
  const [why, advice] =
    newest !== undefined
      ? ['', `run it with --from latest; it goes on from checkpoint ${newest.checkpoint}, and then there is state to look at`]
      : confirmed === 0
        ? [' with all its state, before a checkpoint was complete and confirmed', 'nothing is left to look at, and nothing to go on from']
        : [
            ' with all its state, as its clean-up setting says',
            'nothing is left to look at; externalizedCleanup: RETAIN_ON_CANCELLATION keeps checkpoints of a job that is cancelled',
          ];
  return new SluiceError('JOB_NOT_IN_STATE', {
    message: `${job} was cancelled, and its changelogs were removed${why}`,
    next: 'fix-the-command',
    advice: advice!,
    job,
  });
}

/** JSON, or the text itself when it is none. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The same with what names of the job were bound to when it was started last. @throws SluiceError `PACKAGE_MISSING` */
export async function withTargets<T>(call: Call, opened: OpenedJob, work: (voice: Voice) => Promise<T>): Promise<T> {
  useEndpoint(call.arguments.flags);
  const { recordedStart } = await import('../adapters/invocations/tools.ts');
  const bound = await openBound((await recordedStart(opened.ports))?.global.bind);
  try {
    return await work({ ...voiceOf(call), targets: bound?.targets });
  } finally {
    bound?.close();
  }
}

/** What sinks and sources say while a command uses them. */
export function voiceOf({ output }: Call): { readonly print: (line: string) => void; readonly report: (line: string) => void } {
  return { print: (line) => output.printed(line), report: (line) => output.note(line) };
}
