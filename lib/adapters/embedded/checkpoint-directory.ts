// checkpoint-directory.ts owns where checkpoints of a job lie on this machine, and how a command finds them by the job's name.
//   P1  `<state.checkpoints.dir>/<job>/` is the root of a job; without a setting `.sluice/<job>/` of the working directory.
//   P2  A run notes its root under `.sluice/.roots/<job>` of its working directory, so that a directory chosen in code is found by name too.

import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SluiceError } from '../../core/errors.ts';
import type { FileSystem } from '../../core/ports.ts';
import { newestGeneration } from './attempt-directory.ts';

/** Where checkpoints go when nothing else is said, below the working directory. */
export const defaultDirectory = '.sluice';

/**
 * The path behind a checkpoint directory setting.
 *
 * @param where  a path, `file:` and a path (relative to the working directory), or a `file:` URL
 * @throws SluiceError `CHECKPOINT_URI_UNSUPPORTED` for any other scheme
 */
export function pathOfUri(where: string, workingDirectory: string): string {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(where)?.[1]?.toLowerCase(); // one letter is a Windows drive
  if (scheme === undefined) return resolve(workingDirectory, where);
  if (scheme !== 'file') {
    throw new SluiceError('CHECKPOINT_URI_UNSUPPORTED', {
      message: `checkpoints cannot go to '${where}': this version stores them in files, under a path or a 'file:' URI`,
      next: 'fix-the-command',
      path: where,
    });
  }
  const rest = where.slice('file:'.length);
  if (rest.startsWith('//')) return fileURLToPath(where);
  return isAbsolute(rest) ? resolve(rest) : resolve(workingDirectory, rest);
}

/** A directory name for a job: its own name where the file system can bear it, percent-encoded elsewhere. */
export function directoryNameOf(job: string): string {
  const name = job.replace(/[^A-Za-z0-9._ -]/gu, (c) => encodeURIComponent(c.isWellFormed() ? c : '\ufffd').replace(/[!'()*]/g, hex));
  return /^\.|^ | $|\.$/.test(name) || name === '' ? `%${name}` : name;
}

function hex(c: string): string {
  return `%${c.charCodeAt(0).toString(16).toUpperCase()}`;
}

/**
 * The checkpoint root of a job.
 *
 * @param directory  the backend's own URI, else `state.checkpoints.dir`, else nothing
 */
export function checkpointRoot(job: string, directory: string | undefined, workingDirectory: string): string {
  return join(pathOfUri(directory ?? defaultDirectory, workingDirectory), directoryNameOf(job));
}

function notePath(job: string, workingDirectory: string): string {
  return join(workingDirectory, defaultDirectory, '.roots', directoryNameOf(job));
}

/** Notes the root of a job that begins to run, when it is not where it would be looked for anyway. */
export async function noteRoot(files: FileSystem, job: string, root: string, workingDirectory: string): Promise<void> {
  const note = notePath(job, workingDirectory);
  if (root === checkpointRoot(job, undefined, workingDirectory)) {
    await files.removeFile(note).catch(() => 'absent');
    return;
  }
  await files.createDirectoryTree(join(workingDirectory, defaultDirectory, '.roots'));
  const temporary = `${note}~`;
  await files.removeFile(temporary);
  const file = await files.createFile(temporary);
  try {
    await file.append(new TextEncoder().encode(root));
  } finally {
    await file.close();
  }
  await files.rename(temporary, note);
}

/** Where the last run of a job in this working directory said that its root is; `undefined` when it said nothing. */
export async function notedRoot(files: FileSystem, job: string, workingDirectory: string): Promise<string | undefined> {
  const noted = await files.readFile(notePath(job, workingDirectory)).catch(() => undefined);
  return noted === undefined ? undefined : new TextDecoder().decode(noted);
}

/**
 * Finds the checkpoint root of a job by name: under the directory of the settings, else where its last run said it would be, else under
 * `.sluice`. `undefined` when none of these holds an attempt of that job.
 */
export async function findRoot(
  files: FileSystem,
  job: string,
  directory: string | undefined,
  workingDirectory: string,
): Promise<string | undefined> {
  const candidates = directory === undefined ? [] : [checkpointRoot(job, directory, workingDirectory)];
  const noted = await notedRoot(files, job, workingDirectory);
  if (noted !== undefined) candidates.push(noted);
  candidates.push(checkpointRoot(job, undefined, workingDirectory));
  for (const root of candidates) if ((await newestGeneration(files, root)) > 0) return root;
  return undefined;
}
