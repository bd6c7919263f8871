import { describe, expect, test } from 'vitest';
import { ScriptedJob, transaction } from './support/scripted-job.ts';

describe('a checkpoint', () => {
  test('begins when its interval is over and something is new, and its barrier goes to the sources', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.read('0-1', 5);
    await job.wait(999);
    expect((await job.item()).begun).toBe(0);
    await job.wait(1);
    expect((await job.item()).open).toMatchObject([{ checkpoint: 1, generation: 0, owners: ['0-0', '0-1', '1-0'], trigger: 'periodic' }]);
    expect(job.asked).toEqual(['barrier 1 of 0-0', 'barrier 1 of 0-1']);
  });

  test('does not begin while nothing is new, before the first one and after it', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.wait(5_000);
    expect((await job.item()).begun).toBe(0);
    expect(await job.checkpoint()).toBe(1);
    await job.wait(5_000);
    expect((await job.item()).begun).toBe(1);
    await job.append('1-0');
    await job.wait(5_000);
    expect((await job.item()).begun).toBe(2);
  });

  test('completes when all have acknowledged, and is confirmed at once when it promised nothing', async () => {
    const job = new ScriptedJob();
    await job.create();
    expect(await job.checkpoint()).toBe(1);
    const item = await job.item();
    expect(item).toMatchObject({ begun: 1, open: [], confirmed: 1 });
    expect(item.completed).toMatchObject([
      { checkpoint: 1, generation: 0, trigger: 'periodic', metadata: 'checkpoint/0000000001/_metadata' },
    ]);
    expect(await job.ports.items.list('ack/')).toEqual([]);
  });

  test('who does not read gets the barrier from the second pulse on, and who has acknowledged does not get it again', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.read('0-0', 1);
    job.answer = async (invocation) => (invocation.subtask === '0-1' ? Promise.reject(new Error('no reply')) : job.obey(invocation));
    await job.wait();
    await job.pulse();
    expect(job.asked).toEqual(['barrier 1 of 0-0', 'barrier 1 of 0-1', 'barrier 1 of 0-1', 'barrier 1 of 1-0']);
    await job.pulse();
    expect(job.asked.slice(4)).toEqual(['barrier 1 of 0-1']);
  });

  test('two pulses at once begin one checkpoint', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.read('0-0', 1);
    await Promise.all([job.wait(), job.pulse(), job.pulse()]);
    expect((await job.item()).begun).toBe(1);
  });

  test('C11 an acknowledgement of a checkpoint that is over completes nothing', async () => {
    const job = new ScriptedJob({ checkpoints: { timeout: 5_000, tolerableFailures: 5 } });
    await job.create();
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await job.read('0-0', 1);
    await job.wait();
    await job.wait(5_000);
    expect(await job.item()).toMatchObject({ begun: 2, open: [{ checkpoint: 2 }], failuresInARow: 1, expiredInARow: 1 });
    for (const subtask of ['0-0', '0-1', '1-0']) await job.passBarrier(subtask, 1);
    await job.pulse();
    expect((await job.item()).completed).toEqual([]);
  });

  test('time-outs double with each abort in a row', async () => {
    const job = new ScriptedJob({ checkpoints: { timeout: 5_000, tolerableFailures: 5 } });
    await job.create();
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await job.read('0-0', 1);
    await job.wait();
    await job.wait(5_000);
    await job.wait(10_000);
    expect((await job.item()).open).toMatchObject([{ checkpoint: 3, patienceMs: 20_000 }]);
  });

  test('subtasks behind an exchange are told of an abort by a tick', async () => {
    const job = new ScriptedJob({ checkpoints: { timeout: 5_000, tolerableFailures: 5 } });
    await job.create();
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await job.read('0-0', 1);
    await job.wait();
    await job.wait(5_000);
    expect(job.asked.filter((what) => what.startsWith('tick'))).toEqual(['tick of 1-0']);
  });

  test('an abort more than is tolerated fails the job, and all of its rings are sealed', async () => {
    const job = new ScriptedJob({ checkpoints: { timeout: 5_000 } });
    await job.create();
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await job.read('0-0', 1);
    await job.wait();
    await job.wait(5_000);
    expect(await job.item()).toMatchObject({ status: 'failed', open: [], failure: expect.stringContaining('checkpoint 1') });
    for (const subtask of ['0-0', '0-1', '1-0']) expect((await job.head(subtask)).kind).toBe('seal');
  });

  test('a higher one that completes first ends the lower one, and only so many are kept', async () => {
    const job = new ScriptedJob({ checkpoints: { maxConcurrentCheckpoints: 2, numRetained: 2 } });
    await job.create();
    job.answer = async (invocation) =>
      invocation.kind === 'barrier' && invocation.checkpoint === 1 ? Promise.reject(new Error()) : job.obey(invocation);
    await job.read('0-0', 1);
    await job.wait();
    expect(await job.checkpoint()).toBe(2);
    expect((await job.item()).open).toEqual([]);
    expect(await job.checkpoint()).toBe(3);
    expect(await job.checkpoint()).toBe(4);
    expect((await job.item()).completed.map((c) => c.checkpoint)).toEqual([3, 4]);
    expect(await job.ports.objects.list('checkpoint/')).toEqual(['checkpoint/0000000003/_metadata', 'checkpoint/0000000004/_metadata']);
  });

  test('its transactions are committed after it completed, again until the target takes them, and then it is confirmed', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.read('0-0', 1);
    job.onSettle = async () => Promise.reject(new Error('the target is down'));
    job.answer = async (invocation) => (invocation.subtask === '1-0' ? { kind: 'done' } : job.obey(invocation));
    await job.wait();
    await job.passBarrier('1-0', 1, { transactions: [transaction('1-0', 0, 1)] });
    await job.ports.objects.putIfAbsent('rows/0/1-0/out/0', new Uint8Array(1));
    await job.pulse();
    expect(await job.item()).toMatchObject({ completed: [{ checkpoint: 1 }], confirmed: 0 });
    expect(job.events.at(-1)).toMatchObject({ kind: 'notice', message: expect.stringContaining('the target is down') });
    job.onSettle = async () => {};
    await job.pulse();
    expect(job.settled).toEqual(['commit 1-0/0']);
    expect((await job.item()).confirmed).toBe(1);
    expect(await job.ports.objects.list('rows/')).toEqual([]);
  });
});

