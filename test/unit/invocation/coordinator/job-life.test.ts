import { describe, expect, test } from 'vitest';
import { createJob } from '../../../../lib/invocation/coordinator/create-job.ts';
import { requestCancel, requestFail, requestPause, requestResume } from '../../../../lib/invocation/coordinator/job-life.ts';
import { openedOf } from '../../../../lib/invocation/coordinator/opening.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import { sealOf } from '../../../../lib/invocation/coordinator/seal.ts';
import { emptyBody } from '../../../../lib/invocation/entry.ts';
import { unpackEntry } from '../../../../lib/invocation/entry-codec.ts';
import { headOf } from '../support/entries.ts';
import { ScriptedJob, splits, transaction } from './support/scripted-job.ts';

const subtasks = ['0-0', '0-1', '1-0'];
const message = { exchange: 0, target: '1-0', sequence: 1, bytes: Uint8Array.of(1, 2) };

describe('a new job', () => {
  test('has a ring for each subtask, with its splits and everyone who will send to it', async () => {
    const job = new ScriptedJob();
    const item = await job.create();
    expect(item).toMatchObject({ status: 'running', generation: 0, begun: 0, rings: ['0/0-0', '0/0-1', '0/1-0'], moving: undefined });
    expect(item.owners.map((o) => [o.subtask, o.splits])).toEqual([
      ['0-0', [0]],
      ['0-1', [1]],
      ['1-0', []],
    ]);
    expect(await job.head('0-1')).toMatchObject({
      kind: 'init',
      n: 0,
      base: 0,
      epoch: 1,
      flushedThrough: 0,
      splits: [{ ordinal: 1, split: { id: 'b' } }],
    });
    expect((await job.head('1-0')).channels).toMatchObject([{ sender: '0-0' }, { sender: '0-1' }]);
    expect(await job.ports.objects.list('')).toEqual([]);
  });

  test('whose creation is cut off at any request is finished by whoever comes next', async () => {
    const undisturbed = new ScriptedJob();
    let requests = 0;
    undisturbed.onRequest = () => requests++;
    const expected = await undisturbed.create();
    for (let cut = 1; cut <= requests; cut++) {
      for (const when of ['before', 'after'] as const) {
        const job = new ScriptedJob();
        job.cutAt(cut, when);
        await job.create().catch(() => {});
        job.cutAt(undefined);
        if (cut % 2 === 0) await job.pulse();
        expect(await job.create(), `cut ${when} request ${cut}`).toEqual(expected);
        for (const subtask of subtasks) expect((await job.head(subtask)).n).toBe(0);
        expect(await job.ports.objects.list('')).toEqual([]);
      }
    }
  });

  test('keeps the splits that were written down first', async () => {
    const job = new ScriptedJob();
    job.cutAt(3);
    await job.create().catch(() => {});
    job.cutAt(undefined);
    const other = new Map([[0, [{ id: 'c' }]]]);
    await createJob(job.ports, { plan: job.plan, splits: other, nowMs: 0 });
    expect((await job.head('0-0')).splits[0]?.split.id).toBe(splits[0]?.id);
  });

  test('is not what another plan asks for', async () => {
    const job = new ScriptedJob();
    await job.create();
    const plan = { ...job.plan, hash: 'another' };
    await expect(createJob(job.ports, { plan, splits: new Map(), nowMs: 0 })).rejects.toMatchObject({ code: 'PLAN_CHANGED' });
    await expect(job.pulse({ plan })).rejects.toMatchObject({ code: 'PLAN_CHANGED' });
  });

  test('a pulse for a job that is gone does nothing', async () => {
    expect(await new ScriptedJob().pulse()).toEqual({ item: undefined, isBusy: false });
  });
});

async function pausing(): Promise<ScriptedJob> {
  const job = new ScriptedJob();
  await job.create();
  await job.read('0-0', 1);
  await requestPause(job.ports);
  return job;
}

