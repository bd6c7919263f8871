// storage.ts writes checkpoints below one attempt's directory. It decides nothing: the coordinator says what begins, completes and goes.
//   S1  A number is durable before anything is written under it, and never used twice, also not after a restore (`numbers`).
//   S2  `_metadata` is written last, under another name first, when every file and directory it refers to is durable; its rename is the
//       moment at which the checkpoint is complete. To remove a checkpoint, `_metadata` goes first.
//   S3  What a checkpoint that was given up still writes lands nowhere: `discard` waits for writes under way and refuses later ones.
//   S4  Transactions are noted when they begin and before they are prepared, and stay noted until a checkpoint of a higher or the same number is complete: that one
//       lists what is still unconfirmed.
//   S5  After `sweep`, what lies in the directory is what retained checkpoints refer to, checkpoints under way, and notes (S4).
//   S6  What an attempt finds is made durable before it acts on it: the one before may have died between the rename of `_metadata` and the
//       sync of its name, and a promise that was kept must not be forgotten by a power cut.

import { dirname, join } from 'node:path';
import type { CheckpointMode } from '../api/options.ts';
import type { FileSystem } from '../core/ports.ts';
import { type Announcement, removeAnnouncements, writeAnnouncement } from './announcements.ts';
import {
  type BackendKind,
  type CheckpointMetadata,
  type CheckpointTrigger,
  type OperatorParallelism,
  type SubtaskHandle,
  stateBytesOf,
} from './handles.ts';
import type { KeyedStore } from './keyed-store.ts';
import { announcedName, checkpointOfName, checkpointPath, metadataName, undoneName } from './layout.ts';
import { readLine, removeLine, writeLine } from './line.ts';
import { encodeMetadata } from './metadata.ts';
import { readNumbers, writeNumbers } from './numbers.ts';
import { ownerLost } from './owner-lost.ts';
import { abandonedAbove, promisedIn } from './promises.ts';
import {
  type CheckpointRef,
  type CheckpointSummary,
  checkpointDirectoryOf,
  completedNumbers,
  type Loaded,
  type LoadedCheckpoint,
  listCheckpoints,
  loadCheckpoint,
  loadLatest,
} from './reading.ts';
import type { RestoreTarget, SinkTransaction } from './redistribute.ts';
import { readSubtask } from './restore.ts';
import { writeSealed } from './sealed.ts';
import type { SubtaskRestore, SubtaskSnapshot } from './snapshot.ts';
import { givenUp } from './state-file.ts';
import { storeSubtask } from './store-subtask.ts';

export interface StorageOptions {
  readonly files: FileSystem;
  /** The attempt's directory. */
  readonly path: string;
  readonly job: string;
  readonly generation: number;
  readonly backend: { readonly kind: BackendKind; readonly stateBytesMax?: number };
  /** Where keyed state goes, if not into files. */
  readonly keyedStore?: KeyedStore | undefined;
}

export interface CompletionInfo {
  readonly timestamp: number;
  readonly trigger: CheckpointTrigger;
  readonly durationMs: number;
  readonly mode: CheckpointMode;
  readonly planHash: string;
  readonly isFinished: boolean;
  readonly operators: readonly OperatorParallelism[];
}

/** A checkpoint under way: who still writes for it, and whether it was given up. */
interface Open {
  isGivenUp: boolean;
  readonly writes: Set<Promise<unknown>>;
}

export class CheckpointStorage {
  readonly path: string;
  readonly #files: FileSystem;
  readonly #options: StorageOptions;
  readonly #open: Map<number, Open> = new Map();
  #highest = 0;
  #announcements = 0;
  /** The checkpoint that was adopted, when it lies elsewhere. */
  #restored: readonly number[] = [];

  constructor(options: StorageOptions) {
    this.#options = options;
    this.#files = options.files;
    this.path = options.path;
  }

