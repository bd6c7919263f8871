// fake-file-system.ts is the strict `FileSystem` of one simulated process: each method is a call to the world, whose effect happens on the
// world's disk. A handle stays with its file when names change around it, as with a kernel.

import type { FileAppender, FileLock, FileReader, FileSystem } from '../core/ports.ts';
import { diskError, type FakeDisk, type FileNode } from './fake-disk.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';

/** Who asks: it decides when the effect happens and whether it is heard of. */
export interface Asker {
  readonly name: string;
  readonly random: SeededRandom;
  call<T>(method: string, place: string, effect: (fraction: number) => T): Promise<T>;
}

/** A file system whose every call happens at once: how an auditor looks at a disk between two steps of its world. */
export function instantFileSystem(disk: FakeDisk): FileSystem {
  return fakeFileSystem({ name: 'auditor', random: seededRandom(0), call: async (_method, _place, effect) => effect(1) }, disk);
}

export function fakeFileSystem(process: Asker, disk: FakeDisk): FileSystem {
  const by = process.name;
  return {
    readFile: (path) => process.call('readFile', path, () => disk.contents(path)),
    openReader: (path, offset) => process.call('openReader', path, () => reader(process, path, disk.file(path, 'open'), offset)),
    createFile: (path) => process.call('createFile', path, () => appender(process, disk, path, disk.create(path, by))),
    rename: (from, to) => process.call('rename', `${from} → ${to}`, () => disk.rename(from, to, by)),
    link: (from, to) => process.call('link', `${from} → ${to}`, () => disk.link(from, to, by)),
    removeFile: (path) => process.call('removeFile', path, () => disk.unlink(path, by)),
    removeTree: (path) => process.call('removeTree', path, (fraction) => disk.removeTree(path, by, stepsOf(fraction))),
    createDirectory: (path) => process.call('createDirectory', path, () => disk.makeDirectory(path, by)),
    createDirectoryTree: (path) => process.call('createDirectoryTree', path, (fraction) => disk.makeTree(path, by, stepsOf(fraction))),
    list: (path) => process.call('list', path, () => disk.list(path)),
    stat: (path) => process.call('stat', path, () => disk.stat(path)),
    syncDirectory: (path) => process.call('syncDirectory', path, () => disk.syncDirectory(path)),
    lock: (path, owner) =>
      process.call('lock', path, () => {
        const found = disk.find(path);
        if (found?.kind === 'directory') throw diskError('EISDIR', 'open', path);
        const file = found ?? disk.create(path, by);
        if (file.lock !== undefined) return { kind: 'held', owner: file.lock.owner } as const;
        file.lock = { process: by, owner };
        return { kind: 'locked', lock: heldLock(process, path, file) } as const;
      }),
  };
}

function stepsOf(fraction: number): number {
  return fraction >= 1 ? Number.POSITIVE_INFINITY : Math.floor(fraction * 8);
}

function appender(process: Asker, disk: FakeDisk, path: string, file: FileNode): FileAppender {
  let isOpen = true;
  let isBusy = false;
  const open = (syscall: string): void => {
    if (!isOpen) throw diskError('EBADF', syscall, path);
  };
  return {
    async append(bytes) {
      // Two appends at once would land in an order that nobody chose; the strict fake refuses what a real disk would quietly do.
      if (isBusy) throw new Error(`two appends to '${path}' at once: await the first one`);
      isBusy = true;
      // The caller may reuse its buffer only after the call, so what counts is what it holds when the effect happens.
      try {
        await process.call('append', path, (fraction) => {
          open('write');
          disk.append(file, fraction >= 1 ? bytes : bytes.subarray(0, Math.floor(bytes.length * fraction)));
        });
      } finally {
        isBusy = false;
      }
    },
    sync: () =>
      process.call('sync', path, () => {
        open('fsync');
        disk.syncFile(file);
      }),
    close: () =>
      process.call('close', path, () => {
        open('close');
        isOpen = false;
      }),
  };
}

function reader(process: Asker, path: string, file: FileNode, offset: number): FileReader {
  let at = offset;
  let isOpen = true;
  return {
    read: (max) =>
      process.call('read', path, () => {
        if (!isOpen) throw diskError('EBADF', 'read', path);
        // A read may give less than there is; readers that count on more are wrong.
        const wanted = process.random.chance(0.1) ? 1 + process.random.below(Math.max(1, max)) : max;
        const end = Math.min(file.length, at + wanted);
        const bytes = file.bytes.slice(Math.min(at, end), end);
        at += bytes.length;
        return bytes;
      }),
    close: () =>
      process.call('close', path, () => {
        if (!isOpen) throw diskError('EBADF', 'close', path);
        isOpen = false;
      }),
  };
}

function heldLock(process: Asker, path: string, file: FileNode): FileLock {
  return {
    release: () =>
      process.call('release', path, () => {
        if (file.lock?.process === process.name) file.lock = undefined;
      }),
  };
}
