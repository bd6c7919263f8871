// transaction-names.ts says under which names a transaction lies in the object store.
//   N1  The name holds generation, subtask, sink and the barrier that opened the transaction: whatever a restore undoes, or a process that was left
//       behind does, is another transaction than the one that is done in its place. Uids and subtasks have no slash, so a name is read in one way.

import type { TransactionId } from '../../api/sink.ts';
import { SluiceError } from '../../core/errors.ts';
import type { PendingTransaction } from '../entry.ts';

type Named = Pick<PendingTransaction, 'generation' | 'subtask' | 'sink' | 'opened'>;

export function transactionName({ generation, subtask, sink, opened }: Named): string {
  return `${generation}/${subtask}/${sink}/${opened}`;
}

/** What was prepared, and when. */
export function recordName(t: Named): string {
  return `transaction/${transactionName(t)}`;
}

/** Whether it is committed or aborted. */
export function decisionName(t: Named): string {
  return `decided/${transactionName(t)}`;
}

export const startPrefix = 'sink/';

/** What `start` of the sink saw. */
export function startName(sink: string): string {
  return `${startPrefix}${sink}`;
}

/** How the sink knows the transaction. */
export function transactionIdOf(job: string, t: Named): TransactionId {
  return { job, uid: t.sink, generation: t.generation, subtask: subtaskNumber(t.subtask), checkpoint: t.opened };
}

/**
 * The number at the end of a subtask's name, for sinks and their file names: index or ordinal of its split. Within a stage it stands for one
 * subtask only, for ever.
 */
export function subtaskNumber(subtask: string): number {
  const digits = /[0-9]+$/.exec(subtask)?.[0];
  if (digits !== undefined) return Number(digits);
  throw new SluiceError('DATA_DAMAGED', { message: `'${subtask}' is not the name of a subtask`, next: 'report-a-bug', subtask });
}

/** Objects of a transaction that nobody needs any more. */
export interface SettledObjects {
  /** May be removed when the transaction is known to be committed or aborted. */
  readonly atOnce: readonly string[];
  /**
   * Decision and record stay as long as a process that was left behind, or one that delivers a tail again, could put the rows again: a day. A commit
   * that finds such rows has to find what was prepared of them, too, since it would prepare them once more.
   */
  readonly afterADay: readonly string[];
}

export function settledObjects(t: PendingTransaction): SettledObjects {
  return { atOnce: [t.rows], afterADay: [recordName(t), decisionName(t)] };
}