  /**
   * To be called once, before anything else: reads how far numbers have been used and removes what earlier attempts did not finish.
   * @throws SluiceError `CHECKPOINT_DAMAGED` when `numbers` cannot be read
   */
  async open(): Promise<void> {
    await this.#files.createDirectory(join(this.path, announcedName));
    await this.#files.syncDirectory(this.path);
    this.#highest = await readNumbers(this.#files, this.path);
    await this.#removeUnfinished();
  }

  /** Takes the next number. It becomes durable with `begin`. */
  nextNumber(): number {
    this.#highest++;
    return this.#highest;
  }

  /** Makes numbers go on above `checkpoint`: that of a checkpoint from elsewhere, which was restored. */
  continueAbove(checkpoint: number): void {
    this.#highest = Math.max(this.#highest, checkpoint);
  }

  /**
   * Makes the number durable (S1) and room for state. To be called in order of numbers, one at a time.
   * @throws SluiceError `OWNER_LOST` when another run has taken the directory over
   */
  async begin(checkpoint: number): Promise<void> {
    this.#open.set(checkpoint, { isGivenUp: false, writes: new Set() });
    try {
      await this.#writing(checkpoint, async () => {
        await writeNumbers(this.#files, this.path, checkpoint);
        await this.#files.createDirectory(checkpointPath(this.path, checkpoint));
      });
    } catch (e) {
      if ((await this.#files.stat(this.path)) === undefined) throw ownerLost(dirname(this.path), e);
      throw e;
    }
  }

  /**
   * Stores what one subtask contributes; durable when it resolves.
   * @throws SluiceError `STATE_TOO_LARGE`; `CHECKPOINT_GIVEN_UP` when the checkpoint is over
   */
  storeSubtask(checkpoint: number, snapshot: SubtaskSnapshot): Promise<SubtaskHandle> {
    return this.#writing(checkpoint, async (open) =>
      storeSubtask(snapshot, {
        ...this.#options,
        checkpoint,
        directory: checkpointPath(this.path, checkpoint),
        points: await this.#restorePoints(checkpoint),
        isGivenUp: () => open.isGivenUp,
      }),
    );
  }

