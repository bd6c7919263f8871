import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { nodeFileSystem } from '../../lib/adapters/embedded/node-file-system.ts';
import { fileSystemSuite } from '../../lib/testing/suites/file-system-suite.ts';

fileSystemSuite('local disk', { describe, test }, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-files-'));
  return { files: nodeFileSystem, directory, cleanUp: () => rm(directory, { recursive: true, force: true }) };
});
