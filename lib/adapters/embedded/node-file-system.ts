// node-file-system.ts is the file-system port over Node's own `fs`, for local disks. What a caller may rely on is said at the port
// (core/ports.ts) and held by its conformance suite; here is only how Node is made to give it.
//   N1  Errors pass through unchanged: `code` is the platform's.
//   N2  No method makes a directory that was not asked for, so a path below a directory that was moved away fails with ENOENT.
//   N3  A name is durable when its directory was synced; Node has no call for that, but a directory can be opened and synced as a file.

import type { Stats } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { DirectoryEntry, FileAppender, FileReader, FileStat, FileSystem } from '../../core/ports.ts';
import { lockFile } from './file-lock.ts';

/** The local file system of this machine. */
export const nodeFileSystem: FileSystem = {
  readFile: (path) => readFile(path),

  async openReader(path, offset) {
    return reader(await open(path, 'r'), offset);
  },

  async createFile(path) {
    return appender(await open(path, 'wx'));
  },

  rename: (from, to) => rename(from, to),

  async link(from, to) {
    try {
      await link(from, to);
      return 'linked';
    } catch (e) {
      if (codeOf(e) === 'EEXIST') return 'exists';
      throw e;
    }
  },

  async removeFile(path) {
    try {
      await unlink(path);
      return 'removed';
    } catch (e) {
      if (codeOf(e) === 'ENOENT') return 'absent';
      throw e;
    }
  },

  removeTree: (path) => rm(path, { recursive: true, force: true }),

  createDirectory: makeDirectory,

  createDirectoryTree: makeTree,

  async list(path) {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.map((e): DirectoryEntry => ({ name: e.name, kind: kindOf(e) })).sort((a, b) => (a.name < b.name ? -1 : 1));
  },

  stat: statOf,

  async syncDirectory(path) {
    // Windows can neither open nor sync a directory, and keeps names durable without it.
    if (process.platform === 'win32') return;
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },

  lock: (path, owner) => lockFile(path, owner),
};

async function makeDirectory(path: string): Promise<'created' | 'exists'> {
  try {
    await mkdir(path);
    return 'created';
  } catch (e) {
    if (codeOf(e) === 'EEXIST' && (await stat(path)).isDirectory()) return 'exists';
    throw e;
  }
}

/** Not by Node's `recursive`: where a file system answers ENOENT for a name that it refuses, as /proc does, that never ends. */
async function makeTree(path: string): Promise<void> {
  const missing: string[] = [];
  let at = resolve(path);
  while ((await statOf(at)) === undefined) {
    missing.push(at);
    at = dirname(at);
  }
  if (missing.length === 0) await makeDirectory(at); // it may be a file
  for (const directory of missing.reverse()) await makeDirectory(directory);
}

async function statOf(path: string): Promise<FileStat | undefined> {
  try {
    // Inode numbers may be above 2^53, and two files must never look like one.
    const s = await stat(path, { bigint: true });
    return { kind: kindOf(s), bytes: Number(s.size), identity: `${s.dev}:${s.ino}` };
  } catch (e) {
    if (codeOf(e) === 'ENOENT' || codeOf(e) === 'ENOTDIR') return undefined;
    throw e;
  }
}

function codeOf(e: unknown): unknown {
  return (e as { readonly code?: unknown } | null)?.code;
}

function kindOf(of: Pick<Stats, 'isFile' | 'isDirectory'>): 'file' | 'directory' | 'other' {
  return of.isFile() ? 'file' : of.isDirectory() ? 'directory' : 'other';
}

function appender(handle: FileHandle): FileAppender {
  return {
    async append(bytes) {
      // One write may take only some of the bytes, as when the disk is nearly full; the next then says why.
      for (let done = 0; done < bytes.length; ) done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
    },
    sync: () => handle.sync(),
    close: () => handle.close(),
  };
}

function reader(handle: FileHandle, offset: number): FileReader {
  let at = offset;
  return {
    async read(max) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafeSlow(max), 0, max, at);
      at += bytesRead;
      return bytesRead === max ? buffer : buffer.subarray(0, bytesRead);
    },
    close: () => handle.close(),
  };
}