describe('a paused job', () => {
  test('has all rings sealed, voids what was open, and goes on in its generation', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.read('0-0', 1);
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await job.wait();
    await requestPause(job.ports);
    expect(await job.item()).toMatchObject({ status: 'pausing', open: [] });
    await job.pulse();
    expect((await job.item()).status).toBe('paused');
    for (const subtask of subtasks) expect((await job.head(subtask)).kind).toBe('seal');
    await job.resume();
    expect(await job.item()).toMatchObject({ status: 'running', generation: 0 });
    for (const subtask of subtasks) expect((await job.head(subtask)).kind).toBe('data');
    await job.read('0-0', 2);
  });

  test('does not begin a checkpoint, however much time passes', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.read('0-0', 1);
    await requestPause(job.ports);
    await job.wait(10_000);
    await job.wait(10_000);
    expect((await job.item()).begun).toBe(0);
  });

  test('delivers after it was resumed what the sealed entry might not have', async () => {
    const job = new ScriptedJob();
    await job.create();
    const delta = { writes: [{ address: { operator: 'o', state: 's', key: 'k', sub: '' }, value: Uint8Array.of(1) }], timers: [] };
    await job.append('0-0', {}, { delta, messages: [message], rows: [] });
    await requestPause(job.ports);
    await job.pulse();
    await job.resume();
    const { newest } = await job.ring('0-0');
    expect((await unpackEntry(newest.bytes, job.ports.objects)).body).toEqual({ ...emptyBody, messages: [message] });
  });

  test('a full ring can be sealed and opened any number of times', async () => {
    const job = new ScriptedJob();
    await job.create();
    for (let n = 1; n <= 7; n++) await job.append('0-0');
    for (let times = 0; times < 3; times++) {
      await requestPause(job.ports);
      await job.pulse();
      await job.resume();
      await job.append('0-0', { flushedThrough: (await job.head('0-0')).n });
    }
    expect((await job.head('0-0')).n).toBe(13);
  });

  test('a full ring keeps a slot for the next seal, though nothing is appended between two stops', async () => {
    const job = new ScriptedJob();
    await job.create();
    const address = { operator: 'o', state: 's', key: 'k', sub: '' };
    for (let n = 1; n <= 7; n++) {
      const delta = { writes: [{ address: { ...address, key: `k${n}` }, value: Uint8Array.of(1, n) }], timers: [] };
      await job.append('0-0', {}, { ...emptyBody, delta });
    }
    for (let times = 0; times < 3; times++) {
      await requestPause(job.ports);
      await job.pulse();
      expect((await job.item()).status).toBe('paused');
      await job.resume();
      expect((await job.item()).status).toBe('running');
    }
    expect(job.service.table.items()).toHaveLength(7);
    await job.append('0-0');
  });

  test('of a seal over a barrier, opening makes the barrier again, since its promise may not have been made', () => {
    const promised = [transaction('1-0', 3, 4)];
    const barrier = headOf({
      n: 9,
      kind: 'barrier',
      epoch: 4,
      lastBarrier: { checkpoint: 4, n: 9, flushedThrough: 2 },
      transactions: promised,
    });
    const seal = sealOf({ head: barrier, body: emptyBody }, 'paused');
    expect(seal.head).toMatchObject({ n: 10, kind: 'seal', epoch: 5 });
    const opened = openedOf(seal).head;
    expect(opened).toMatchObject({ n: 10, kind: 'barrier', epoch: 4, lastBarrier: { checkpoint: 4, n: 10, flushedThrough: 2 } });
    expect(openedOf(sealOf({ head: headOf({ n: 9 }), body: emptyBody }, 'paused')).head).toMatchObject({ n: 10, kind: 'data' });
  });

  test('a resume that is cut off anywhere is made again', async () => {
    for (let cut = 1; cut <= 14; cut++) {
      const job = new ScriptedJob();
      await job.create();
      await requestPause(job.ports);
      await job.pulse();
      job.cutAt(cut, 'after');
      await job.resume().catch(() => {});
      job.cutAt(undefined);
      await job.resume();
      for (const subtask of subtasks) expect((await job.head(subtask)).kind, `cut at ${cut}`).toBe('data');
      expect((await job.item()).status).toBe('running');
    }
  });

  test('is not sealed again by a coordinator that slept through its resume', async () => {
    const job = await pausing();
    // It has read the ring, and sleeps before it puts the seal.
    await job.asleepBefore('changelog.putDuring', async () => {
      await job.pulse();
      await job.resume();
      await job.append('0-0');
    });
    for (const subtask of subtasks) expect((await job.head(subtask)).kind, subtask).toBe('data');
    expect((await job.item()).status).toBe('running');
  });

  test('is not said to stand still by a coordinator that sealed it before it was resumed and paused again', async () => {
    const job = await pausing();
    await job.asleepBefore('items.put', async () => {
      await job.pulse();
      await job.resume();
      await requestPause(job.ports);
    });
    expect((await job.item()).status).toBe('pausing');
    await job.pulse();
    for (const subtask of subtasks) expect((await job.head(subtask)).kind, subtask).toBe('seal');
  });

  test('stays sealed for a restore, though a coordinator sleeps over its resume', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.checkpoint();
    await requestPause(job.ports);
    await job.pulse();
    await job.asleepBefore(
      'changelog.putDuring',
      async () => {
        await startRestore(job.ports, 'latest');
        await job.pulse();
      },
      () => job.resume(),
    );
    for (const subtask of subtasks) expect((await job.head(subtask, 0)).kind, subtask).toBe('seal');
    expect(await job.item()).toMatchObject({ status: 'running', generation: 1 });
  });

  test('can be restored, and runs then', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.checkpoint();
    await requestPause(job.ports);
    await job.pulse();
    await startRestore(job.ports, 'latest');
    await job.pulse();
    expect(await job.item()).toMatchObject({ status: 'running', generation: 1 });
  });
});

