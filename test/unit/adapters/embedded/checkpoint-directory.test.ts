import { describe, expect, test } from 'vitest';
import { checkpointRoot, directoryNameOf, findRoot, noteRoot, pathOfUri } from '../../../../lib/adapters/embedded/checkpoint-directory.ts';
import type { FileSystem } from '../../../../lib/core/ports.ts';
import { memoryFiles } from '../../checkpoint/support/ports.ts';

describe('where checkpoints go', () => {
  test.each([
    ['state', '/work/state'],
    ['./state', '/work/state'],
    ['/abs/state', '/abs/state'],
    ['file:state', '/work/state'],
    ['file:./state/', '/work/state'],
    ['file:/abs/state', '/abs/state'],
    ['file:///abs/my%20state', '/abs/my state'],
  ])('%s', (uri, path) => {
    expect(pathOfUri(uri, '/work')).toBe(path);
  });

  test.each(['s3://bucket/x', 'hdfs://x', 'http://x'])('%s is refused with the place', (uri) => {
    expect(() => pathOfUri(uri, '/work')).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_URI_UNSUPPORTED', message: expect.stringContaining(uri) }),
    );
  });

  test('a directory below it for each job, .sluice when nothing is said', () => {
    expect(checkpointRoot('job', 'file:state', '/work')).toBe('/work/state/job');
    expect(checkpointRoot('job', undefined, '/work')).toBe('/work/.sluice/job');
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
    const find = (directory?: string) => findRoot(files, 'job', directory, '/work');
    expect(await find()).toBeUndefined();
    await run(files, '/work/.sluice/job');
    expect(await find()).toBe('/work/.sluice/job');
    await run(files, '/chosen/job');
    await noteRoot(files, 'job', '/chosen/job', '/work');
    expect(await find()).toBe('/chosen/job');
    expect(await find('/configured')).toBe('/chosen/job');
    await run(files, '/configured/job');
    expect(await find('/configured')).toBe('/configured/job');
    await noteRoot(files, 'job', '/work/.sluice/job', '/work');
    expect(await find()).toBe('/work/.sluice/job');
  });
});
