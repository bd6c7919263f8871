// What a completed checkpoint says, in one object: the handles of all its owners.

import { SluiceError } from '../../core/errors.ts';
import type { EntryHead, PendingTransaction } from '../entry.ts';
import { decodeHead } from '../entry-codec.ts';
import type { CompletedCheckpoint, SubtaskHandle } from '../job-item.ts';
import { decodeHandles } from '../job-item-codec.ts';
import type { ObjectStore } from '../ports.ts';

export const metadataPrefix = 'checkpoint/';

export function metadataName(checkpoint: number): string {
  return `${metadataPrefix}${String(checkpoint).padStart(10, '0')}/_metadata`;
}

/** @throws SluiceError `CHECKPOINT_NOT_FOUND` when its object is gone, and the errors of formats */
export async function readHandles(objects: ObjectStore, completed: CompletedCheckpoint): Promise<readonly SubtaskHandle[]> {
  const bytes = await objects.get(completed.metadata);
  if (bytes !== undefined) return decodeHandles(bytes);
  throw new SluiceError('CHECKPOINT_NOT_FOUND', {
    message: `checkpoint ${completed.checkpoint} is listed, but its object ${completed.metadata} does not exist`,
    next: 'repair-state',
    checkpoint: completed.checkpoint,
  });
}

export function headsOf(handles: readonly SubtaskHandle[]): readonly EntryHead[] {
  return handles.map(({ head }) => decodeHead(head));
}

/** Every transaction that completing a checkpoint promises: those of checkpoints before it that never completed are among them. */
export function transactionsOf(heads: readonly EntryHead[]): readonly PendingTransaction[] {
  return heads.flatMap(({ transactions }) => transactions);
}

/** Identity of a transaction. */
export function transactionKey({ generation, subtask, sink, opened }: PendingTransaction): string {
  return JSON.stringify([generation, subtask, sink, opened]);
}
