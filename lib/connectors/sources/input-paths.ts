// input-paths.ts owns which files a path means: a file, a directory with everything below it, or a pattern. Names that begin with '.' or
// '_' are skipped, as by Flink and Hadoop: they are what writers have not finished yet. The order is that of the paths by code unit.

import { join } from 'node:path';
import { SluiceError } from '../../core/errors.ts';
import type { FileSystem } from '../../core/ports.ts';

export interface InputFile {
  readonly path: string;
  readonly bytes: number;
}

/**
 * The files behind a path, sorted.
 *
 * @param path  a file, a directory, or a pattern: `*` and `?` within a name, in any part of the path
 * @throws SluiceError `INPUT_NOT_FOUND` when it names nothing, matches nothing, is not a file or directory, or cannot be read
 */
export async function findInput(files: FileSystem, path: string): Promise<readonly InputFile[]> {
  if (path === '') throw notFound(path, 'the path is empty');
  if (path.includes('**')) throw notFound(path, "'**' is not understood; a directory is read with everything below it");
  try {
    const found: InputFile[] = [];
    if (/[*?]/.test(path)) {
      for (const match of await expand(files, path)) await collect(files, match, found);
      if (found.length === 0) throw notFound(path, 'no file matches');
    } else {
      if ((await files.stat(path)) === undefined) throw notFound(path, 'there is no such file or directory');
      await collect(files, path, found);
    }
    for (const file of found) await (await files.openReader(file.path, 0)).close();
    return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  } catch (e) {
    if (e instanceof SluiceError) throw e;
    throw notFound(path, 'it cannot be read', e);
  }
}

async function collect(files: FileSystem, path: string, found: InputFile[]): Promise<void> {
  const stat = await files.stat(path);
  if (stat === undefined) return; // gone since it was listed
  if (stat.kind === 'file') found.push({ path, bytes: stat.bytes });
  else if (stat.kind === 'other')
    throw notFound(path, 'it is neither a file nor a directory; files are read twice after a restart (a pipe? then use stdin)');
  else for (const entry of await files.list(path)) if (!isSkipped(entry.name)) await collect(files, join(path, entry.name), found);
}

/** Existing paths that match a pattern. */
async function expand(files: FileSystem, pattern: string): Promise<readonly string[]> {
  const isAbsolute = pattern.startsWith('/');
  let reached = [isAbsolute ? '/' : ''];
  for (const part of pattern.split('/').filter((p) => p !== '' && p !== '.')) {
    const next: string[] = [];
    for (const directory of reached) next.push(...(await step(files, directory, part)));
    reached = next;
  }
  return reached;
}

async function step(files: FileSystem, directory: string, part: string): Promise<readonly string[]> {
  const at = (name: string): string => (directory === '' ? name : join(directory, name));
  if (!/[*?]/.test(part)) return (await files.stat(at(part))) === undefined ? [] : [at(part)];
  const where = directory === '' ? '.' : directory;
  if ((await files.stat(where))?.kind !== 'directory') return [];
  const matches = matcher(part);
  return (await files.list(where)).filter((e) => !isSkipped(e.name) && matches(e.name)).map((e) => at(e.name));
}

/** Whether a name matches a part of a pattern; without backtracking, so that no pattern is slow. */
function matcher(part: string): (name: string) => boolean {
  return (name) => {
    let at = 0;
    let star = -1;
    let retry = 0;
    for (let i = 0; i < name.length; ) {
      if (part[at] === '*') {
        star = at++;
        retry = i;
      } else if (at < part.length && (part[at] === '?' || part[at] === name[i])) {
        at++;
        i++;
      } else if (star >= 0) {
        at = star + 1;
        i = ++retry;
      } else return false;
    }
    while (part[at] === '*') at++;
    return at === part.length;
  };
}

function isSkipped(name: string): boolean {
  return name.startsWith('.') || name.startsWith('_');
}

function notFound(path: string, why: string, cause?: unknown): SluiceError {
  return new SluiceError('INPUT_NOT_FOUND', {
    message: `input '${path}': ${why}`,
    next: 'fix-the-command',
    ...(cause === undefined ? {} : { cause }),
    path,
  });
}
