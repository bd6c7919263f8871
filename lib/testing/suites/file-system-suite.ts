// The contract of the `FileSystem` port as tests: every adapter of it passes them, the strict fake too. The test functions are arguments,
// so that the suite runs under any runner; it brings its own assertions.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { FileSystem } from '../../core/ports.ts';

export interface SuiteRunner {
  describe(name: string, body: () => void): void;
  test(name: string, body: () => Promise<void>): void;
}

export interface FileSystemUnderTest {
  readonly files: FileSystem;
  /** An existing, empty directory of its own for this test. */
  readonly directory: string;
  /** Removes what the test left; the fake needs none. */
  cleanUp?(): Promise<void>;
}

const text = (s: string): Uint8Array => new TextEncoder().encode(s);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const rejectsWith = (code: string, work: Promise<unknown>): Promise<void> =>
  assert.rejects(work, (e) => (e as { code?: unknown }).code === code);

async function write(files: FileSystem, path: string, content: string): Promise<void> {
  const file = await files.createFile(path);
  await file.append(text(content));
  await file.close();
}

/** All that the reader gives from its place on, in pieces of at most `max`. */
async function readAll(files: FileSystem, path: string, offset: number, max: number): Promise<string> {
  const reader = await files.openReader(path, offset);
  let all = '';
  for (;;) {
    const piece = await reader.read(max);
    assert.ok(piece.length <= max, `a read of at most ${max} gave ${piece.length} bytes`);
    if (piece.length === 0) break;
    all += textOf(piece);
  }
  await reader.close();
  return all;
}

/** Registers the tests of the file-system port for one adapter. */
export function fileSystemSuite(name: string, runner: SuiteRunner, make: () => Promise<FileSystemUnderTest>): void {
  const rule = (title: string, body: (files: FileSystem, at: (...names: string[]) => string) => Promise<void>): void =>
    runner.test(title, async () => {
      const { files, directory, cleanUp } = await make();
      try {
        await body(files, (...names) => join(directory, ...names));
      } finally {
        await cleanUp?.();
      }
    });
  runner.describe(`the file-system port: ${name}`, () => {
    filesAndBytes(rule);
    namesAndDirectories(rule);
    movedDirectories(rule);
    locks(rule);
  });
}

type Rule = (title: string, body: (files: FileSystem, at: (...names: string[]) => string) => Promise<void>) => void;

function filesAndBytes(rule: Rule): void {
  rule('what was appended is what is read, in order, whole or from a place on', async (files, at) => {
    const file = await files.createFile(at('a'));
    await file.append(text('one '));
    await file.append(new Uint8Array(0));
    await file.append(text('two'));
    await file.sync();
    await file.close();
    assert.equal(textOf(await files.readFile(at('a'))), 'one two');
    assert.equal(await readAll(files, at('a'), 0, 3), 'one two');
    assert.equal(await readAll(files, at('a'), 4, 1_000), 'two');
    assert.equal(await readAll(files, at('a'), 1_000, 10), '');
  });

  rule('a view into a larger buffer is appended as the view, and the buffer may be used again afterwards', async (files, at) => {
    const buffer = text('..view..');
    const file = await files.createFile(at('a'));
    await file.append(buffer.subarray(2, 6));
    buffer.fill(0);
    await file.close();
    assert.equal(textOf(await files.readFile(at('a'))), 'view');
  });

  rule('a file is created once: a taken name is EEXIST and keeps its content', async (files, at) => {
    await write(files, at('a'), 'first');
    await rejectsWith('EEXIST', files.createFile(at('a')));
    assert.equal(textOf(await files.readFile(at('a'))), 'first');
  });

  rule('what is not there is ENOENT to read, to open, to list, to rename and to create in', async (files, at) => {
    await rejectsWith('ENOENT', files.readFile(at('none')));
    await rejectsWith('ENOENT', files.openReader(at('none'), 0));
    await rejectsWith('ENOENT', files.list(at('none')));
    await rejectsWith('ENOENT', files.rename(at('none'), at('other')));
    await rejectsWith('ENOENT', files.createFile(at('none', 'a')));
    await rejectsWith('ENOENT', files.createDirectory(at('none', 'a')));
    await rejectsWith('ENOENT', files.lock(at('none', 'lock'), 'me'));
    assert.equal(await files.stat(at('none')), undefined);
    assert.equal(await files.stat(at('none', 'a')), undefined);
  });

  rule('removing a file says whether it was there', async (files, at) => {
    await write(files, at('a'), 'x');
    assert.equal(await files.removeFile(at('a')), 'removed');
    assert.equal(await files.removeFile(at('a')), 'absent');
    assert.equal(await files.removeFile(at('none', 'a')), 'absent');
  });
}

