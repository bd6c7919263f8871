// How commands find a job of `--runtime invocations`: by its file, under the name of the job or by the path of the file.
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { newestGeneration } from '../adapters/embedded/attempt-directory.ts';
import { findRoot } from '../adapters/embedded/checkpoint-directory.ts';
import { nodeFileSystem } from '../adapters/embedded/node-file-system.ts';
import { databaseName, findDatabase } from '../adapters/invocations/job-place.ts';
import type { OpenedJob } from '../adapters/invocations/tools.ts';
import { SluiceError } from '../core/errors.ts';
import { usageError } from './arguments.ts';
import type { Call } from './commands.ts';
import { loadConfiguration } from './configuration.ts';
import { jobUnknown } from './job-unknown.ts';
import { keepBackNotices } from './module-hooks.ts';

/** The job of the call, open; `undefined` when the call means a job of the embedded runtime, or none. */
export async function findInvocationsJob({ arguments: given }: Call): Promise<OpenedJob | undefined> {
  const wanted = given.positionals[0]!;
  const directory = process.cwd();
  const path = pathOf(wanted);
  if (path !== undefined) return await openAt(path);
  const { settings } = await loadConfiguration({ directory, variables: process.env, set: given.flags.get('set') ?? [] });
  const database = await findDatabase(nodeFileSystem, wanted, settings.checkpointsDirectory, directory);
  return database === undefined ? undefined : await openAt(database, wanted);
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
  const opened = await findInvocationsJob(call);
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

/** JSON, or the text itself when it is none. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What sinks and sources say while a command uses them. */
export function voiceOf({ output }: Call): { readonly print: (line: string) => void; readonly report: (line: string) => void } {
  return { print: (line) => output.printed(line), report: (line) => output.note(line) };
}
