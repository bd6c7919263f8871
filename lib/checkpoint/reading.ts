// reading.ts finds, checks and reads checkpoints. It writes nothing, so commands may use it beside a run.
//   L1  A checkpoint is complete when its directory holds `_metadata`; the latest is the one of the present line with the highest number, or
//       before the first, the one from elsewhere that the line began with (line.ts).
//   L2  `latest` falls back to the next older checkpoint when one is damaged, and says so. It never falls back to nothing: when none of
//       several can be used, that is an error. A newer format is an error at once: an older release must not take back what a newer one did.
//   L3  Loading checks every byte the checkpoint refers to; damage is found before the job starts, not when a key is read.

import { basename, dirname, join } from 'node:path';
import { isSluiceError, SluiceError } from '../core/errors.ts';
import type { FileSystem } from '../core/ports.ts';
import { type CheckpointMetadata, type OperatorHandle, type Section, stateBytesOf } from './handles.ts';
import { checkpointOfName, checkpointPath, generationOfName, metadataName } from './layout.ts';
import { readLine } from './line.ts';
import { decodeMetadata } from './metadata.ts';
import { damaged, readSealed } from './sealed.ts';
import { readState, verifyState } from './state-file.ts';

/** A checkpoint whose bytes have been checked. */
export interface LoadedCheckpoint {
  readonly metadata: CheckpointMetadata;
  readonly directory: string;
}

/** What a list shows of one checkpoint. */
export interface CheckpointSummary {
  readonly checkpoint: number;
  readonly path: string;
  /** Absent when `_metadata` cannot be read; then `problem` says why. State files are not read for a list. */
  readonly metadata: CheckpointMetadata | undefined;
  readonly bytes: number;
  readonly problem: SluiceError | undefined;
}

export interface Loaded {
  /** `undefined`: there is no completed checkpoint. */
  readonly checkpoint: LoadedCheckpoint | undefined;
  /** Sentences for the user: what was passed over and why. */
  readonly notices: readonly string[];
}

/** Numbers of complete checkpoints below an attempt's directory, newest first. */
export async function completedNumbers(files: FileSystem, attempt: string): Promise<readonly number[]> {
  const numbers: number[] = [];
  for (const entry of await files.list(attempt)) {
    const checkpoint = checkpointOfName(entry.name);
    if (checkpoint === undefined) continue;
    if ((await files.stat(join(attempt, entry.name, metadataName))) !== undefined) numbers.push(checkpoint);
  }
  return numbers.sort((a, b) => b - a);
}

/** Complete checkpoints below an attempt's directory, newest first. */
export async function listCheckpoints(files: FileSystem, attempt: string): Promise<readonly CheckpointSummary[]> {
  const summaries: CheckpointSummary[] = [];
  for (const checkpoint of await completedNumbers(files, attempt)) {
    const path = checkpointPath(attempt, checkpoint);
    try {
      const metadata = await readMetadata(files, path);
      summaries.push({ checkpoint, path, metadata, bytes: stateBytesOf(metadata.subtasks), problem: undefined });
    } catch (e) {
      if (!isSluiceError(e)) throw e;
      summaries.push({ checkpoint, path, metadata: undefined, bytes: 0, problem: e });
    }
  }
  return summaries;
}

/** @throws SluiceError `CHECKPOINT_DAMAGED`, `FORMAT_NEWER` */
export async function readMetadata(files: FileSystem, directory: string): Promise<CheckpointMetadata> {
  const path = join(directory, metadataName);
  const metadata = decodeMetadata(await readSealed(files, path), path);
  const named = checkpointOfName(basename(directory));
  if (named !== undefined && named !== metadata.checkpoint) throw damaged(path, `it is that of checkpoint ${metadata.checkpoint}`);
  return metadata;
}

/**
 * Loads the checkpoint in a directory, wherever it lies, and checks every byte it refers to.
 * @throws SluiceError `CHECKPOINT_DAMAGED` naming the file, `FORMAT_NEWER`
 */
export async function loadCheckpoint(files: FileSystem, directory: string): Promise<LoadedCheckpoint> {
  const metadata = await readMetadata(files, directory);
  for (const subtask of metadata.subtasks) for (const operator of subtask.operators) await verifyState(files, directory, operator);
  return { metadata, directory };
}

