// Tags of transactions. They are texts whose order is the order of commits.
//   G1  A tag holds when the run of the job began, its generation and the barrier that opened the transaction. A run that is deployed anew over the rows of
//       an earlier one has larger tags, and so has a restored one.
//   G2  It begins with a letter, behind the tags of rows that were written at once (../row-tags.ts): those of runs before count as committed long ago.

import type { TransactionId } from '../../../api/sink.ts';

const letter = 't';
const runDigits = 15; // milliseconds until the year 33658
const generationDigits = 10;
const checkpointDigits = 16;

/** Below every tag of a transaction, and behind all others. */
export const tagOfNothing = 't';

/** @param run  when the run of the job began, ms since the epoch */
export function transactionTag(run: number, id: Pick<TransactionId, 'generation' | 'checkpoint'>): string {
  return `${runTag(run)}.${withoutRun(id)}`;
}

/** What the tags of a run begin with: above those of runs that began before, and below its own. */
export function runTag(run: number): string {
  return `${letter}${padded(run, runDigits)}`;
}

/** What a tag ends with, for who does not know the run. */
export function withoutRun({ generation, checkpoint }: Pick<TransactionId, 'generation' | 'checkpoint'>): string {
  return `${padded(generation, generationDigits)}.${padded(checkpoint, checkpointDigits)}`;
}

/** Run and generation. */
export function attemptOfTag(tag: string): string {
  return tag.slice(0, letter.length + runDigits + 1 + generationDigits);
}

export function runOfTag(tag: string): string {
  return tag.slice(0, letter.length + runDigits);
}

function padded(n: number, digits: number): string {
  return String(n).padStart(digits, '0');
}