function namesAndDirectories(rule: Rule): void {
  rule('rename replaces a file, and the replaced one is gone', async (files, at) => {
    await write(files, at('old'), 'old');
    await write(files, at('new'), 'new');
    await files.rename(at('new'), at('old'));
    assert.equal(textOf(await files.readFile(at('old'))), 'new');
    assert.deepEqual(await files.list(at()), [{ name: 'old', kind: 'file' }]);
  });

  rule('a link is a second name of the same file and never overwrites', async (files, at) => {
    await write(files, at('a'), 'content');
    await write(files, at('taken'), 'other');
    assert.equal(await files.link(at('a'), at('b')), 'linked');
    assert.equal(await files.link(at('a'), at('taken')), 'exists');
    assert.equal(textOf(await files.readFile(at('taken'))), 'other');
    const [a, b, taken] = await Promise.all([files.stat(at('a')), files.stat(at('b')), files.stat(at('taken'))]);
    assert.equal(a?.identity, b?.identity);
    assert.notEqual(a?.identity, taken?.identity);
    await files.removeFile(at('a'));
    assert.equal(textOf(await files.readFile(at('b'))), 'content');
    await rejectsWith('ENOENT', files.link(at('a'), at('c')));
  });

  rule('a list is sorted by name and tells files from directories', async (files, at) => {
    await write(files, at('b'), '');
    await files.createDirectory(at('c'));
    await write(files, at('a'), '');
    await write(files, at('B'), '');
    assert.deepEqual(await files.list(at()), [
      { name: 'B', kind: 'file' },
      { name: 'a', kind: 'file' },
      { name: 'b', kind: 'file' },
      { name: 'c', kind: 'directory' },
    ]);
    assert.deepEqual(await files.list(at('c')), []);
  });

  rule('stat tells kind and size', async (files, at) => {
    await write(files, at('a'), 'four');
    assert.deepEqual({ ...(await files.stat(at('a'))), identity: '' }, { kind: 'file', bytes: 4, identity: '' });
    assert.equal((await files.stat(at()))?.kind, 'directory');
  });

  rule('a directory is created once, by one of several', async (files, at) => {
    const answers = await Promise.all([1, 2, 3].map(() => files.createDirectory(at('d'))));
    assert.deepEqual(answers.sort(), ['created', 'exists', 'exists']);
  });

  rule('only createDirectoryTree makes parents; it may be repeated', async (files, at) => {
    await files.createDirectoryTree(at('x', 'y', 'z'));
    await files.createDirectoryTree(at('x', 'y', 'z'));
    await write(files, at('x', 'y', 'z', 'a'), 'deep');
    await files.syncDirectory(at('x', 'y'));
    assert.equal(textOf(await files.readFile(at('x', 'y', 'z', 'a'))), 'deep');
  });

  rule('a tree is removed with everything below; one that is not there is no error', async (files, at) => {
    await files.createDirectoryTree(at('x', 'y'));
    await write(files, at('x', 'y', 'a'), 'a');
    await files.removeTree(at('x'));
    await files.removeTree(at('x'));
    assert.deepEqual(await files.list(at()), []);
  });
}

function movedDirectories(rule: Rule): void {
  rule('after a directory was renamed, every path through its old name fails', async (files, at) => {
    await files.createDirectory(at('old'));
    await write(files, at('old', 'a'), 'kept');
    await files.rename(at('old'), at('new'));
    await rejectsWith('ENOENT', files.createFile(at('old', 'b')));
    await rejectsWith('ENOENT', files.createDirectory(at('old', 'd')));
    await rejectsWith('ENOENT', files.rename(at('old', 'a'), at('old', 'b')));
    await rejectsWith('ENOENT', files.link(at('new', 'a'), at('old', 'a')));
    await rejectsWith('ENOENT', files.syncDirectory(at('old')));
    assert.equal(textOf(await files.readFile(at('new', 'a'))), 'kept');
  });

  rule('a directory does not replace one that holds something', async (files, at) => {
    await files.createDirectory(at('a'));
    await files.createDirectory(at('b'));
    await write(files, at('b', 'x'), 'x');
    await assert.rejects(files.rename(at('a'), at('b')));
    assert.deepEqual(await files.list(at('b')), [{ name: 'x', kind: 'file' }]);
  });

  rule('of two renames of one directory, exactly one happens', async (files, at) => {
    await files.createDirectory(at('a'));
    const answers = await Promise.allSettled([files.rename(at('a'), at('b')), files.rename(at('a'), at('c'))]);
    assert.deepEqual(answers.map((a) => a.status).sort(), ['fulfilled', 'rejected']);
  });

  rule('an open file stays writable when its directory is renamed, under the new name only', async (files, at) => {
    await files.createDirectory(at('old'));
    const file = await files.createFile(at('old', 'a'));
    await files.rename(at('old'), at('new'));
    await file.append(text('late'));
    await file.close();
    assert.equal(textOf(await files.readFile(at('new', 'a'))), 'late');
    assert.equal(await files.stat(at('old')), undefined);
  });
}

function locks(rule: Rule): void {
  rule('a lock is held by one, who is named to the others, until it is released', async (files, at) => {
    const first = await files.lock(at('lock'), 'the first');
    assert.equal(first.kind, 'locked');
    assert.deepEqual(await files.lock(at('lock'), 'the second'), { kind: 'held', owner: 'the first' });
    if (first.kind === 'locked') await first.lock.release();
    const second = await files.lock(at('lock'), 'the second');
    assert.equal(second.kind, 'locked');
    if (second.kind === 'locked') await second.lock.release();
  });

  rule('of several that lock at once, exactly one gets it', async (files, at) => {
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((owner) => files.lock(at('lock'), owner)));
    const locked = answers.filter((a) => a.kind === 'locked');
    assert.equal(locked.length, 1);
    await locked[0]!.lock.release();
  });

  rule('a lock goes with its file when the directory is renamed', async (files, at) => {
    await files.createDirectory(at('old'));
    const mine = await files.lock(at('old', 'lock'), 'me');
    await files.rename(at('old'), at('new'));
    assert.equal((await files.lock(at('new', 'lock'), 'you')).kind, 'held');
    if (mine.kind === 'locked') await mine.lock.release();
    const yours = await files.lock(at('new', 'lock'), 'you');
    assert.equal(yours.kind, 'locked');
    if (yours.kind === 'locked') await yours.lock.release();
  });

  rule('releasing twice is harmless', async (files, at) => {
    const mine = await files.lock(at('lock'), 'me');
    if (mine.kind !== 'locked') throw new Error('a fresh lock is held');
    await mine.lock.release();
    await mine.lock.release();
    const again = await files.lock(at('lock'), 'me');
    assert.equal(again.kind, 'locked');
    if (again.kind === 'locked') await again.lock.release();
  });
}
