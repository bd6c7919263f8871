import { describe, expect, test } from 'vitest';
import { resolveRef } from '../../../lib/checkpoint/reading.ts';
import type { FileSystem } from '../../../lib/core/ports.ts';
import { memoryFiles } from './support/ports.ts';

async function place(files: FileSystem, ...checkpoints: string[]): Promise<void> {
  for (const path of checkpoints) {
    await files.createDirectoryTree(path);
    await (await files.createFile(`${path}/_metadata`)).close();
  }
}

describe('what --from means', () => {
  test.each([
    ['latest', 'latest'],
    ['/root/job/attempt-3/chk-4', { checkpoint: 4 }],
    ['/root/job/attempt-3/chk-4/_metadata', { checkpoint: 4 }],
    ['/root/job/attempt-3', { checkpoint: 12 }],
    ['/root/job', { checkpoint: 12 }],
    ['/copy/chk-7', { path: '/copy/chk-7' }],
    ['/copy', { path: '/copy/chk-7' }],
    ['/copy/chk-7/_metadata', { path: '/copy/chk-7' }],
    ['/root/other', { path: '/root/other/attempt-1/chk-2' }],
  ])('%s', async (from, expected) => {
    const files = memoryFiles();
    await place(files, '/root/job/attempt-3/chk-4', '/root/job/attempt-3/chk-12', '/copy/chk-7', '/root/other/attempt-1/chk-2');
    expect(await resolveRef(files, from, '/root/job')).toEqual(expected);
  });

  test.each(['/nowhere', '/empty', '/root/job/attempt-3/chk-5'])(
    '%s holds no complete checkpoint, which is said with the path',
    async (from) => {
      const files = memoryFiles();
      await files.createDirectoryTree('/empty');
      await files.createDirectoryTree('/root/job/attempt-3/chk-5');
      await expect(resolveRef(files, from, '/root/job')).rejects.toMatchObject({
        code: 'CHECKPOINT_NOT_FOUND',
        message: `there is no completed checkpoint at ${from}`,
      });
    },
  );
});
