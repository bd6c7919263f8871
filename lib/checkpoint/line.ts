import { join } from 'node:path';
import type { FileSystem } from '../core/ports.ts';
import { lineName } from './layout.ts';
import { damaged, readSealed, writeSealed } from './sealed.ts';

// line.ts keeps where the present line of checkpoints begins. A job that starts from the beginning, or from a checkpoint from elsewhere,
// begins a new line; complete checkpoints of the old one stay until they are subsumed, but `latest` does not mean them any more: before the
// first checkpoint of the new line, going on means beginning again where this line began.

export interface Line {
  /** Only checkpoints above this number belong to the line. */
  readonly above: number;
  /** The directory of the checkpoint from elsewhere that it goes on from. */
  readonly origin: string | undefined;
}

/**
 * The present line; everything belongs to it when nothing else was ever said.
 * @throws SluiceError `CHECKPOINT_DAMAGED`, `FORMAT_NEWER`
 */
export async function readLine(files: FileSystem, attempt: string): Promise<Line> {
  const path = join(attempt, lineName);
  if ((await files.stat(path)) === undefined) return { above: 0, origin: undefined };
  const { above, origin } = (await readSealed(files, path)).content as { readonly above?: unknown; readonly origin?: unknown };
  if (!Number.isSafeInteger(above) || !(origin === undefined || typeof origin === 'string')) throw damaged(path, 'it describes no line');
  return { above: above as number, origin };
}

export async function writeLine(files: FileSystem, attempt: string, line: Line): Promise<void> {
  await writeSealed(files, join(attempt, lineName), line);
}

/** Everything belongs to the line again; right when nothing of another one is left. */
export async function removeLine(files: FileSystem, attempt: string): Promise<void> {
  await files.removeFile(join(attempt, lineName));
}
