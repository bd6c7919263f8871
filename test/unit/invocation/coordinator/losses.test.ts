import { describe, expect, test } from 'vitest';
import { SluiceError } from '../../../../lib/core/errors.ts';
import { requestCancel, requestPause } from '../../../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import { listTransactions } from '../../../../lib/invocation/sinks/list-transactions.ts';
import { forgetLoss, listLosses } from '../../../../lib/invocation/sinks/losses.ts';
import { encodeTransactionRows } from '../../../../lib/invocation/sinks/transaction-rows.ts';
import { ScriptedJob, transaction } from './support/scripted-job.ts';

const gone = (code: 'SINK_TRANSACTION_LOST' | 'SINK_TRANSACTION_ABORTED' = 'SINK_TRANSACTION_LOST'): Error =>
  new SluiceError(code, { message: 'the rows are gone', next: 'repair-state' });

/** Checkpoints 1 to `count`, each with a transaction of `1-0`; of the last one nothing is confirmed: the target is down. */
async function promising(count: number): Promise<ScriptedJob> {
  const job = new ScriptedJob({ checkpoints: { numRetained: 3, externalizedCleanup: 'RETAIN_ON_CANCELLATION' } });
  await job.create(64);
  job.answer = async (i) => (i.subtask === '1-0' ? { kind: 'done' } : job.obey(i));
  for (let checkpoint = 1; checkpoint <= count; checkpoint++) {
    await job.read('0-0', checkpoint);
    await job.wait();
    await job.passBarrier('1-0', checkpoint, { transactions: [transaction('1-0', checkpoint - 1, checkpoint)] });
    await job.ports.objects.putIfAbsent(transaction('1-0', checkpoint - 1, checkpoint).rows, encodeTransactionRows([]));
    if (checkpoint === count) job.onSettle = async () => Promise.reject(new Error('down'));
    await job.pulse();
  }
  expect((await job.item()).completed.map((c) => c.checkpoint)).toEqual(Array.from({ length: count }, (_, i) => i + 1));
  expect((await job.item()).confirmed).toBe(count - 1);
  return job;
}

const notices = (job: ScriptedJob): readonly string[] => job.events.flatMap((e) => (e.kind === 'notice' ? [e.message] : []));

describe('a restore whose promise can never be kept', () => {
  test.each(['SINK_TRANSACTION_LOST', 'SINK_TRANSACTION_ABORTED'] as const)(
    'goes on, tells and writes down what is lost (%s)',
    async (code) => {
      const job = await promising(1);
      job.onSettle = async () => Promise.reject(gone(code));
      await startRestore(job.ports, 'latest');
      await job.pulse();
      expect(await job.item()).toMatchObject({ generation: 1, restoring: undefined, status: 'running', confirmed: 1 });
      expect(notices(job).at(-1)).toBe(
        `transaction 0/1-0/out/0 of sink out, promised by checkpoint 1, is lost (${code}): the rows are gone`,
      );
      expect(await listTransactions(job.ports, await job.item())).toMatchObject([
        { name: '0/1-0/out/0', checkpoint: 1, state: 'lost', why: `${code}: the rows are gone` },
      ]);
    },
  );

  test('keeps what is left of its rows until somebody has settled it', async () => {
    const job = await promising(1);
    const { rows } = transaction('1-0', 0, 1);
    job.onSettle = async () => Promise.reject(gone());
    await startRestore(job.ports, 'latest');
    await job.pulse();
    job.onSettle = async () => {};
    job.answer = (i) => job.obey(i);
    for (let n = 0; n < 4; n++) await job.checkpoint();
    for (let day = 0; day < 2; day++) await job.wait(25 * 3_600_000, { sweeps: true });
    expect((await job.item()).rings.some((name) => name.startsWith('0/'))).toBe(false);
    expect(await job.ports.objects.get(rows)).toBeDefined();
    const [loss] = await listLosses(job.ports.items);
    await forgetLoss(job.ports.items, loss!.transaction);
    expect(await listTransactions(job.ports, await job.item())).toEqual([]);
  });

  test('of an abort that finds the commit decided is written down as well', async () => {
    const job = await promising(1);
    await job.append('1-0', { kind: 'barrier', epoch: 2, transactions: [transaction('1-0', 1, 2)] });
    job.onSettle = async (what) => (what.startsWith('abort') ? Promise.reject(gone()) : undefined);
    await startRestore(job.ports, 'latest');
    await job.pulse();
    expect((await job.item()).generation).toBe(1);
    expect((await listLosses(job.ports.items)).map((loss) => loss.transaction.opened)).toEqual([1]);
  });

  test('waits for a target that says nothing for good', async () => {
    const job = await promising(1);
    await startRestore(job.ports, 'latest');
    await expect(job.pulse()).rejects.toThrow('down');
    expect(await job.item()).toMatchObject({ generation: 0, restoring: { generation: 1 } });
    expect(await listLosses(job.ports.items)).toEqual([]);
  });
});

