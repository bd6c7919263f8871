// Where a job of this runtime lies: one SQLite file in the job's checkpoint directory, beside whatever the embedded runtime keeps there.

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { attemptName } from '../../checkpoint/layout.ts';
import type { FileSystem } from '../../core/ports.ts';
import { newestGeneration } from '../embedded/attempt-directory.ts';
import { checkpointRoot, notedRoot } from '../embedded/checkpoint-directory.ts';

export const databaseName = 'invocations.db';

export function databaseOf(root: string): string {
  return join(root, databaseName);
}

/**
 * The SQLite file of a job by its name: under the directory of the settings, else where its last run said it would be, else under `.sluice`.
 * `undefined` when there is none, or when the job has been run by the embedded runtime there since.
 */
export async function findDatabase(
  files: FileSystem,
  job: string,
  directory: string | undefined,
  workingDirectory: string,
): Promise<string | undefined> {
  const noted = await notedRoot(files, job, workingDirectory);
  const asSet = directory === undefined ? undefined : checkpointRoot(job, directory, workingDirectory);
  for (const root of [asSet, noted, checkpointRoot(job, undefined, workingDirectory)]) {
    if (root === undefined) continue;
    const path = databaseOf(root);
    if (existsSync(path) && !(await isOlderThanAttempt(files, root, path))) return path;
  }
  return undefined;
}

/** One directory may have been used by both runtimes; the one that wrote there last is meant. */
async function isOlderThanAttempt(files: FileSystem, root: string, path: string): Promise<boolean> {
  const generation = await newestGeneration(files, root);
  if (generation === 0) return false;
  const embedded = statSync(join(root, attemptName(generation)), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const own = Math.max(statSync(path).mtimeMs, statSync(`${path}-wal`, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return embedded > own;
}
