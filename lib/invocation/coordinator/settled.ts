// What is left of transactions that are decided.
//   D1  Our copy of the rows goes when every commit of the checkpoint has been confirmed; a repeated commit then finds the decision.
//   D2  A decision, and the record of what was prepared, stay as long as anybody could ask for them: while a retained checkpoint lists the
//       transaction, and for a day after, in which a process that was left behind could put its rows or prepare it again.

import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { PendingTransaction } from '../entry.ts';
import { tombstoneLifeMs } from '../limits.ts';
import { settledObjects } from '../sinks/transaction-names.ts';
import { concurrently } from './concurrently.ts';
import type { PulseRun } from './pulse-run.ts';

export const settledPrefix = 'settled/';

export async function forgetRows(run: PulseRun, transactions: readonly PendingTransaction[]): Promise<void> {
  const { objects } = run.options.ports;
  await concurrently(transactions, run.concurrency, async (t) => {
    for (const name of settledObjects(t).atOnce) await objects.remove(name);
  });
}

/** Of one note; more go to another one. */
const namesMax = 2_000;

/** Remembers when transactions were decided. */
export async function noteDecisions(run: PulseRun, checkpoint: number, transactions: readonly PendingTransaction[]): Promise<void> {
  const names = transactions.flatMap((t) => settledObjects(t).afterADay);
  for (let from = 0; from < names.length; from += namesMax) {
    const name = `${settledPrefix}${checkpoint}/${from / namesMax}`;
    const bytes = encodeValue([run.options.clock.now(), names.slice(from, from + namesMax)]);
    await run.options.ports.items.put({ name, content: { bytes, change: '' }, expects: 'absent' });
  }
}

/** Removes decisions that nobody can ask for any more. @param listed  those of transactions that heads or retained checkpoints list */
export async function forgetDecisions(run: PulseRun, listed: ReadonlySet<string>): Promise<void> {
  const { items, objects } = run.options.ports;
  const now = run.options.clock.now();
  for (const { name, bytes } of await items.list(settledPrefix)) {
    const [decidedMs, names] = decodeValue(bytes) as readonly [number, readonly string[]];
    if (now - decidedMs <= tombstoneLifeMs || names.some((decision) => listed.has(decision))) continue;
    await concurrently(names, run.concurrency, (decision) => objects.remove(decision));
    await items.remove({ name, expects: 'any' });
  }
}
