// file-lock.ts owns one question: does somebody alive hold this file? Only the kernel can answer it (a note with a process id outlives
// kill -9, and the id is given to the next process), and Node has no call for its locks. SQLite, which comes with Node, takes them:
// an exclusive transaction on an empty database is an fcntl lock on the file, gone with the process, kept by a stopped one.
//   L1  The lock file stays empty and is never opened by anything else in this process: closing any descriptor of a file drops all
//       fcntl locks that the process has on it. So the owner's name lies in a file of its own, beside it.
//   L2  The lock hangs on the file, not on its name: it stays when a directory above is renamed.

import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { SluiceError } from '../../core/errors.ts';
import type { FileLock } from '../../core/ports.ts';

const busy = 5; // SQLITE_BUSY, another connection has it
const locked = 6; // SQLITE_LOCKED, another connection of this process has it

/** Keeps what is locked from being collected: a collected connection would be closed, and the lock gone. */
const held = new Set<DatabaseSync>();

/** See `FileSystem.lock`. Rejects with `ENOENT` when the directory is missing. */
export async function lockFile(
  path: string,
  owner: string,
): Promise<{ readonly kind: 'locked'; readonly lock: FileLock } | { readonly kind: 'held'; readonly owner: string }> {
  const database = await tryLock(resolve(path));
  if (database === undefined) return { kind: 'held', owner: await noteAt(path) };
  held.add(database);
  const release = async (): Promise<void> => {
    if (held.delete(database)) database.close();
  };
  try {
    await writeFile(`${notePath(path)}~`, owner);
    await rename(`${notePath(path)}~`, notePath(path));
  } catch (e) {
    await release();
    throw e;
  }
  return { kind: 'locked', lock: { release } };
}

async function tryLock(path: string): Promise<DatabaseSync | undefined> {
  const { DatabaseSync } = sqlite();
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
  } catch (e) {
    await stat(dirname(path)); // SQLite says only that it cannot open the file; a missing directory is told in the platform's words
    throw e;
  }
  try {
    // A journal in memory: with one on disk, the lock of a killed process would leave a file behind.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return database;
  } catch (e) {
    database.close();
    const errcode = (e as { readonly errcode?: unknown }).errcode;
    if (errcode === busy || errcode === locked) return undefined;
    throw e;
  }
}

function notePath(path: string): string {
  return `${path}-owner`;
}

async function noteAt(path: string): Promise<string> {
  try {
    return await readFile(notePath(path), 'utf8');
  } catch {
    return 'an owner that has not said its name yet';
  }
}

type Sqlite = typeof import('node:sqlite');
let loaded: Sqlite | undefined;

/** Loaded when the first lock is taken; older releases of Node call it experimental, which is of no interest to who runs a job. */
function sqlite(): Sqlite {
  if (loaded !== undefined) return loaded;
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith('SQLite is an experimental feature')) Reflect.apply(emitWarning, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    const found: Sqlite | undefined = process.getBuiltinModule('node:sqlite');
    if (found === undefined) throw noLocks();
    loaded = found;
  } finally {
    process.emitWarning = emitWarning;
  }
  return loaded;
}

function noLocks(): SluiceError {
  return new SluiceError('LOCKS_UNAVAILABLE', {
    message: 'this build of Node comes without SQLite, which takes the lock of the checkpoint directory',
    next: 'fix-the-command',
    advice: 'run with a release build of Node, 22.18 or later',
  });
}
