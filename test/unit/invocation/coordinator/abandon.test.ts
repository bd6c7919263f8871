import { describe, expect, test } from 'vitest';
import { requestCancel } from '../../../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import { listTransactions } from '../../../../lib/invocation/sinks/list-transactions.ts';
import { listLosses } from '../../../../lib/invocation/sinks/losses.ts';
import { settleByHand } from '../../../../lib/invocation/sinks/settle-by-hand.ts';
import { decide } from '../../../../lib/invocation/sinks/transaction-records.ts';
import { encodeTransactionRows } from '../../../../lib/invocation/sinks/transaction-rows.ts';
import { ScriptedJob, transaction } from './support/scripted-job.ts';

const down = async (): Promise<never> => Promise.reject(Object.assign(new Error('nobody answers'), { code: 'SINK_NOT_ANSWERING' }));
const day = 25 * 3_600_000;

/** Checkpoint 1 is completed and confirmed; behind it `1-0` has promised rows that no checkpoint completed. Then the target goes down. */
async function promised(): Promise<ScriptedJob> {
  const job = new ScriptedJob({ checkpoints: { externalizedCleanup: 'RETAIN_ON_CANCELLATION' } });
  await job.create(64);
  await job.checkpoint();
  for (const opened of [1, 2]) {
    const t = transaction('1-0', opened, 3);
    await job.ports.objects.putIfAbsent(t.rows, encodeTransactionRows([]));
    await decide(job.ports.objects, t, 'aborted'); // as the settler does before it asks the target
  }
  await job.append('1-0', { kind: 'barrier', epoch: 3, transactions: [transaction('1-0', 1, 3), transaction('1-0', 2, 3)] });
  job.settled.length = 0;
  job.onSettle = down;
  await requestCancel(job.ports);
  return job;
}

const listed = async (job: ScriptedJob): Promise<readonly (readonly unknown[])[]> =>
  (await listTransactions(job.ports, await job.item())).map(({ name, state, why }) => [name, state, why]);

const left = [
  ['0/1-0/out/1', 'aborting', 'SINK_NOT_ANSWERING: nobody answers'],
  ['0/1-0/out/2', 'aborting', 'SINK_NOT_ANSWERING: nobody answers'],
];

describe('a cancel whose target does not let it withdraw', () => {
  test('asks again for a while, then ends the job with what is unsettled written down', async () => {
    const job = await promised();
    await job.pulse();
    await job.wait(5_000);
    expect((await job.item()).status).toBe('cancelling');
    expect(await listed(job)).toEqual(left);
    await job.wait(5_000);
    expect((await job.item()).status).toBe('cancelled');
    expect(job.events).toContainEqual({
      kind: 'notice',
      message: '2 transactions of sinks are left unsettled, and listed until somebody settles them',
    });
    expect(await listed(job)).toEqual(left);
  });

  test('does not take a clock that was set back for a reason to wait', async () => {
    const job = await promised();
    await job.pulse();
    job.nowMs -= day;
    await job.pulse();
    expect((await job.item()).status).toBe('cancelled');
  });

  test('forgets what the target takes after all', async () => {
    const job = await promised();
    await job.pulse();
    job.onSettle = (what) => (what === 'abort 1-0/1' ? Promise.resolve() : down());
    await job.wait(10_000);
    expect(job.settled).toEqual(['abort 1-0/1']);
    expect((await job.item()).status).toBe('cancelled');
    expect((await listLosses(job.ports.items)).map(({ transaction: t }) => t.opened)).toEqual([2]);
  });

  test('keeps rows and decision until a person has settled it, long after its rings are gone', async () => {
    const job = await promised();
    await job.pulse();
    await job.wait(10_000);
    for (let n = 0; n < 3; n++) await job.wait(day, { sweeps: true });
    expect(await listed(job)).toEqual(left);
    const t = transaction('1-0', 1, 3);
    expect(await job.ports.objects.get(t.rows)).toBeDefined();
    const { settler } = job.options();
    await expect(settleByHand(job.ports, settler, { transaction: t, how: 'abort' })).rejects.toThrow('nobody answers');
    job.onSettle = async () => {};
    await settleByHand(job.ports, settler, { transaction: t, how: 'abort' });
    expect((await listLosses(job.ports.items)).map(({ transaction: { opened } }) => opened)).toEqual([2]);
  });

  test('is made up for by a restore, which waits for the target', async () => {
    const job = await promised();
    await job.pulse();
    await job.wait(10_000);
    await startRestore(job.ports, 'latest');
    await expect(job.pulse()).rejects.toThrow('nobody answers');
    expect((await job.item()).generation).toBe(0);
    job.onSettle = async () => {};
    await job.pulse();
    expect([...job.settled].sort()).toEqual(['abort 1-0/1', 'abort 1-0/2']);
    expect(await job.item()).toMatchObject({ generation: 1, status: 'running' });
    expect(await listed(job)).toEqual([]);
  });
});

test('what a cancelled job has promised is listed from its checkpoint, whatever its rings say', async () => {
  const job = new ScriptedJob({ checkpoints: { externalizedCleanup: 'DELETE_ON_CANCELLATION' } });
  await job.create(64);
  job.answer = async (i) => (i.subtask === '1-0' ? { kind: 'done' } : job.obey(i));
  await job.read('0-0', 1);
  await job.wait();
  const t = transaction('1-0', 0, 1);
  await job.passBarrier('1-0', 1, { transactions: [t] });
  await job.ports.objects.putIfAbsent(t.rows, encodeTransactionRows([]));
  job.onSettle = down;
  await job.pulse();
  await requestCancel(job.ports);
  await job.pulse();
  const item = await job.item();
  expect(item).toMatchObject({ status: 'cancelled', confirmed: 0 });
  const owners = item.owners.filter(({ subtask }) => subtask !== '1-0'); // as if another had taken its place
  expect((await listTransactions(job.ports, { ...item, owners })).map(({ name }) => name)).toEqual(['0/1-0/out/0']);
  expect((await listTransactions(job.ports, item)).length).toBe(1);
});
