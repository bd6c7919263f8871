import { join } from 'node:path';
import type { FileSystem } from '../core/ports.ts';
import { announcedName, checkpointOfAnnouncement, checkpointOfName, numbersName } from './layout.ts';
import { damaged, readSealed, writeSealed } from './sealed.ts';

// numbers.ts keeps the highest checkpoint number ever begun below a root, so that no number is used twice, whatever was restored and
// whatever was removed since.

/**
 * The highest number ever begun; without a note, the highest that can be seen.
 * @throws SluiceError `CHECKPOINT_DAMAGED`, `FORMAT_NEWER`
 */
export async function readNumbers(files: FileSystem, attempt: string): Promise<number> {
  const path = join(attempt, numbersName);
  const seen = await highestSeen(files, attempt);
  if ((await files.stat(path)) === undefined) return seen;
  const { highest } = (await readSealed(files, path)).content as { readonly highest?: unknown };
  if (!Number.isSafeInteger(highest)) throw damaged(path, 'it holds no number');
  return Math.max(seen, highest as number);
}

export async function writeNumbers(files: FileSystem, attempt: string, highest: number): Promise<void> {
  await writeSealed(files, join(attempt, numbersName), { highest });
}

async function highestSeen(files: FileSystem, attempt: string): Promise<number> {
  let highest = 0;
  for (const entry of await files.list(attempt)) highest = Math.max(highest, checkpointOfName(entry.name) ?? 0);
  for (const entry of await files.list(join(attempt, announcedName))) {
    highest = Math.max(highest, checkpointOfAnnouncement(entry.name) ?? 0);
  }
  return highest;
}
