import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nodeFileSystem } from '../../../../lib/adapters/embedded/node-file-system.ts';

test('a directory that the system refuses to make is an error and not an endless try', async () => {
  // Linux answers ENOENT there, as if a parent were missing; elsewhere there is no /proc and nobody may write to /.
  const refused = existsSync('/proc/self') ? '/proc/sluice-test/out' : '/dev/null/sluice-test/out';
  await expect(nodeFileSystem.createDirectoryTree(refused)).rejects.toMatchObject({ code: expect.stringMatching(/^E[A-Z]+$/) });
});
