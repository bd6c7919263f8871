// The ports of the engine: everything that is not a function of its arguments comes through one of these. Each method call is a point at
// which the simulator may schedule something else or let a fault happen.

/** Wall time in ms since the epoch; may jump. Correctness never rests on it. */
export interface Clock {
  now(): number;
  /** Resolves after about `ms`; rejects never. `cancel` makes it resolve at once. */
  sleep(ms: number): { readonly done: Promise<void>; cancel(): void };
}

/** A seeded or system source of chance: 32 random bits as an unsigned integer. */
export interface Random {
  bits(): number;
}

/** Decides which runnable subtask goes next, and gives other work of the process a chance. */
export interface Scheduler {
  /** An index from 0 to `runnable - 1`. */
  pick(runnable: number): number;
  /**
   * Called between steps. A promise when the engine has to let I/O completions in, else `undefined`.
   * @param isAwaitingIo  a checkpoint waits for its files: completions should come in soon, even behind slow user code
   */
  breathe(isAwaitingIo: boolean): Promise<void> | undefined;
  /** How many of the next `entries` entries of a snapshot to encode before other work goes on, at least 1; all of them when absent. */
  slice?(entries: number): number;
}

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'other';
  readonly bytes: number;
  /** Identity of the file itself: two names of one file have the same. */
  readonly identity: string;
}

export interface DirectoryEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'other';
}

/** An open file that grows at its end. Bytes are durable after `sync` resolved. */
export interface FileAppender {
  append(bytes: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** An open file that is read from a place on. */
export interface FileReader {
  /** The next bytes, at most `max`; empty at the end of the file. */
  read(max: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Bytes that come from outside once and cannot be asked for again. Closing a reader ends a `read` that waits. */
export interface ByteStreams {
  /** Rejects with the platform's error (`ECONNREFUSED` …). */
  connect(p: { readonly host: string; readonly port: number }): Promise<FileReader>;
  standardInput(): FileReader;
}

/** Held until `release` or the death of the process, whatever kills it. */
export interface FileLock {
  release(): Promise<void>;
}

/**
 * Files of one machine. Paths are absolute or relative to the process.
 *
 * Guarantees: `rename`, `link` and `createDirectory` are atomic; no method creates a parent directory but `createDirectoryTree`;
 * a failure rejects with the platform's error (`code` `ENOENT`, `ENOSPC`, `EACCES` …). Durable means: after `sync` of the file and
 * `syncDirectory` of its directory.
 */
export interface FileSystem {
  readFile(path: string): Promise<Uint8Array>;
  openReader(path: string, offset: number): Promise<FileReader>;
  /** Creates the file; rejects with `EEXIST` when the name is taken. */
  createFile(path: string): Promise<FileAppender>;
  /** Replaces what `to` named, if it was a file. */
  rename(from: string, to: string): Promise<void>;
  /** A second name for a file; never overwrites. */
  link(from: string, to: string): Promise<'linked' | 'exists'>;
  /** `absent` is a result, not an error. */
  removeFile(path: string): Promise<'removed' | 'absent'>;
  removeTree(path: string): Promise<void>;
  createDirectory(path: string): Promise<'created' | 'exists'>;
  createDirectoryTree(path: string): Promise<void>;
  /** Sorted by name. Rejects with `ENOENT` when there is no such directory. */
  list(path: string): Promise<readonly DirectoryEntry[]>;
  stat(path: string): Promise<FileStat | undefined>;
  syncDirectory(path: string): Promise<void>;
  /** Takes the lock that the file stands for (creating it), and notes `owner` beside it. */
  lock(
    path: string,
    owner: string,
  ): Promise<{ readonly kind: 'locked'; readonly lock: FileLock } | { readonly kind: 'held'; readonly owner: string }>;
}
