import { describe, expect, test } from 'vitest';
import { requestCancel } from '../../../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import { isLeft } from '../../../../lib/invocation/coordinator/sweep.ts';
import { isClosedStub } from '../../../../lib/invocation/entry-codec.ts';
import { ringSlotsDefault, tombstoneLifeMs } from '../../../../lib/invocation/limits.ts';
import { headOf } from '../support/entries.ts';
import { ScriptedJob, transaction } from './support/scripted-job.ts';

const ring = { generation: 0, subtask: '1-0' };

async function restored(job: ScriptedJob): Promise<void> {
  await startRestore(job.ports, 'latest');
  await job.pulse();
}

/** Whether every slot of the ring holds a stub. */
async function isClosed(job: ScriptedJob): Promise<boolean> {
  const { entries } = await job.ports.changelog.readPage({ ring, from: 0, to: 7 });
  return entries.length === 8 && entries.every(({ bytes }) => isClosedStub(bytes));
}

describe('a ring of an old generation', () => {
  test('stays as long as a retained checkpoint points into it', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.checkpoint();
    await restored(job);
    await job.pulse();
    expect((await job.head('1-0', 0)).kind).toBe('seal');
    expect((await job.item()).rings).toHaveLength(6);
  });

  test('is closed when nobody needs it, its slots that were never used too, and removed when no zombie can live', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.checkpoint();
    await restored(job);
    await job.checkpoint();
    await job.pulse();
    expect(await isClosed(job)).toBe(true);
    expect((await job.item()).rings).toHaveLength(6);
    await job.wait(tombstoneLifeMs);
    expect(await isClosed(job)).toBe(true);
    await job.wait(1);
    expect((await job.ports.changelog.readPage({ ring, from: 0, to: 7 })).entries).toEqual([]);
    expect((await job.item()).rings).toEqual(['1/0-0', '1/0-1', '1/1-0']);
    expect(await job.ports.items.list('grave/')).toEqual([]);
  });

  test('of full size is closed, and removed, one in a pulse, so that a restore of many subtasks holds nobody up', async () => {
    const job = new ScriptedJob();
    await job.create(ringSlotsDefault);
    await job.checkpoint();
    await restored(job);
    await job.checkpoint();
    let writes = 0;
    job.onRequest = (method) => {
      if (method === 'changelog.overwrite') writes++;
    };
    const perPulse: number[] = [];
    for (let pulses = 0; pulses < 4; pulses++) {
      writes = 0;
      await job.pulse();
      perPulse.push(writes);
    }
    const graves = await job.ports.items.list('grave/');
    expect([graves.length, perPulse.reduce((a, b) => Math.max(a, b), 0)]).toEqual([3, ringSlotsDefault]);
    await job.wait(tombstoneLifeMs + 1);
    const left = [(await job.item()).rings.length];
    for (let pulses = 0; pulses < 2; pulses++) {
      await job.pulse();
      left.push((await job.item()).rings.length);
    }
    expect(left).toEqual([5, 4, 3]);
  });

  test('that a coordinator closed in part is closed in whole by the next pulse', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.checkpoint();
    await restored(job);
    await job.checkpoint();
    let overwritten = 0;
    job.onRequest = (method) => {
      if (method === 'changelog.overwrite' && ++overwritten === 3) throw new Error('died');
    };
    await job.pulse().catch(() => {});
    job.onRequest = () => {};
    await job.pulse();
    expect(await isClosed(job)).toBe(true);
  });
});

test('C13 after a clean-up there is nothing but what retained checkpoints and rings refer to', async () => {
  const job = new ScriptedJob();
  await job.create();
  const large = { bytes: undefined, object: 'operator-state/0/1-0/1-x' };
  await job.ports.objects.putIfAbsent(large.object, new Uint8Array(1));
  await job.append('1-0', { operatorState: large });
  await job.checkpoint();
  for (const name of [
    'entry/0/1-0/3-x',
    'snapshot/0/1-0/2',
    'held/0/1-0/0/0-0/3-x',
    'message/0/0-0/0/1-0/1-x',
    'rows/0/1-0/out/0',
    'transaction/0/1-0/out/0',
    'decided/0/1-0/out/0',
  ]) {
    await job.ports.objects.putIfAbsent(name, new Uint8Array(1));
  }
  await restored(job);
  await job.checkpoint();
  await job.pulse();
  expect(await job.ports.objects.list('')).toEqual(['checkpoint/0000000002/_metadata', 'decided/0/1-0/out/0', large.object]);
  await job.wait(tombstoneLifeMs + 1);
  expect(await job.ports.objects.list('')).toEqual(['checkpoint/0000000002/_metadata', large.object]);
  expect((await job.ports.items.list('')).map(({ name }) => name)).toEqual(['job', 'replayed/1/0-0', 'replayed/1/0-1']);
});

