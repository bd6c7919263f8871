// What is left of transactions that are decided.
//   D1  Our copy of the rows goes when every commit of the checkpoint has been confirmed; a repeated commit then finds the decision.
//   D2  A decision stays as long as anybody could ask for it: while a retained checkpoint lists its transaction, and for a day after, in which a
//       process that was left behind could prepare it again.

import type { PendingTransaction } from '../entry.ts';
import { tombstoneLifeMs } from '../limits.ts';
import { settledObjects } from '../sinks/transaction-names.ts';
import { concurrently } from './concurrently.ts';
import { timeContent, timeOf } from './graves.ts';
import type { PulseRun } from './pulse-run.ts';

export const settledPrefix = 'settled/';

export async function forgetRows(run: PulseRun, transactions: readonly PendingTransaction[]): Promise<void> {
  const { objects } = run.options.ports;
  const names = transactions.flatMap((t) => settledObjects(t).atOnce);
  await concurrently(names, run.concurrency, (name) => objects.remove(name));
}

/** Remembers when all transactions that were opened before `checkpoint` had been decided. */
export async function noteDecisions(run: PulseRun, checkpoint: number): Promise<void> {
  const name = `${settledPrefix}${String(checkpoint).padStart(10, '0')}`;
  await run.options.ports.items.put({ name, content: timeContent(run.options.clock.now()), expects: 'absent' });
}

/** Removes decisions that nobody can ask for any more. @param listed  decisions of transactions that heads or retained checkpoints list */
export async function forgetDecisions(run: PulseRun, listed: ReadonlySet<string>): Promise<void> {
  const { items, objects } = run.options.ports;
  const now = run.options.clock.now();
  const old = (await items.list(settledPrefix)).filter((note) => now - timeOf(note) > tombstoneLifeMs);
  if (old.length === 0) return;
  const through = Math.max(...old.map(({ name }) => Number(name.slice(settledPrefix.length))));
  const names = await objects.list('decided/');
  const forgotten = names.filter((name) => !listed.has(name) && Number(name.slice(name.lastIndexOf('/') + 1)) < through);
  await concurrently(forgotten, run.concurrency, (name) => objects.remove(name));
  await concurrently(old, run.concurrency, ({ name }) => items.remove({ name, expects: 'any' }));
}
