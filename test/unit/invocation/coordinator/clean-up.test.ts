import { describe, expect, test } from 'vitest';
import { itemAddressOf } from '../../../../lib/invocation/address.ts';
import { endedCheckpoints } from '../../../../lib/invocation/coordinator/collect.ts';
import type { PulseMemory } from '../../../../lib/invocation/coordinator/facts.ts';
import { requestCancel } from '../../../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import type { OpenCheckpoint } from '../../../../lib/invocation/job-item.ts';
import { tombstoneLifeMs } from '../../../../lib/invocation/limits.ts';
import { letterAddress } from '../../../../lib/invocation/poison/dead-letters.ts';
import { decodeItem, encodeItem } from '../../../../lib/invocation/versions.ts';
import { ScriptedEvolution, ScriptedJob } from './support/scripted-job.ts';

/** Methods and places of what a checkpoint asks for. */
async function requestsOf(job: ScriptedJob, memory: PulseMemory): Promise<readonly string[]> {
  await job.read('0-0', ((await job.head('0-0')).splits[0]?.position?.index ?? 0) + 1);
  await job.wait();
  const requests: string[] = [];
  job.onRequest = (method, place) => void requests.push(`${method} ${place}`);
  await job.pulse({ memory });
  await job.pulse({ memory });
  job.onRequest = () => {};
  return requests;
}

async function leftovers(job: ScriptedJob): Promise<{ readonly acknowledgements: number; readonly metadata: readonly string[] }> {
  const acknowledgements = (await job.ports.items.list('ack/')).length;
  return { acknowledgements, metadata: await job.ports.objects.list('checkpoint/') };
}

const isListing = (request: string): boolean => /^(items\.list ack\/$|objects\.list checkpoint)/.test(request);

describe('the clean-up behind a checkpoint', () => {
  test('lists nothing in an environment that left nothing behind, and leaves nothing', async () => {
    const job = new ScriptedJob();
    await job.create();
    const memory: PulseMemory = { heads: new Map() };
    expect((await requestsOf(job, memory)).filter(isListing)).toHaveLength(2);
    expect((await requestsOf(job, memory)).filter(isListing)).toEqual([]);
    expect(await leftovers(job)).toEqual({ acknowledgements: 0, metadata: [(await job.item()).completed.at(-1)?.metadata] });
    expect([...(memory.handles ?? [])].map(([checkpoint]) => checkpoint)).toEqual([2]);
  });

  test('lists again what a clean-up that failed may have left', async () => {
    const job = new ScriptedJob();
    await job.create();
    const memory: PulseMemory = { heads: new Map() };
    await requestsOf(job, memory);
    job.onRequest = (method) => {
      if (method === 'items.remove') throw new Error('died');
    };
    await job.read('0-0', 2);
    await job.wait();
    await job.pulse({ memory });
    await job.pulse({ memory }).catch(() => {});
    job.onRequest = () => {};
    expect((await leftovers(job)).acknowledgements).toBeGreaterThan(0);
    expect((await requestsOf(job, memory)).filter(isListing)).toHaveLength(2);
    expect((await leftovers(job)).acknowledgements).toBe(0);
  });

  test('lists for every sixteenth checkpoint, for what others left and what came late, and when more than checkpoints ended', async () => {
    const job = new ScriptedJob();
    await job.create();
    const item = await job.item();
    const open = (checkpoint: number): OpenCheckpoint => ({
      ...{ checkpoint, generation: 0, begunMs: 0, patienceMs: 1, owners: ['0-0'], trigger: 'periodic' },
    });
    const before = { ...item, open: [open(15), open(17)] };
    expect(endedCheckpoints(before, { ...item, open: [open(17)] })?.map((o) => o.checkpoint)).toEqual([15]);
    expect(endedCheckpoints({ ...item, open: [open(16)] }, item)).toBeUndefined();
    expect(endedCheckpoints(before, before)).toBeUndefined();
    expect(endedCheckpoints(before, { ...item, open: [], status: 'failing' })).toBeUndefined();
    expect(endedCheckpoints(before, { ...item, open: [], generation: 1 })).toBeUndefined();
  });
});

describe('a coordinator that sleeps while it removes what was buried a day ago', () => {
  test('takes nothing of a restore for the rings of one that was given up', async () => {
    const job = new ScriptedJob({ checkpoints: { externalizedCleanup: 'RETAIN_ON_CANCELLATION' } });
    await job.create();
    await job.checkpoint();
    await startRestore(job.ports, 'latest');
    await requestCancel(job.ports);
    for (let pulses = 0; pulses < 3; pulses++) await job.pulse();
    expect((await job.ports.items.list('grave/')).map(({ name }) => name)).toEqual(['grave/1/0-0', 'grave/1/0-1', 'grave/1/1-0']);
    job.nowMs += tombstoneLifeMs + 1;
    await job.asleepBefore('changelog.remove', async () => {
      await job.pulse();
      await startRestore(job.ports, 'latest');
      await job.pulse();
    });
    const { generation, owners, rings } = await job.item();
    expect(generation).toBe(2);
    for (const { subtask } of owners) expect(await job.head(subtask)).toMatchObject({ kind: 'init', generation });
    expect(rings).toEqual(expect.arrayContaining(owners.map(({ subtask }) => `${generation}/${subtask}`)));
  });

  test('leaves what a subtask keeps that has come again behind a restore', async () => {
    const source = new ScriptedEvolution();
    const job = new ScriptedJob({ checkpoints: { numRetained: 2 }, evolution: source });
    await job.create();
    await job.checkpoint();
    await job.read('0-s0', 5);
    source.close({ a: 5 }, { id: 'c' }, { id: 'd' });
    await job.pulse();
    await startRestore(job.ports, 1);
    job.answer = async (i) => (i.kind === 'replay' ? { kind: 'refused', why: 'contended' } : job.obey(i));
    for (let pulses = 0; pulses < 3; pulses++) await job.pulse();
    expect((await job.ports.items.list('grave/')).map(({ name }) => name)).toEqual(['grave/0/0-s2', 'grave/0/0-s3']);
    job.nowMs += tombstoneLifeMs + 1;
    const address = itemAddressOf(letterAddress('0-s2', 'x'));
    const versions = [{ generation: 1, epoch: 9, n: 9, value: Uint8Array.of(1), object: undefined }];
    await job.asleepBefore('changelog.remove', async () => {
      job.answer = (i) => job.obey(i);
      await job.read('0-s0', 5);
      await job.pulse();
      expect((await job.item()).owners.map(({ subtask }) => subtask)).toContain('0-s2');
      await job.ports.table.putMany([{ address, expects: 'absent', ...encodeItem(versions) }]);
    });
    const { items } = await job.ports.table.readMany([address]);
    expect(items.flatMap(({ bytes }) => decodeItem(bytes))).toEqual(versions);
  });
});

test.each(['before', 'after'] as const)(
  'a cancelled job leaves nothing, wherever the pulse that ends it dies %s a request',
  async (when) => {
    for (let request = 1; ; request++) {
      const job = new ScriptedJob();
      await job.create();
      await job.checkpoint();
      await requestCancel(job.ports);
      job.cutAt(request, when);
      const isOver = await job.pulse().then(
        () => true,
        () => false,
      );
      job.cutAt(undefined);
      for (let pulses = 0; pulses < 2; pulses++) await job.pulse();
      expect(await job.ports.objects.list(''), `${request}`).toEqual([]);
      if (isOver) break;
    }
  },
);
