// durable-tree.ts makes directories that are still there after a power cut.

import { dirname, resolve } from 'node:path';
import type { FileSystem } from './ports.ts';

/**
 * Creates a directory with all its parents and makes every name on the way durable. It does so too when the directory is there already:
 * whoever made it may have died before its name was synced.
 *
 * Directories above that this user may not open are none of ours, and left alone.
 */
export async function createDurableTree(files: FileSystem, path: string): Promise<void> {
  await files.createDirectoryTree(path);
  for (let below = resolve(path), above = dirname(below); above !== below; below = above, above = dirname(above)) {
    try {
      await files.syncDirectory(above);
    } catch (e) {
      if (!['EACCES', 'EPERM', 'EINVAL'].includes((e as { readonly code?: string } | null)?.code ?? '')) throw e;
    }
  }
}