describe('a restore that cannot go on', () => {
  test('is given up by a cancel, which ends the job', async () => {
    const job = await promising(1);
    await startRestore(job.ports, 'latest');
    await expect(job.pulse()).rejects.toThrow('down');
    await requestCancel(job.ports);
    expect(await job.item()).toMatchObject({ status: 'cancelling', restoring: undefined });
    await job.pulse();
    expect(await job.item()).toMatchObject({ status: 'cancelled', generation: 0, restoring: undefined });
    expect((await job.item()).completed.map((c) => c.checkpoint)).toEqual([1]);
  });

  test('that came behind a cancel is given up by another cancel', async () => {
    const job = await promising(1);
    await startRestore(job.ports, 'latest');
    await requestPause(job.ports);
    expect((await job.item()).restoring).toBeDefined();
    await requestCancel(job.ports);
    expect((await job.item()).restoring).toBeUndefined();
  });

  test('gives way to another checkpoint that is named, in a generation that no mark had', async () => {
    const job = await promising(3);
    await startRestore(job.ports, 'latest');
    await expect(job.pulse()).rejects.toThrow('down');
    expect((await startRestore(job.ports, 'latest')).item.restoring).toMatchObject({ checkpoint: 3, generation: 1 });
    expect((await startRestore(job.ports, 3)).item.restoring).toMatchObject({ checkpoint: 3, generation: 1 });
    expect(await startRestore(job.ports, 7)).toMatchObject({ kind: 'no-checkpoint' });
    const marked = await startRestore(job.ports, 2);
    expect(marked).toMatchObject({ kind: 'marked', item: { restoring: { checkpoint: 2, generation: 2 } } });
    job.onSettle = async () => {};
    await job.pulse();
    expect(await job.item()).toMatchObject({ generation: 2, restores: [{ generation: 2, checkpoint: 2 }], restoring: undefined });
    expect((await job.head('0-0')).generation).toBe(2);
  });

  test('leaves nothing to a coordinator that slept through its end', async () => {
    const job = await promising(3);
    job.onSettle = async () => {};
    await startRestore(job.ports, 3);
    await job.asleepBefore('changelog.create', async () => {
      await startRestore(job.ports, 2);
      await job.pulse();
    });
    expect(await job.item()).toMatchObject({ generation: 2, restores: [{ generation: 2, checkpoint: 2 }] });
    expect((await job.item()).completed.map((c) => c.checkpoint)).toEqual([1, 2]);
  });

  test('and was given up leaves rings that the clean-up takes', async () => {
    const job = await promising(1);
    job.onSettle = async () => {};
    await startRestore(job.ports, 'latest');
    let isCreated = false;
    await job.asleepBefore('items.put', async () => {
      isCreated = (await job.ports.changelog.get({ ring: { generation: 1, subtask: '0-0' }, slot: 0 })) !== undefined;
      await requestCancel(job.ports);
    });
    expect(isCreated).toBe(true);
    for (let n = 0; n < 2; n++) await job.pulse();
    expect(await job.item()).toMatchObject({ status: 'cancelled', generation: 0 });
    await startRestore(job.ports, 'latest');
    await job.pulse();
    expect(await job.item()).toMatchObject({ status: 'running', generation: 2 });
    for (let day = 0; day < 2; day++) await job.wait(25 * 3_600_000);
    expect((await job.item()).rings.some((name) => name.startsWith('1/'))).toBe(false);
  });

  test('and was given up leaves its number to nobody, also when all else of it is gone', async () => {
    const job = await promising(1);
    job.onSettle = async () => {};
    await startRestore(job.ports, 'latest');
    await requestCancel(job.ports);
    for (let day = 0; day < 3; day++) await job.wait(25 * 3_600_000);
    expect(await job.item()).toMatchObject({ status: 'cancelled', generation: 0 });
    expect((await job.item()).rings.some((name) => name.startsWith('1/'))).toBe(false);
    await startRestore(job.ports, 'latest');
    await job.pulse();
    expect(await job.item()).toMatchObject({ status: 'running', generation: 2 });
  });
});

describe('a restore of an older checkpoint', () => {
  test('commits what the newest one promised before it goes back behind it: nothing of it may be visible in half', async () => {
    const job = await promising(2);
    await startRestore(job.ports, 1);
    await expect(job.pulse()).rejects.toThrow('down');
    expect((await job.item()).generation).toBe(0);
    job.onSettle = async () => {};
    job.settled.length = 0;
    await job.append('1-0', { kind: 'barrier', epoch: 3, transactions: [transaction('1-0', 1, 2), transaction('1-0', 2, 3)] });
    await job.pulse();
    expect(job.settled).toEqual(['commit 1-0/0', 'commit 1-0/1', 'abort 1-0/2']);
    expect(await job.item()).toMatchObject({ generation: 1, restores: [{ checkpoint: 1 }] });
    expect(notices(job).at(-1)).toContain('output of checkpoint 2 is visible');
  });
});

describe('a job whose promise was withdrawn by a person', () => {
  test('is done with it, and says so', async () => {
    const job = await promising(1);
    job.onSettle = async () => Promise.reject(gone('SINK_TRANSACTION_ABORTED'));
    await job.pulse();
    expect(await job.item()).toMatchObject({ status: 'running', confirmed: 1 });
    expect((await listLosses(job.ports.items)).map(({ code }) => code)).toEqual(['SINK_TRANSACTION_ABORTED']);
  });
});

test('a job that was cancelled is done with what is lost, so that it ends', async () => {
  const job = await promising(1);
  await requestCancel(job.ports);
  job.onSettle = async () => Promise.reject(gone());
  await job.pulse();
  expect(await job.item()).toMatchObject({ status: 'cancelled', confirmed: 1 });
  expect(await listTransactions(job.ports, await job.item())).toMatchObject([{ state: 'lost' }]);
});
