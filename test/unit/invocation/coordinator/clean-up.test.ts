import { describe, expect, test } from 'vitest';
import { endedCheckpoints } from '../../../../lib/invocation/coordinator/collect.ts';
import type { PulseMemory } from '../../../../lib/invocation/coordinator/facts.ts';
import type { OpenCheckpoint } from '../../../../lib/invocation/job-item.ts';
import { ScriptedJob } from './support/scripted-job.ts';

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
