// promises.ts says which transactions checkpoints in a directory name: what one of them promises, and what was or may have been prepared for those
// that a job does not go on from.

import { join } from 'node:path';
import { equalBytes } from '../core/bytes.ts';
import { isSluiceError } from '../core/errors.ts';
import type { FileSystem } from '../core/ports.ts';
import { announcementsAbove } from './announcements.ts';
import type { CheckpointMetadata } from './handles.ts';
import { checkpointOfName, metadataName, undoneName } from './layout.ts';
import { decodeMetadata } from './metadata.ts';
import { type SinkTransaction, transactionsOf } from './redistribute.ts';
import { readSealed } from './sealed.ts';

/** Transactions that the metadata at `path` names; none when there is no such file, or when it is damaged. */
export async function promisedIn(files: FileSystem, path: string): Promise<readonly SinkTransaction[]> {
  if ((await files.stat(path)) === undefined) return [];
  try {
    return transactionsOf(decodeMetadata(await readSealed(files, path), path));
  } catch (e) {
    if (isSluiceError(e) && e.code === 'CHECKPOINT_DAMAGED') return []; // nothing to be learnt from it, and whoever loads says so
    throw e;
  }
}

export interface Abandoned {
  /** Checkpoints up to this number stay as they are. */
  readonly above: number;
  /** What the job goes on from; `undefined`: the beginning, and what complete checkpoints promise is not abandoned. */
  readonly restored: CheckpointMetadata | undefined;
}

/** Transactions, each once, that are named above a number and that nothing promises which the job goes on from. */
export async function abandonedAbove(files: FileSystem, path: string, { above, restored }: Abandoned): Promise<readonly SinkTransaction[]> {
  const found: SinkTransaction[] = [...(await announcementsAbove(files, path, above))];
  const promised: SinkTransaction[] = [];
  for (const entry of await files.list(path)) {
    const checkpoint = checkpointOfName(entry.name);
    if (checkpoint === undefined || checkpoint <= above) continue;
    for (const name of [undoneName, metadataName]) {
      const target = restored === undefined && name === metadataName ? promised : found;
      target.push(...(await promisedIn(files, join(path, entry.name, name))));
    }
  }
  if (restored !== undefined) promised.push(...transactionsOf(restored));
  return unique(found).filter((f) => !promised.some((p) => isSame(f, p)));
}

function isSame(a: SinkTransaction, b: SinkTransaction): boolean {
  return a.uid === b.uid && equalBytes(a.transaction, b.transaction);
}

/** Each transaction once, where it was first named. */
function unique(transactions: readonly SinkTransaction[]): readonly SinkTransaction[] {
  return transactions.filter((t, i) => transactions.findIndex((other) => isSame(t, other)) === i);
}
