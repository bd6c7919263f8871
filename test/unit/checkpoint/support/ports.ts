// Ports for tests of the checkpoint part: a file system in memory that can be told to fail, and a clock that moves when it is told to.
import type { Clock, FileAppender, FileSystem } from '../../../../lib/core/ports.ts';
import { diskError, FakeDisk, instantFileSystem } from '../../../../lib/testing/index.ts';

export function memoryFiles(): FileSystem {
  return instantFileSystem(new FakeDisk());
}

export interface Fault {
  /** Method of the port, `append` and `sync` of an open file included. */
  readonly method: string;
  readonly path: RegExp;
  /** Calls that match and pass before the first that fails; 0 by default. */
  readonly after?: number;
  /** Failing calls; endless by default. */
  readonly times?: number;
  readonly code?: string;
  /** The effect happens all the same. */
  readonly isLostReply?: boolean;
}

/** The port with faults. What was called is counted in `calls`. */
export function faultyFiles(
  files: FileSystem,
  faults: Fault[] = [],
): { readonly files: FileSystem; readonly faults: Fault[]; readonly calls: string[] } {
  const seen = new Map<Fault, number>();
  const calls: string[] = [];
  const around = async <T>(method: string, path: string, work: () => Promise<T>): Promise<T> => {
    calls.push(`${method} ${path}`);
    for (const fault of faults) {
      if (fault.method !== method || !fault.path.test(path)) continue;
      const n = seen.get(fault) ?? 0;
      seen.set(fault, n + 1);
      const from = fault.after ?? 0;
      if (n < from || n >= from + (fault.times ?? Number.POSITIVE_INFINITY)) continue;
      if (fault.isLostReply === true) await work();
      throw diskError(fault.code ?? 'ENOSPC', method, path);
    }
    return work();
  };
  const appender = (path: string, file: FileAppender): FileAppender => ({
    append: (bytes) => around('append', path, () => file.append(bytes)),
    sync: () => around('sync', path, () => file.sync()),
    close: () => file.close(),
  });
  return {
    faults,
    calls,
    files: {
      readFile: (path) => around('readFile', path, () => files.readFile(path)),
      openReader: (path, offset) => around('openReader', path, () => files.openReader(path, offset)),
      createFile: (path) => around('createFile', path, async () => appender(path, await files.createFile(path))),
      rename: (from, to) => around('rename', `${from} ${to}`, () => files.rename(from, to)),
      link: (from, to) => around('link', `${from} ${to}`, () => files.link(from, to)),
      removeFile: (path) => around('removeFile', path, () => files.removeFile(path)),
      removeTree: (path) => around('removeTree', path, () => files.removeTree(path)),
      createDirectory: (path) => around('createDirectory', path, () => files.createDirectory(path)),
      createDirectoryTree: (path) => around('createDirectoryTree', path, () => files.createDirectoryTree(path)),
      list: (path) => around('list', path, () => files.list(path)),
      stat: (path) => around('stat', path, () => files.stat(path)),
      syncDirectory: (path) => around('syncDirectory', path, () => files.syncDirectory(path)),
      lock: (path, owner) => around('lock', path, () => files.lock(path, owner)),
    },
  };
}

/** A clock that stands still. `advance` wakes sleepers in order of their time. */
export class ManualClock implements Clock {
  #now: number;
  #sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  constructor(now = 1_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  sleep(ms: number): { readonly done: Promise<void>; cancel(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sleepers.push({ at: this.#now + ms, wake: resolve });
    return { done: promise, cancel: resolve };
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#sleepers.filter((s) => s.at <= this.#now).sort((a, b) => a.at - b.at);
    this.#sleepers = this.#sleepers.filter((s) => s.at > this.#now);
    for (const sleeper of due) sleeper.wake();
  }

  /** A clock that was set. */
  jump(ms: number): void {
    this.#now += ms;
  }
}

/** Lets everything happen that needs no clock: work on files in memory is done by then. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** All files below a directory, as paths relative to it, sorted. */
export async function filesBelow(files: FileSystem, path: string, prefix = ''): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await files.list(path)) {
    const name = `${prefix}${entry.name}`;
    if (entry.kind === 'directory') found.push(...(await filesBelow(files, `${path}/${entry.name}`, `${name}/`)));
    else found.push(name);
  }
  return found.sort();
}