/**
 * The newest usable checkpoint below an attempt's directory.
 * @throws SluiceError `CHECKPOINT_DAMAGED` when there are some and none can be used; `FORMAT_NEWER`
 */
export async function loadLatest(files: FileSystem, attempt: string): Promise<Loaded> {
  const problems: SluiceError[] = [];
  const line = await readLine(files, attempt);
  for (const checkpoint of await completedNumbers(files, attempt)) {
    if (checkpoint <= line.above) break;
    try {
      const loaded = await loadCheckpoint(files, checkpointPath(attempt, checkpoint));
      return {
        checkpoint: loaded,
        notices: problems.map((p) => `${p.message}; checkpoint ${checkpoint} is used instead, and what was done after it is done again`),
      };
    } catch (e) {
      if (!isSluiceError(e) || e.code !== 'CHECKPOINT_DAMAGED') throw e;
      problems.push(e);
    }
  }
  if (problems.length === 0) {
    const origin = line.origin === undefined ? undefined : await checkpointDirectoryOf(files, line.origin);
    return { checkpoint: origin === undefined ? undefined : await loadCheckpoint(files, origin), notices: [] };
  }
  throw new SluiceError('CHECKPOINT_DAMAGED', {
    message: `none of the ${problems.length} checkpoints in ${attempt} can be used: ${problems.map((p) => p.message).join('; ')}`,
    next: 'repair-state',
    path: attempt,
  });
}

/** What `--from` names: the newest, one of the job's own by number, or any directory of a checkpoint. */
export type CheckpointRef = 'latest' | { readonly checkpoint: number } | { readonly path: string };

/**
 * Reads what the user typed behind `--from`. A path of one of the job's own checkpoints becomes its number, because the directory above
 * it gets another name when the job starts.
 *
 * @param from  `latest` or an absolute path: a checkpoint's directory, its `_metadata`, or a directory that holds attempts or checkpoints
 * @param root  the job's checkpoint root, absolute
 * @throws SluiceError `CHECKPOINT_NOT_FOUND`
 */
export async function resolveRef(files: FileSystem, from: string, root: string): Promise<CheckpointRef> {
  if (from === 'latest') return 'latest';
  const path = await checkpointDirectoryOf(files, from);
  const number = checkpointOfName(basename(path));
  const isOwn = number !== undefined && generationOfName(basename(dirname(path))) !== undefined && dirname(dirname(path)) === root;
  return isOwn ? { checkpoint: number } : { path };
}

/**
 * The directory of the checkpoint that a path means: itself, the one that holds the `_metadata`, or the newest one below.
 * @throws SluiceError `CHECKPOINT_NOT_FOUND`
 */
export async function checkpointDirectoryOf(files: FileSystem, path: string): Promise<string> {
  if (basename(path) === metadataName && (await files.stat(path))?.kind === 'file') return dirname(path);
  if ((await files.stat(join(path, metadataName))) !== undefined) return path;
  if ((await files.stat(path))?.kind === 'directory') {
    const [newest] = await completedNumbers(files, path);
    if (newest !== undefined) return checkpointPath(path, newest);
    const generations = (await files.list(path)).flatMap((e) => generationOfName(e.name) ?? []);
    if (generations.length > 0) return checkpointDirectoryOf(files, join(path, `attempt-${Math.max(...generations)}`));
  }
  throw new SluiceError('CHECKPOINT_NOT_FOUND', {
    message: `there is no completed checkpoint at ${path}`,
    next: 'fix-the-command',
    advice: "name a directory that holds a '_metadata' file, or use 'latest'; 'sluice checkpoints list' shows what there is",
    path,
  });
}

/** Reads sections of one old subtask's operator, in order. */
export async function readSections<S extends Section>(
  files: FileSystem,
  directory: string,
  handle: OperatorHandle,
  sections: readonly S[],
): Promise<readonly { readonly section: S; readonly bytes: Uint8Array }[]> {
  const all: { readonly section: S; readonly bytes: Uint8Array }[] = [];
  for await (const piece of readState(files, directory, handle, sections)) all.push(piece);
  return all;
}