  /** Checkpoints besides this one whose state in a table has to stay: complete ones, those under way, and what was restored. */
  async #restorePoints(checkpoint: number): Promise<readonly number[]> {
    if (this.#options.keyedStore === undefined) return [];
    const others = [...(await this.completed()), ...this.#open.keys()].filter((n) => n !== checkpoint);
    return [...new Set([...others, ...this.#restored])];
  }

  /** Notes, durably, the transactions that a sink is about to prepare (S4). None: nothing is written. */
  announce(checkpoint: number, note: Announcement): Promise<void> {
    if (note.transactions.length === 0) return Promise.resolve();
    const index = this.#announcements++;
    return this.#writing(checkpoint, () => writeAnnouncement(this.#files, this.path, checkpoint, index, note));
  }

  /** Notes a transaction that has begun after the barrier of a checkpoint, for the checkpoints that come (S4). */
  note(after: number, note: Announcement): Promise<void> {
    return writeAnnouncement(this.#files, this.path, after + 1, this.#announcements++, note);
  }

  /** Makes a checkpoint complete (S2). After a rejection it may be complete or not; `discard` settles that. */
  complete(checkpoint: number, subtasks: readonly SubtaskHandle[], info: CompletionInfo): Promise<{ readonly bytes: number }> {
    return this.#writing(checkpoint, async () => {
      const { job, generation, backend } = this.#options;
      const metadata: CheckpointMetadata = { job, checkpoint, generation, backend: backend.kind, ...info, subtasks };
      const directory = checkpointPath(this.path, checkpoint);
      await this.#files.syncDirectory(directory);
      await this.#files.syncDirectory(this.path);
      const { content, blob } = encodeMetadata(metadata);
      await writeSealed(this.#files, join(directory, metadataName), content, blob);
      this.#open.delete(checkpoint); // what still writes for it now would be a defect, and is refused
      return { bytes: stateBytesOf(subtasks) };
    });
  }

  /**
   * Gives a checkpoint up: nothing of it is left, and nothing more can be written for it (S3). Its notes stay (S4). After a rejection the
   * next sweep removes what is left.
   */
  async discard(checkpoint: number): Promise<void> {
    const open = this.#open.get(checkpoint);
    if (open !== undefined) {
      open.isGivenUp = true;
      while (open.writes.size > 0) await Promise.allSettled(open.writes);
    }
    try {
      await this.#remove(checkpoint);
    } finally {
      this.#open.delete(checkpoint);
    }
  }

  /** Keeps the newest `numRetained` complete checkpoints and sweeps (S5). */
  async subsume(numRetained: number): Promise<void> {
    const completed = await this.completed();
    if (completed.length > 0) await this.#sweep(completed.slice(0, numRetained), completed[0]!);
  }

  /** Keeps the complete checkpoints listed, and sweeps. Only when nothing is under way any more. */
  async retain(checkpoints: readonly number[]): Promise<void> {
    const completed = await this.completed();
    await this.#sweep(checkpoints, Number.MAX_SAFE_INTEGER);
    if (completed.length > 0) await removeAnnouncements(this.#files, this.path, completed[0]!);
  }

  /** Numbers of complete checkpoints, newest first. */
  completed(): Promise<readonly number[]> {
    return completedNumbers(this.#files, this.path);
  }

  /** Complete checkpoints, newest first. */
  list(): Promise<readonly CheckpointSummary[]> {
    return listCheckpoints(this.#files, this.path);
  }

  /**
   * Loads a checkpoint and checks every byte it refers to.
   * @throws SluiceError `CHECKPOINT_NOT_FOUND`, `CHECKPOINT_DAMAGED` naming the file, `FORMAT_NEWER`
   */
  async load(ref: CheckpointRef): Promise<Loaded> {
    if (ref === 'latest') return loadLatest(this.#files, this.path);
    const directory = 'path' in ref ? ref.path : checkpointPath(this.path, ref.checkpoint);
    await checkpointDirectoryOf(this.#files, directory);
    return { checkpoint: await loadCheckpoint(this.#files, directory), notices: [] };
  }

  /** What one subtask of the new run gets of a loaded checkpoint; see redistribute.ts. */
  readSubtask(checkpoint: LoadedCheckpoint, uids: readonly string[], place: Omit<RestoreTarget, 'uid'>): Promise<SubtaskRestore> {
    return readSubtask(this.#files, checkpoint, uids, place);
  }

  /**
   * Makes a loaded checkpoint the one that this job goes on from: complete checkpoints that are newer, or of another line if it comes from
   * elsewhere, are taken back, and numbers go on above it. To be called before sinks recover.
   * @returns the numbers that were taken back
   */
  async adopt(loaded: LoadedCheckpoint): Promise<readonly number[]> {
    const { checkpoint } = loaded.metadata;
    this.#restored = [checkpoint];
    if (!this.#isOwn(loaded)) {
      await writeLine(this.#files, this.path, { above: this.#highest, origin: loaded.directory });
      this.continueAbove(checkpoint);
      return this.undoAbove(0);
    }
    const line = await readLine(this.#files, this.path);
    if (checkpoint <= line.above) await writeLine(this.#files, this.path, { above: checkpoint - 1, origin: undefined });
    return this.undoAbove(checkpoint);
  }

  /** The job starts from the beginning: complete checkpoints stay until they are subsumed, but `latest` no longer means them. */
  async startOver(): Promise<void> {
    await writeLine(this.#files, this.path, { above: this.#highest, origin: undefined });
  }

  /**
   * What the last checkpoint before the present line promises, by its metadata alone. A job that starts from the beginning undoes nothing:
   * it keeps these promises, since they were made, and whoever restores that checkpoint later counts on them.
   * @param isNextNew  the present line is about to become the old one: `startOver` follows
   */
  async promisesOfOldLine(isNextNew = false): Promise<readonly SinkTransaction[]> {
    const above = isNextNew ? this.#highest : (await readLine(this.#files, this.path)).above;
    const last = (await this.completed()).find((n) => n <= above);
    return last === undefined ? [] : promisedIn(this.#files, join(checkpointPath(this.path, last), metadataName));
  }

  /**
   * Takes back complete checkpoints above `checkpoint`, because an older one was restored: `latest` no longer means them, but what they
   * promised can still be looked up and aborted. They go with the next sweep.
   */
  async undoAbove(checkpoint: number): Promise<readonly number[]> {
    const undone = (await this.completed()).filter((n) => n > checkpoint);
    for (const n of undone) {
      const directory = checkpointPath(this.path, n);
      await this.#files.rename(join(directory, metadataName), join(directory, undoneName));
      await this.#files.syncDirectory(directory);
    }
    return undone;
  }

  /**
   * Transactions that were or may have been prepared after `restored`, and that it does not promise: to be aborted.
   * @param restored  `undefined`: the job starts from the beginning, and what complete checkpoints promise is not abandoned
   */
  async abandonedTransactions(restored: LoadedCheckpoint | undefined): Promise<readonly SinkTransaction[]> {
    // The number of a checkpoint from elsewhere says nothing about ours: all of them were taken back.
    const above = restored !== undefined && this.#isOwn(restored) ? restored.metadata.checkpoint : 0;
    return abandonedAbove(this.#files, this.path, { above, restored: restored?.metadata });
  }

  #isOwn({ directory, metadata }: LoadedCheckpoint): boolean {
    return directory === checkpointPath(this.path, metadata.checkpoint);
  }

  /** A write for an open checkpoint, known to `discard`. */
  async #writing<T>(checkpoint: number, write: (open: Open) => Promise<T>): Promise<T> {
    const open = this.#open.get(checkpoint);
    if (open === undefined || open.isGivenUp) throw givenUp(checkpointPath(this.path, checkpoint));
    const writing = write(open);
    open.writes.add(writing);
    try {
      return await writing;
    } finally {
      open.writes.delete(writing);
    }
  }

  async #remove(checkpoint: number): Promise<void> {
    const directory = checkpointPath(this.path, checkpoint);
    if ((await this.#files.removeFile(join(directory, metadataName))) === 'removed') await this.#files.syncDirectory(directory);
    await this.#files.removeTree(directory);
  }

  /** Removes what no checkpoint in `kept` and none under way needs, among what is older than `before`, and notes that are answered (S4). */
  async #sweep(kept: readonly number[], before: number): Promise<void> {
    for (const entry of await this.#files.list(this.path)) {
      const checkpoint = checkpointOfName(entry.name);
      if (checkpoint === undefined || checkpoint >= before || kept.includes(checkpoint) || this.#open.has(checkpoint)) continue;
      await this.#remove(checkpoint);
    }
    const left = await this.completed();
    const { above } = await readLine(this.#files, this.path);
    // Without any the line stays, because it says where the job goes on.
    if (left.length > 0 && left.every((n) => n > above)) await removeLine(this.#files, this.path);
    if (before < Number.MAX_SAFE_INTEGER) await removeAnnouncements(this.#files, this.path, before);
  }

  async #removeUnfinished(): Promise<void> {
    for (const entry of await this.#files.list(this.path)) {
      const path = join(this.path, entry.name);
      if (entry.name.endsWith('~')) await this.#files.removeFile(path);
      if (checkpointOfName(entry.name) === undefined) continue;
      const isKnown = (await this.#files.stat(join(path, metadataName))) ?? (await this.#files.stat(join(path, undoneName)));
      if (isKnown === undefined) await this.#files.removeTree(path);
      else await this.#files.syncDirectory(path); // S6
    }
    for (const entry of await this.#files.list(join(this.path, announcedName))) {
      if (entry.name.endsWith('~')) await this.#files.removeFile(join(this.path, announcedName, entry.name));
    }
  }
}
