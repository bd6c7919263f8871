import type { TransactionSettler } from '../control.ts';
import type { PendingTransaction } from '../entry.ts';
import type { InvocationPorts } from '../ports.ts';
import { forgetLoss } from './losses.ts';
import { settledObjects } from './transaction-names.ts';

/**
 * Settles a transaction at the wish of a person, and forgets what was noted of it. Our copy of its rows goes with that, or it would be listed for as
 * long as nobody runs the job.
 * @returns what became of it: one that was to be aborted, and whose commit was decided before, is committed
 * @throws as the settler; then the note stays
 */
export async function settleByHand(
  { items, objects }: Pick<InvocationPorts, 'items' | 'objects'>,
  settler: TransactionSettler,
  p: { readonly transaction: PendingTransaction; readonly how: 'commit' | 'abort' },
): Promise<'committed' | 'aborted'> {
  const { transaction, how } = p;
  let outcome: 'committed' | 'aborted' = 'committed';
  if (how === 'commit') await settler.commit(transaction);
  else outcome = await settler.abort(transaction);
  for (const name of settledObjects(transaction).atOnce) await objects.remove(name);
  await forgetLoss(items, transaction);
  return outcome;
}
