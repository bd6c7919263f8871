import { describe, expect, test } from 'vitest';
import { checkpointRoot, directoryNameOf, findRoot, noteRoot, pathOfUri } from '../../../../lib/adapters/embedded/checkpoint-directory.ts';
import type { FileSystem } from '../../../../lib/core/ports.ts';
import { memoryFiles } from '../../checkpoint/support/ports.ts';

describe('where checkpoints go', () => {
  test.each([
    ['state', '/home/me/state'],
    ['./state', '/home/me/state'],
    ['/abs/state', '/abs/state'],
    ['file:state', '/home/me/state'],
    ['file:./state/', '/home/me/state'],
    ['file:/abs/state', '/abs/state'],
    ['file:///abs/my%20state', '/abs/my state'],
  ])('%s', (uri, path) => {
    expect(pathOfUri(uri, '/home/me')).toBe(path);
  });

  test.each(['s3://bucket/x', 'hdfs://x', 'http://x'])('%s is refused with the place', (uri) => {
    expect(() => pathOfUri(uri, '/home/me')).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_URI_UNSUPPORTED', message: expect.stringContaining(uri) }),
    );
  });

  test('a directory below it for each job, .sluice when nothing is said', () => {
    expect(checkpointRoot('job', 'file:state', '/home/me')).toBe('/home/me/state/job');
    expect(checkpointRoot('job', undefined, '/home/me')).toBe('/home/me/.sluice/job');
  });

  test('names of jobs that a file system could not bear, or that would leave the directory, are encoded; no two become one', () => {
    const names = [
      'late-flights',
      'a b',
      '',
      '.',
      '..',
      '.hidden',
      'x/y',
      'x\\y',
      '%',
      '%.',
      'a:b',
      'ü',
      'C*N',
      'end.',
      'end',
      ' x',
      'x ',
      '\u0000',
      '𝄞',
    ];
    const directories = names.map(directoryNameOf);
    expect(new Set(directories).size).toBe(names.length);
    expect(directories[0]).toBe('late-flights');
    for (const d of directories) expect(d).toMatch(/^(?!\.|$)[A-Za-z0-9._%~ -]+$/);
  });
});

describe('finding a job by its name', () => {
  const run = (files: FileSystem, root: string) => files.createDirectoryTree(`${root}/attempt-1`);

  test('under the configured directory first, else where its last run said, else under .sluice', async () => {
    const files = memoryFiles();
    const find = (directory?: string) => findRoot(files, 'job', directory, '/home/me');
    expect(await find()).toBeUndefined();
    await run(files, '/home/me/.sluice/job');
    expect(await find()).toBe('/home/me/.sluice/job');
    await run(files, '/chosen/job');
    await noteRoot(files, 'job', '/chosen/job', '/home/me');
    expect(await find()).toBe('/chosen/job');
    expect(await find('/configured')).toBe('/chosen/job');
    await run(files, '/configured/job');
    expect(await find('/configured')).toBe('/configured/job');
    await noteRoot(files, 'job', '/home/me/.sluice/job', '/home/me');
    expect(await find()).toBe('/home/me/.sluice/job');
  });
});