describe('a pulse that misses what it needs', () => {
  const missing = { code: 'CHECKPOINT_NOT_FOUND' };

  test('says so when the job item still names it', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.checkpoint();
    await job.ports.objects.remove('checkpoint/0000000001/_metadata');
    await expect(job.wait()).rejects.toMatchObject(missing);
  });

  test('was asleep, when others have changed the job since, and ends without an error', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.checkpoint();
    await job.read('0-0', 9);
    let isAsleep = true;
    job.onRequest = (method) => {
      if (method !== 'objects.get' || !isAsleep) return;
      isAsleep = false;
      const { bytes, revision } = job.service.items.get('job')!;
      job.service.items.put({ name: 'job', content: { bytes, change: '' }, expects: revision });
      job.service.objects.remove('checkpoint/0000000001/_metadata');
    };
    expect(await job.wait()).toMatchObject({ isBusy: true });
    expect(job.events.at(-1)).toMatchObject({ kind: 'notice', message: expect.stringContaining('others went on') });
  });
});

test('C53 a clock that was ahead puts off a checkpoint or its time-out for no longer than they last', async () => {
  const job = new ScriptedJob({ checkpoints: { timeout: 5_000, tolerableFailures: 9 } });
  await job.create();
  job.answer = async () => ({ kind: 'refused', why: 'contended' });
  await job.read('0-0', 1);
  await job.wait(3_600_000);
  expect((await job.item()).open).toMatchObject([{ checkpoint: 1 }]);
  await job.wait(-3_600_000);
  await job.wait(5_000);
  expect((await job.item()).open.map((o) => o.checkpoint)).toEqual([2]);
  await job.wait(3_600_000);
  await job.wait(-3_600_000);
  await job.wait(1_000);
  expect((await job.item()).open.map((o) => o.checkpoint)).toEqual([3]);
});

describe('the last checkpoint', () => {
  test.each(['off', {}] as const)(
    'is taken when all input has ended, with checkpointing %j, and the job is finished when it is confirmed',
    async (checkpoints) => {
      const job = new ScriptedJob({ isBounded: true, checkpoints, interval: 60_000 });
      await job.create();
      for (const subtask of ['0-0', '0-1']) await job.append(subtask, { hasEnded: true });
      await job.pulse();
      expect((await job.item()).begun).toBe(0);
      await job.append('1-0', { hasEnded: true });
      await job.pulse();
      expect((await job.item()).open).toMatchObject([{ checkpoint: 1, trigger: 'final' }]);
      expect(job.asked).toEqual(['barrier 1 of 0-0', 'barrier 1 of 0-1', 'barrier 1 of 1-0']);
      await job.pulse();
      expect(await job.item()).toMatchObject({ status: 'finished', completed: [{ checkpoint: 1, trigger: 'final' }], confirmed: 1 });
      for (const subtask of ['0-0', '0-1', '1-0']) expect((await job.head(subtask)).kind).toBe('seal');
      const before = await job.item();
      expect((await job.wait(100_000)).item).toEqual(before);
    },
  );

  test('begins again after it failed', async () => {
    const job = new ScriptedJob({ isBounded: true, checkpoints: { timeout: 1_000, tolerableFailures: 9 }, interval: 60_000 });
    await job.create();
    for (const subtask of ['0-0', '0-1', '1-0']) await job.append(subtask, { hasEnded: true });
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await job.pulse();
    await job.wait(1_000);
    expect((await job.item()).open).toEqual([]);
    await job.wait(100);
    expect((await job.item()).open).toMatchObject([{ checkpoint: 2, trigger: 'final', patienceMs: 2_000 }]);
  });
});
