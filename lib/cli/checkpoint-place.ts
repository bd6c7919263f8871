// checkpoint-place.ts finds the directory that a user means by the name of a job or by a path.
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { newestGeneration } from '../adapters/embedded/attempt-directory.ts';
import { findRoot, pathOfUri } from '../adapters/embedded/checkpoint-directory.ts';
import { nodeFileSystem } from '../adapters/embedded/node-file-system.ts';
import { attemptName, metadataName } from '../checkpoint/layout.ts';
import type { Call } from './commands.ts';
import { loadConfiguration } from './configuration.ts';
import { jobUnknown } from './job-unknown.ts';

export interface CheckpointPlace {
  /** A directory that holds checkpoints, or that of a single one. */
  readonly path: string;
  readonly isSingle: boolean;
}

/**
 * @throws SluiceError `JOB_UNKNOWN` when neither a job's checkpoints nor a path are found; what the configuration throws
 */
export async function findCheckpointPlace({ arguments: given }: Call): Promise<CheckpointPlace> {
  const wanted = given.positionals[0]!;
  const directory = process.cwd();
  const { settings } = await loadConfiguration({ directory, variables: process.env, set: given.flags.get('set') ?? [] });
  const isSpelledAsPath = /^[./~]|[/\\]|^file:/.test(wanted);
  const root = isSpelledAsPath ? undefined : await findRoot(nodeFileSystem, wanted, settings.checkpointsDirectory, directory);
  if (root !== undefined) return await placeAt(root);
  const path = wanted.startsWith('file:') ? pathOfUri(wanted, directory) : resolve(wanted);
  if (!existsSync(path)) throw jobUnknown(wanted, directory, isSpelledAsPath);
  return await placeAt(basename(path) === metadataName ? dirname(path) : path);
}

async function placeAt(path: string): Promise<CheckpointPlace> {
  const generation = await newestGeneration(nodeFileSystem, path);
  return { path: generation === 0 ? path : join(path, attemptName(generation)), isSingle: existsSync(join(path, metadataName)) };
}
