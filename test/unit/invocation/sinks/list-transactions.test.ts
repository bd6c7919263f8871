import { expect, test } from 'vitest';
import type { PendingTransaction } from '../../../../lib/invocation/entry.ts';
import { encodeRows } from '../../../../lib/invocation/rows-codec.ts';
import { isUnsettled, listTransactions } from '../../../../lib/invocation/sinks/list-transactions.ts';
import { listLosses, noteLosses } from '../../../../lib/invocation/sinks/losses.ts';
import { prepareTransaction } from '../../../../lib/invocation/sinks/prepare-transaction.ts';
import { settleByHand } from '../../../../lib/invocation/sinks/settle-by-hand.ts';
import { createSettler } from '../../../../lib/invocation/sinks/settler.ts';
import { encodeTransactionRows } from '../../../../lib/invocation/sinks/transaction-rows.ts';
import { batch } from '../../connectors/support/sinks.ts';
import { storedEntry } from '../support/entries.ts';
import { createWorld, processOf } from './support/target.ts';

const slots = 8;
const owner = (subtask: string, index: number) => ({ subtask, stage: 1, index, splits: [] });

test('pending transactions are listed by subtask, oldest first, with rows and state, and can be settled from the list', async () => {
  const world = await createWorld(undefined);
  const { sink, objects, ports, plan, contextOf } = processOf(world);
  const pending = (subtask: string, opened: number): PendingTransaction => ({
    sink: 'out',
    opened,
    under: opened + 1,
    generation: 1,
    subtask,
    rows: `rows/${subtask}/${opened}`,
  });
  const transactions = { '1-0': [pending('1-0', 2), pending('1-0', 3), pending('1-0', 4)], '1-1': [pending('1-1', 2)], '1-2': [] };
  for (const [subtask, own] of Object.entries(transactions)) {
    const entry = storedEntry({ generation: 1, subtask, n: 0, kind: 'init', flushedThrough: -1, transactions: own });
    await ports.changelog.put({ ring: { generation: 1, subtask }, slot: 0, entry, expects: 'absent' });
    for (const t of own) await objects.putIfAbsent(t.rows, encodeTransactionRows([encodeRows(batch('a')), encodeRows(batch('b', 'c'))]));
  }
  const [committed, prepared, gone] = transactions['1-0'] as [PendingTransaction, PendingTransaction, PendingTransaction];
  for (const transaction of [committed, prepared])
    await prepareTransaction({ transaction, sink, objects, context: contextOf(), timestamp: 5 });
  const settler = createSettler({ plan, ports, contextOf });
  await settler.commit(committed);
  await objects.remove(gone.rows);
  const owners = [owner('1-0', 0), owner('1-1', 1), owner('1-2', 2), owner('1-3', 3)];
  const item = { generation: 1, ringSlots: slots, owners, completed: [], confirmed: 0 };
  const told = async (): Promise<readonly unknown[]> =>
    (await listTransactions(ports, item)).map(({ name, sink: uid, subtask, checkpoint, rows, state }) => [
      name,
      uid,
      subtask,
      checkpoint,
      rows,
      state,
    ]);
  expect(await told()).toEqual([
    ['1/1-0/out/2', 'out', '1-0', 3, 3, 'committed'],
    ['1/1-0/out/3', 'out', '1-0', 4, 3, 'prepared'],
    ['1/1-0/out/4', 'out', '1-0', 5, undefined, 'written'],
    ['1/1-1/out/2', 'out', '1-1', 3, 3, 'written'],
  ]);
  const listed = await listTransactions(ports, item);
  await settler.commit(listed[1]!.transaction);
  await settler.abort(listed[3]!.transaction);
  expect((await told()).map((line) => (line as unknown[]).at(-1))).toEqual(['committed', 'committed', 'written', 'aborted']);
  expect(world.target.rows).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);

  // By hand.
  const loss = { transaction: gone, code: 'SINK_TRANSACTION_LOST', message: 'gone', atMs: 1 };
  await noteLosses(ports.items, [loss, { ...loss, message: 'said twice' }]);
  expect((await listTransactions(ports, item)).map(({ name, state, why }) => [name, state, why])).toEqual([
    ['1/1-0/out/4', 'lost', 'SINK_TRANSACTION_LOST: gone'],
    ['1/1-0/out/2', 'committed', undefined],
    ['1/1-0/out/3', 'committed', undefined],
    ['1/1-1/out/2', 'aborted', undefined],
  ]);
  await expect(settleByHand(ports, settler, { transaction: gone, how: 'commit' })).rejects.toMatchObject({ code: 'SINK_TRANSACTION_LOST' });
  expect(await listLosses(ports.items)).toEqual([loss]);
  expect(await settleByHand(ports, settler, { transaction: gone, how: 'abort' })).toBe('aborted');
  expect(await listLosses(ports.items)).toEqual([]);

  // One that was committed and confirmed after it had been noted is lost no more.
  await noteLosses(ports.items, [{ ...loss, transaction: committed }]);
  expect((await listTransactions(ports, item))[0]?.state).toBe('lost');
  expect(await settleByHand(ports, settler, { transaction: committed, how: 'abort' })).toBe('committed');
  expect((await listTransactions(ports, item)).some(({ state }) => state === 'lost')).toBe(false);
  expect((await listTransactions(ports, item)).filter(isUnsettled)).toMatchObject([{ name: '1/1-0/out/3' }]);
  await settleByHand(ports, settler, { transaction: prepared, how: 'commit' });
  expect((await listTransactions(ports, item)).filter(isUnsettled)).toEqual([]);
});