describe('a cancelled job', () => {
  test('aborts what no completed checkpoint promised, and keeps no checkpoint unless it is told to', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.checkpoint();
    await job.append('1-0', { kind: 'barrier', epoch: 2, transactions: [transaction('1-0', 1, 2)] });
    await requestCancel(job.ports);
    await job.pulse();
    expect(job.settled).toEqual(['abort 1-0/1']);
    expect(await job.item()).toMatchObject({ status: 'cancelled', completed: [], open: [] });
  });

  test('keeps its checkpoints when it is told to, and can be restored from them', async () => {
    const job = new ScriptedJob({ checkpoints: { externalizedCleanup: 'RETAIN_ON_CANCELLATION' } });
    await job.create();
    await job.checkpoint();
    await requestCancel(job.ports);
    await job.pulse();
    expect(await job.item()).toMatchObject({ status: 'cancelled', completed: [{ checkpoint: 1 }] });
    await startRestore(job.ports, 'latest');
    await job.pulse();
    expect(await job.item()).toMatchObject({ status: 'running', generation: 1 });
  });

  test('keeps what it promised until it is visible', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.read('0-0', 1);
    job.answer = async (i) => (i.subtask === '1-0' ? { kind: 'done' } : job.obey(i));
    await job.wait();
    await job.passBarrier('1-0', 1, { transactions: [transaction('1-0', 0, 1)] });
    job.onSettle = async () => Promise.reject(new Error('down'));
    await job.pulse();
    await requestCancel(job.ports);
    await job.pulse();
    expect(await job.item()).toMatchObject({ status: 'cancelled', completed: [{ checkpoint: 1 }], confirmed: 0 });
    job.onSettle = async () => {};
    await job.pulse();
    expect(job.settled).toEqual(['commit 1-0/0']);
    expect(await job.item()).toMatchObject({ status: 'cancelled', completed: [], confirmed: 1 });
  });

  test('stays cancelled', async () => {
    const job = new ScriptedJob();
    await job.create();
    await requestCancel(job.ports);
    await job.pulse();
    expect((await requestCancel(job.ports)).status).toBe('cancelled');
    await expect(requestResume(job.ports)).rejects.toMatchObject({ code: 'JOB_NOT_IN_STATE' });
    await expect(requestPause(job.ports)).rejects.toMatchObject({ code: 'JOB_NOT_IN_STATE' });
    await expect(requestFail(job.ports, 'x')).rejects.toMatchObject({ code: 'JOB_NOT_IN_STATE' });
  });
});

test('a failed job says why, and can be resumed when the cause is gone', async () => {
  const job = new ScriptedJob();
  await job.create();
  await requestFail(job.ports, 'record 7 cannot be parsed');
  await job.pulse();
  expect(await job.item()).toMatchObject({ status: 'failed', failure: 'record 7 cannot be parsed' });
  await job.resume();
  expect(await job.item()).toMatchObject({ status: 'running', failure: undefined });
});

test('a restore goes on to its end though the job is asked to stop in its middle', async () => {
  const job = new ScriptedJob();
  await job.create();
  await job.checkpoint();
  await startRestore(job.ports, 'latest');
  await job.asleepBefore('changelog.create', async () => void (await requestPause(job.ports)));
  await job.pulse();
  expect(await job.item()).toMatchObject({ status: 'paused', generation: 1 });
  for (const subtask of subtasks) expect((await job.head(subtask)).kind, subtask).toBe('seal');
});

test('a job that is asked to stop during a restore stops when it is over', async () => {
  const job = new ScriptedJob();
  await job.create();
  await job.checkpoint();
  await startRestore(job.ports, 'latest');
  await requestPause(job.ports);
  await job.pulse();
  expect(await job.item()).toMatchObject({ status: 'paused', generation: 1 });
  expect((await job.head('0-0')).kind).toBe('seal');
});
