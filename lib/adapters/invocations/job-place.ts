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

/** The file of a job, and what else lies in its directory. */
export interface FoundDatabase {
  readonly path: string;
  /** The embedded runtime has run the job in the same directory: before this one, or since. */
  readonly embedded: 'none' | 'older' | 'newer';
}

/**
 * The SQLite file of a job by its name: under the directory of the settings, else where its last run said it would be, else under `.sluice`.
 * `undefined` when there is none.
 */
export async function findDatabase(
  files: FileSystem,
  job: string,
  directory: string | undefined,
  workingDirectory: string,
): Promise<FoundDatabase | undefined> {
  const noted = await notedRoot(files, job, workingDirectory);
  const asSet = directory === undefined ? undefined : checkpointRoot(job, directory, workingDirectory);
  for (const root of [asSet, noted, checkpointRoot(job, undefined, workingDirectory)]) {
    if (root === undefined) continue;
    const path = databaseOf(root);
    if (existsSync(path)) return { path, embedded: await embeddedBeside(files, root, path) };
  }
  return undefined;
}

/** One directory may have been used by both runtimes; the one that wrote there last is meant. */
async function embeddedBeside(files: FileSystem, root: string, path: string): Promise<FoundDatabase['embedded']> {
  const generation = await newestGeneration(files, root);
  if (generation === 0) return 'none';
  const embedded = statSync(join(root, attemptName(generation)), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const own = Math.max(statSync(path).mtimeMs, statSync(`${path}-wal`, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return embedded > own ? 'newer' : 'older';
}