test('a cancelled job without checkpoints leaves stubs, and nothing after a day', async () => {
  const job = new ScriptedJob();
  await job.create();
  await job.checkpoint();
  await requestCancel(job.ports);
  await job.pulse();
  expect(await job.ports.objects.list('')).toEqual([]);
  expect(await isClosed(job)).toBe(true);
  await job.wait(tombstoneLifeMs + 1);
  expect((await job.item()).rings).toEqual([]);
});

describe('what a running subtask has left behind', () => {
  const head = headOf({
    n: 20,
    flushedThrough: 15,
    subtask: '1-0',
    channels: [{ sender: '0-0', exchange: 0, sequence: 5, barrier: 0, hasEnded: false, watermark: 0, isIdle: false }],
  });
  const owners = new Map([
    ['1-0', head],
    ['0-0', headOf({ subtask: '0-0' })],
  ]);
  test.each([
    ['the body of an entry that is no longer in the ring', 'entry/0/1-0/12-w', true],
    ['not the body of one that is', 'entry/0/1-0/13-w', false],
    ['a snapshot from before the one that counts', 'snapshot/0/1-0/14', true],
    ['not one that the next entry may name', 'snapshot/0/1-0/15', false],
    ['operator state that an entry before the newest had', 'operator-state/0/1-0/19-w', true],
    ['not that of an entry to come', 'operator-state/0/1-0/21-w', false],
    ['a message that waited', 'held/0/1-0/0/0-0/19-w', true],
    ['not one that is about to wait', 'held/0/1-0/0/0-0/21-w', false],
    ['rows of a barrier entry that was never appended', 'rows/0/1-0/out/19-w', true],
    ['not those of one to come', 'rows/0/1-0/out/21-w', false],
    ['no record, which goes with its transaction', 'transaction/0/1-0/out/3', false],
  ])('%s', (_what, name, expected) => {
    expect(isLeft(name, head, { owners }, 8)).toBe(expected);
  });

  test.each([
    ['the body of a message that was taken', 'message/0/0-0/0/1-0/5-w', true],
    ['not that of one on its way', 'message/0/0-0/0/1-0/6-w', false],
    ['not that of one to a subtask that is not known', 'message/0/0-0/0/9-0/1-w', false],
  ])('%s', (_what, name, expected) => {
    expect(isLeft(name, owners.get('0-0')!, { owners }, 8)).toBe(expected);
  });

  test('not the body of a message that waits at its receiver', () => {
    const waiting = { ...head, held: [{ sender: '0-0', exchange: 0, bytes: Uint8Array.of(1), object: undefined }] };
    expect(isLeft('message/0/0-0/0/1-0/5-w', owners.get('0-0')!, { owners: new Map([['1-0', waiting]]) }, 8)).toBe(false);
  });

  test('goes with a pulse that sweeps', async () => {
    const job = new ScriptedJob();
    await job.create();
    for (let n = 1; n <= 9; n++) await job.append('1-0', { flushedThrough: n - 1 });
    for (const name of ['entry/0/1-0/1-x', 'entry/0/1-0/5-x', 'snapshot/0/1-0/3'])
      await job.ports.objects.putIfAbsent(name, new Uint8Array(1));
    await job.pulse({ sweeps: true });
    expect(await job.ports.objects.list('')).toEqual(['entry/0/1-0/5-x']);
  });
});

test('decisions of transactions are kept for a day, and as long as a retained checkpoint lists them', async () => {
  const job = new ScriptedJob();
  await job.create();
  await job.read('0-0', 1);
  job.answer = async (i) => (i.subtask === '1-0' ? { kind: 'done' } : job.obey(i));
  await job.wait();
  await job.passBarrier('1-0', 1, { transactions: [transaction('1-0', 0, 1)] });
  await job.ports.objects.putIfAbsent('decided/0/1-0/out/0', new Uint8Array(1));
  await job.pulse();
  await job.wait(tombstoneLifeMs + 1, { sweeps: true });
  expect(await job.ports.objects.list('decided/')).toHaveLength(1);
  await job.append('1-0', { transactions: [] });
  job.answer = (i) => job.obey(i);
  await job.checkpoint();
  await job.pulse({ sweeps: true });
  expect(await job.ports.objects.list('decided/')).toEqual([]);
  expect(await job.ports.items.list('settled/')).toEqual([]);
});

test('how far the rings of a cancelled job had read is known after they are gone', async () => {
  const job = new ScriptedJob({ checkpoints: { externalizedCleanup: 'RETAIN_ON_CANCELLATION' } });
  await job.create();
  await job.checkpoint();
  await restored(job);
  await job.read('0-0', 30);
  await requestCancel(job.ports);
  await job.pulse();
  await job.pulse();
  await restored(job);
  expect((await job.head('0-0')).splits).toMatchObject([{ position: { index: 1 }, replayUntil: 30 }]);
});
