// attempt-directory.ts owns who may write below a job's checkpoint root: one attempt at a time. Every attempt (a start, a restart inside
// the process, a restore) has a directory of its own name, and takes over what the attempt before it left by renaming that directory.
//   A1  One directory `attempt-<generation>` at a time. Who renames it to a higher number is the next attempt; the generation only grows.
//   A2  The lock of the next generation is taken inside the old directory, before the rename: nobody ever sees an attempt's directory under
//       its new name without the lock of that name being held. Of several that try, exactly one finds the old name still there.
//   A3  A live owner is respected: without `takeOver` the lock of the newest attempt is taken first, and if that is held, the start is
//       refused. With it, locks that are held (a process may have been stopped between lock and rename) are passed by a higher number.
//   A4  After the rename every path of the attempt before it is gone, whatever that process still does: its later operations fail with
//       ENOENT. This holds only as long as nobody makes directories below the root again: an attempt makes its own once, here.
// What lies in the directory is the storage's business (checkpoint/storage.ts).

import { join } from 'node:path';
import { attemptName, generationOfName } from '../../checkpoint/layout.ts';
import { ownerLost } from '../../checkpoint/owner-lost.ts';
import { createDurableTree } from '../../core/durable-tree.ts';
import { SluiceError } from '../../core/errors.ts';
import type { FileLock, FileSystem } from '../../core/ports.ts';

export interface Attempt {
  /** 1 for the first attempt of a job in this root; every later one is higher. */
  readonly generation: number;
  /** The attempt's directory. */
  readonly path: string;
  /** The generation whose directory this one took over; 0 when there was none. */
  readonly before: number;
  /**
   * The next attempt of the same owner: renames the directory again, so that nothing that still runs for this attempt can write.
   * @param above  as in `AttemptRequest`
   * @throws SluiceError `OWNER_LOST` when another process has taken the directory over
   */
  next(above?: number): Promise<Attempt>;
  /** Gives the ownership back. The directory stays. */
  release(): Promise<void>;
}

export interface AttemptRequest {
  /** Shown to whoever is refused because this attempt lives, such as the process id. */
  readonly owner: string;
  /** Takes the directory from a live owner too: one that is stopped or hangs. */
  readonly takeOver?: boolean;
  /**
   * The attempt gets a generation above this one: that of a checkpoint from elsewhere which it is going to restore. What was written under that
   * generation lies with sinks, and they tell by the generation what is older than an attempt.
   */
  readonly above?: number;
}

function lockPath(directory: string, generation: number): string {
  return join(directory, `owner-${generation}.lock`);
}

/** The newest attempt below a root: its generation, 0 when there is none (or no root). Reads only. */
export async function newestGeneration(files: FileSystem, root: string): Promise<number> {
  try {
    const entries = await files.list(root);
    return entries.reduce((newest, e) => Math.max(newest, generationOfName(e.name) ?? 0), 0);
  } catch (e) {
    if (codeOf(e) === 'ENOENT') return 0;
    throw e;
  }
}

/**
 * The live owner of a job's checkpoint root, as it named itself; `undefined` when nobody runs the job there.
 *
 * Asks the kernel by trying the lock, so it needs the right to write there.
 */
export async function liveOwner(files: FileSystem, root: string): Promise<string | undefined> {
  const generation = await newestGeneration(files, root);
  if (generation === 0) return undefined;
  const path = lockPath(join(root, attemptName(generation)), generation);
  if ((await files.stat(path)) === undefined) return undefined;
  const answer = await files.lock(path, 'a look at who owns the directory');
  if (answer.kind === 'held') return answer.owner;
  await answer.lock.release();
  return undefined;
}

/**
 * Begins an attempt below a job's checkpoint root (made if it is missing).
 *
 * @throws SluiceError `OWNER_ALIVE` when the newest attempt's owner lives and `takeOver` is not given, or when another start was faster;
 *   `CHECKPOINT_DIRECTORY_NOT_WRITABLE`
 */
export async function openAttempt(files: FileSystem, root: string, request: AttemptRequest): Promise<Attempt> {
  await makeRoot(files, root);
  const newest = await newestGeneration(files, root);
  const opened = newest === 0 ? await firstAttempt(files, root, request) : await succeed(files, root, newest, request);
  const { above = 0 } = request;
  if (opened.generation > above) return opened;
  try {
    return await opened.next(above);
  } catch (e) {
    await opened.release();
    throw e;
  }
}

const refusals: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'EEXIST'];

/**
 * Makes the directory in which a job's checkpoints, or its file, lie.
 * @throws SluiceError `CHECKPOINT_DIRECTORY_NOT_WRITABLE`
 */
export async function makeRoot(files: FileSystem, root: string): Promise<void> {
  try {
    await createDurableTree(files, root);
  } catch (cause) {
    if (!refusals.includes((cause as { readonly code?: unknown } | null)?.code)) throw cause;
    throw new SluiceError('CHECKPOINT_DIRECTORY_NOT_WRITABLE', {
      message: `the checkpoint directory ${root} cannot be made`,
      next: 'fix-the-command',
      advice: 'choose a directory in which this user may create files, by state.checkpoints.dir or FsStateBackend',
      cause,
      path: root,
    });
  }
}

async function firstAttempt(files: FileSystem, root: string, request: AttemptRequest): Promise<Attempt> {
  const path = join(root, attemptName(1));
  if ((await files.createDirectory(path)) === 'exists') return succeed(files, root, 1, request);
  const lock = await orTooSlow(root, 1, () => lockOrRefuse(files, root, path, 1, request));
  try {
    // Between the look and the making others may have begun and gone on, and their directory has another name by now.
    const newest = await newestGeneration(files, root);
    if (newest !== 1) {
      await files.removeTree(path);
      throw tooSlow(root, newest);
    }
    await files.syncDirectory(root);
  } catch (e) {
    await lock.release();
    throw e;
  }
  return attempt(files, root, { generation: 1, before: 0, lock, request });
}

