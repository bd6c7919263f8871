import { join } from 'node:path';
import type { FileSystem } from '../core/ports.ts';
import { announcedName, announcementName, checkpointOfAnnouncement } from './layout.ts';
import type { SinkTransaction } from './redistribute.ts';
import { Blob, type BlobRef, readSealed, writeSealed } from './sealed.ts';

// announcements.ts keeps the names of transactions that are about to be prepared. A crash between the preparing and the completion of the
// checkpoint leaves them in the target with nobody who promises them; the next attempt finds them here and aborts them.

/** Open transactions of one sink on one subtask. */
export interface Announcement {
  readonly stage: number;
  readonly subtask: number;
  readonly uid: string;
  readonly transactions: readonly Uint8Array[];
}

interface Stored {
  readonly checkpoint: number;
  readonly subtask: number;
  readonly uid: string;
  readonly transactions: readonly BlobRef[];
}

export async function writeAnnouncement(
  files: FileSystem,
  attempt: string,
  checkpoint: number,
  index: number,
  note: Announcement,
): Promise<void> {
  const blob = new Blob();
  const { stage, subtask, uid } = note;
  const content: Stored = { checkpoint, subtask, uid, transactions: note.transactions.map((t) => blob.add(t)) };
  await writeSealed(files, join(attempt, announcedName, announcementName(checkpoint, stage, subtask, index)), content, blob);
}

/** Announced transactions of checkpoints above a number, in order of checkpoint and subtask. */
export async function announcementsAbove(files: FileSystem, attempt: string, above: number): Promise<readonly SinkTransaction[]> {
  const found: SinkTransaction[] = [];
  for (const entry of await files.list(join(attempt, announcedName))) {
    if ((checkpointOfAnnouncement(entry.name) ?? 0) <= above) continue;
    const file = await readSealed(files, join(attempt, announcedName, entry.name));
    const { checkpoint, subtask, uid, transactions } = file.content as Stored;
    for (const ref of transactions) found.push({ checkpoint, subtask, uid, transaction: file.bytes(ref) });
  }
  return found.sort((a, b) => a.checkpoint - b.checkpoint || a.subtask - b.subtask);
}

/** Removes notes of checkpoints up to a number. */
export async function removeAnnouncements(files: FileSystem, attempt: string, upTo: number): Promise<void> {
  for (const entry of await files.list(join(attempt, announcedName))) {
    const checkpoint = checkpointOfAnnouncement(entry.name);
    if (checkpoint !== undefined && checkpoint <= upTo) await files.removeFile(join(attempt, announcedName, entry.name));
  }
}