/** Takes over the directory of generation `before`, whose owner must be dead unless the request says otherwise. */
async function succeed(files: FileSystem, root: string, before: number, request: AttemptRequest): Promise<Attempt> {
  const old = join(root, attemptName(before));
  return orTooSlow(root, before, async () => {
    const answer = await files.lock(lockPath(old, before), request.owner);
    if (answer.kind === 'held' && request.takeOver !== true) throw ownerAlive(root, answer.owner);
    try {
      return await step(files, root, before, request, { passesHeld: request.takeOver === true });
    } finally {
      if (answer.kind === 'locked') await answer.lock.release();
    }
  });
}

/** From generation `before` to a later one: the new lock, then the rename. */
async function step(
  files: FileSystem,
  root: string,
  before: number,
  request: AttemptRequest,
  o: { readonly passesHeld: boolean; readonly above?: number; readonly renamed?: (generation: number) => void },
): Promise<Attempt> {
  const old = join(root, attemptName(before));
  const { generation, lock } = await lockNext(files, root, old, Math.max(before, o.above ?? 0) + 1, { ...request, ...o });
  const path = join(root, attemptName(generation));
  try {
    await renameOnce(files, old, path);
    o.renamed?.(generation);
    await files.syncDirectory(root);
    await removeOldLocks(files, path, generation);
  } catch (e) {
    await lock.release();
    throw e;
  }
  return attempt(files, root, { generation, before, lock, request });
}

async function lockNext(
  files: FileSystem,
  root: string,
  directory: string,
  from: number,
  request: { readonly owner: string; readonly passesHeld: boolean },
): Promise<{ readonly generation: number; readonly lock: FileLock }> {
  const passedMax = request.passesHeld ? 16 : 0; // that many starters, all stopped between lock and rename, are a script gone wild
  for (let generation = from; ; generation++) {
    const answer = await files.lock(lockPath(directory, generation), request.owner);
    if (answer.kind === 'locked') return { generation, lock: answer.lock };
    if (generation - from >= passedMax) throw ownerAlive(root, answer.owner);
  }
}

/** A rename whose answer got lost has happened all the same; only who holds the lock of the new name could have done it. */
async function renameOnce(files: FileSystem, old: string, path: string): Promise<void> {
  try {
    await files.rename(old, path);
  } catch (e) {
    const isDone = (await files.stat(old)) === undefined && (await files.stat(path)) !== undefined;
    if (!isDone) throw e;
  }
}

function attempt(
  files: FileSystem,
  root: string,
  own: { readonly generation: number; readonly before: number; readonly lock: FileLock; readonly request: AttemptRequest },
): Attempt {
  let at = own.generation; // the name that the directory has now: ahead when a `next` failed after its rename and is called again
  return {
    generation: own.generation,
    before: own.before,
    path: join(root, attemptName(own.generation)),
    async next(above = 0) {
      try {
        const renamed = (generation: number): void => {
          at = generation;
        };
        // The directory is ours: a lock in it is that of a starter which lost, or our own, whose answer got lost.
        const following = await step(files, root, at, own.request, { passesHeld: true, above, renamed });
        await own.lock.release();
        return following;
      } catch (e) {
        throw isLostRace(e) ? ownerLost(root, e) : e;
      }
    },
    release: () => own.lock.release(),
  };
}

async function lockOrRefuse(
  files: FileSystem,
  root: string,
  directory: string,
  generation: number,
  request: AttemptRequest,
): Promise<FileLock> {
  const answer = await files.lock(lockPath(directory, generation), request.owner);
  if (answer.kind === 'held') throw ownerAlive(root, answer.owner);
  return answer.lock;
}

/** Locks of the dead, and of those whose directory was taken: their files say nothing any more. */
async function removeOldLocks(files: FileSystem, path: string, generation: number): Promise<void> {
  for (const entry of await files.list(path)) {
    const digits = /^owner-([0-9]+)\.lock/.exec(entry.name)?.[1];
    if (digits !== undefined && Number(digits) < generation) await files.removeFile(join(path, entry.name));
  }
}

function ownerAlive(root: string, owner: string): SluiceError {
  return new SluiceError('OWNER_ALIVE', {
    message: `the checkpoint directory ${root} belongs to a run that is alive (${owner})`,
    next: 'fix-the-command',
    advice: 'wait for that run or cancel it; if it is stopped or hangs, --take-over takes the directory from it',
    path: root,
    owner,
  });
}

function tooSlow(root: string, seen: number): SluiceError {
  return new SluiceError('OWNER_ALIVE', {
    message: `another run took the checkpoint directory ${root} at the same moment (generation ${seen} had just gone)`,
    next: 'fix-the-command',
    advice: 'start one run at a time, or give each job a directory of its own',
    path: root,
  });
}

async function orTooSlow<T>(root: string, seen: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (e) {
    throw isLostRace(e) ? tooSlow(root, seen) : e;
  }
}

function codeOf(e: unknown): unknown {
  return (e as { readonly code?: unknown } | null)?.code;
}

/** The old name is gone, or the new one is taken. */
function isLostRace(e: unknown): boolean {
  return codeOf(e) === 'ENOENT' || codeOf(e) === 'ENOTEMPTY' || codeOf(e) === 'EEXIST';
}
