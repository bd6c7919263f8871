import { describe, expect, test } from 'vitest';
import { startRestore, withRestoreMark } from '../../../../lib/invocation/coordinator/restore.ts';
import { emptyBody, type StateDelta } from '../../../../lib/invocation/entry.ts';
import { unpackEntry } from '../../../../lib/invocation/entry-codec.ts';
import { decideMessage } from '../../../../lib/invocation/intake.ts';
import { isReplayDue } from '../../../../lib/invocation/replay-end.ts';
import { ScriptedJob, transaction } from './support/scripted-job.ts';

const address = { operator: 'out', state: 's', key: 'k', sub: '' };
const writes = (value: number): StateDelta => ({ writes: [{ address, value: Uint8Array.of(value) }], timers: [] });

async function restored(job: ScriptedJob): Promise<void> {
  await startRestore(job.ports, 'latest');
  await job.pulse();
}

/** A job with one completed checkpoint, whose sources have gone on since. */
async function beyondCheckpoint(job = new ScriptedJob()): Promise<ScriptedJob> {
  await job.create();
  await job.checkpoint();
  await job.read('0-0', 7);
  await job.read('0-1', 4);
  return job;
}

describe('a restore', () => {
  test('raises the generation, hides what came after the checkpoint, and uses no number again', async () => {
    const job = await beyondCheckpoint();
    await restored(job);
    const item = await job.item();
    expect(item).toMatchObject({
      generation: 1,
      restoring: undefined,
      begun: 1,
      restores: [{ generation: 1, checkpoint: 1 }],
      status: 'running',
    });
    expect(item.completed.map((c) => c.checkpoint)).toEqual([1]);
    expect(await job.head('0-0')).toMatchObject({ generation: 1, n: 0, kind: 'init', epoch: 2, flushedThrough: -1 });
  });

  test('seals every ring of the old generation', async () => {
    const job = await beyondCheckpoint();
    await restored(job);
    for (const subtask of ['0-0', '0-1', '1-0']) expect((await job.head(subtask, 0)).kind).toBe('seal');
  });

  test('puts sources back, and says how far a replay has to go before a mapping counts', async () => {
    const job = await beyondCheckpoint();
    await restored(job);
    const splits = (await Promise.all(['0-0', '0-1'].map((s) => job.head(s)))).flatMap((head) => head.splits);
    expect(splits.map((s) => [s.split.id, s.position?.index, s.replayUntil])).toEqual([
      ['a', 1, 7],
      ['b', undefined, 4],
    ]);
  });

  test('a restore after a restore goes on to where the furthest parent was', async () => {
    const job = await beyondCheckpoint();
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await restored(job);
    await restored(job);
    expect(await job.item()).toMatchObject({ generation: 2 });
    expect((await job.head('0-0')).splits).toMatchObject([{ position: { index: 1 }, replayUntil: 7 }]);
  });

  test('under AT_MOST_ONCE reads nothing a second time', async () => {
    const job = await beyondCheckpoint(new ScriptedJob({ checkpoints: { mode: 'AT_MOST_ONCE' } }));
    await restored(job);
    const heads = [await job.head('0-0'), await job.head('0-1')];
    expect(heads.flatMap(({ splits }) => splits.map(({ position }) => position))).toEqual([
      { index: 7, at: 7 },
      { index: 4, at: 4 },
    ]);
    expect(heads.flatMap(({ splits }) => splits).some((split) => isReplayDue(split, () => undefined))).toBe(false);
  });

  test('begins channels at zero with nothing waiting, and keeps what they had told', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.read('0-0', 1, { sent: [['0/1-0', 9]], watermark: 50 });
    const { channels } = await job.head('1-0');
    expect(channels.map((c) => c.sender)).toEqual(['0-0', '0-1']);
    await job.append('1-0', {
      channels: channels.map((c) => ({ ...c, sequence: 9, barrier: 1, watermark: 50, hasEnded: c.sender === '0-1' })),
      held: [{ sender: '0-0', exchange: 0, bytes: Uint8Array.of(1), object: undefined }],
    });
    await job.wait();
    await job.pulse();
    await job.pulse();
    await restored(job);
    const head = await job.head('1-0');
    expect(head.held).toEqual([]);
    expect(head.channels).toMatchObject([
      { sequence: 0, barrier: 0, watermark: 50, hasEnded: false },
      { sequence: 0, barrier: 0, watermark: 50, hasEnded: true },
    ]);
    expect(await job.head('0-0')).toMatchObject({ sent: [], watermark: 50 });
  });

  test('takes along what had not been materialised at the barrier, and nothing from behind it', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.append('1-0', {}, { ...emptyBody, delta: writes(1) });
    await job.append('1-0', { flushedThrough: 1 }, { ...emptyBody, delta: writes(2) });
    await job.checkpoint();
    await job.append('1-0', {}, { ...emptyBody, delta: writes(3) });
    await restored(job);
    const { newest } = await job.ring('1-0');
    expect((await unpackEntry(newest.bytes, job.ports.objects)).body.delta).toEqual(writes(2));
  });

  test('takes nothing along that has been materialised since', async () => {
    const job = new ScriptedJob();
    await job.create();
    await job.append('1-0', {}, { ...emptyBody, delta: writes(1) });
    await job.checkpoint();
    await job.append('1-0', { flushedThrough: 2 });
    await restored(job);
    const { newest } = await job.ring('1-0');
    expect((await unpackEntry(newest.bytes, job.ports.objects)).body.delta.writes).toEqual([]);
  });

  test('commits what the checkpoint promised and aborts what came after it, before the generation rises', async () => {
    const job = new ScriptedJob();
    await job.create();
    const [first, second] = [transaction('1-0', 0, 1), transaction('1-0', 1, 2)];
    await job.read('0-0', 1);
    job.answer = async (i) => (i.subtask === '1-0' ? { kind: 'done' } : job.obey(i));
    await job.wait();
    await job.passBarrier('1-0', 1, { transactions: [first] });
    job.onSettle = async () => Promise.reject(new Error('down'));
    await job.pulse();
    await job.append('1-0', { kind: 'barrier', epoch: 2, transactions: [first, second] });
    await startRestore(job.ports, 'latest');
    await expect(job.pulse()).rejects.toThrow('down');
    expect((await job.item()).generation).toBe(0);
    job.onSettle = async () => {};
    await job.pulse();
    expect(job.settled).toEqual(['commit 1-0/0', 'abort 1-0/1']);
    expect(await job.item()).toMatchObject({ generation: 1, confirmed: 1 });
    expect((await job.head('1-0')).transactions).toEqual([]);
  });

  test('voids what is open: an acknowledgement that comes late completes nothing', async () => {
    const job = await beyondCheckpoint();
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await job.wait();
    expect((await job.item()).open).toMatchObject([{ checkpoint: 2 }]);
    for (const subtask of ['0-0', '0-1', '1-0']) await job.passBarrier(subtask, 2);
    await startRestore(job.ports, 'latest');
    expect((await job.item()).open).toEqual([]);
    await job.pulse();
    await job.pulse();
    expect((await job.item()).completed.map((c) => c.checkpoint)).toEqual([1]);
  });

  test('of the newest is not marked when another one has completed meanwhile, unless the older one is meant', async () => {
    const job = new ScriptedJob({ checkpoints: { numRetained: 3 } });
    await job.create();
    for (let n = 0; n < 2; n++) await job.checkpoint();
    const item = await job.item();
    expect(withRestoreMark(item, { checkpoint: 1, isOlderMeant: false })).toBe(item);
    expect(withRestoreMark(item, { checkpoint: 1, isOlderMeant: true }).restoring?.checkpoint).toBe(1);
    expect(withRestoreMark(item, { checkpoint: 2, isOlderMeant: false }).restoring?.checkpoint).toBe(2);
  });

  test('cancels a change of owners that is under way', async () => {
    const job = await beyondCheckpoint();
    const moving = { generation: 0, parents: ['0-0'], children: [], epoch: 2 };
    expect(withRestoreMark({ ...(await job.item()), moving }, { checkpoint: 1, isOlderMeant: false }).moving).toBeUndefined();
  });

  test('of an older one goes back behind a newer one, of which nothing stays', async () => {
    const job = new ScriptedJob({ checkpoints: { numRetained: 3 } });
    await job.create();
    for (let n = 0; n < 3; n++) await job.checkpoint();
    await startRestore(job.ports, 2);
    await job.pulse();
    expect((await job.item()).completed.map((c) => c.checkpoint)).toEqual([1, 2]);
    expect((await job.item()).restores).toEqual([{ generation: 1, checkpoint: 2 }]);
    expect((await job.head('0-0')).epoch).toBe(4);
  });

  test('of what is not there marks nothing', async () => {
    const job = new ScriptedJob();
    await job.create();
    expect((await startRestore(job.ports, 'latest')).kind).toBe('no-checkpoint');
    expect((await startRestore(job.ports, 7)).kind).toBe('no-checkpoint');
  });

  test('that is cut off at any request is run again by the next pulse, to the same end', async () => {
    const undisturbed = await beyondCheckpoint();
    let requests = 0;
    undisturbed.onRequest = () => requests++;
    await restored(undisturbed);
    const expected = await undisturbed.item();
    for (let cut = 1; cut <= requests; cut++) {
      for (const when of ['before', 'after'] as const) {
        const job = await beyondCheckpoint();
        await startRestore(job.ports, 'latest');
        job.cutAt(cut, when);
        await job.pulse().catch(() => {});
        job.cutAt(undefined);
        await job.pulse();
        await job.pulse();
        const item = await job.item();
        expect({ ...item, open: [], begun: 1, lastBegunMs: 0 }, `cut ${when} request ${cut}`).toEqual({
          ...expected,
          open: [],
          begun: 1,
          lastBegunMs: 0,
        });
        expect((await job.head('0-0')).splits[0]?.replayUntil).toBe(7);
      }
    }
  });

  test('two coordinators at once restore once', async () => {
    const job = await beyondCheckpoint();
    await startRestore(job.ports, 'latest');
    await Promise.all([job.pulse(), job.pulse()]);
    expect(await job.item()).toMatchObject({ generation: 1, restores: [{ generation: 1, checkpoint: 1 }] });
  });

  test('lists its rings before it creates them', async () => {
    const job = await beyondCheckpoint();
    await startRestore(job.ports, 'latest');
    expect((await job.item()).rings).toEqual(['0/0-0', '0/0-1', '0/1-0', '1/0-0', '1/0-1', '1/1-0']);
  });
});

describe('a restore of a store that is a copy', () => {
  const passedBy = { begun: 40, generation: 90 };

  test('passes by what the original may have numbered, in the write that marks it', async () => {
    const job = await beyondCheckpoint();
    const { item } = await startRestore(job.ports, 'latest', passedBy);
    expect(item).toMatchObject({
      begun: 40,
      restoring: { checkpoint: 1, generation: 91, epoch: 41 },
      rings: expect.arrayContaining(['91/0-0']),
    });
    await job.pulse();
    expect(await job.item()).toMatchObject({ generation: 91, restoring: undefined, restores: [{ generation: 91, checkpoint: 1 }] });
    expect(await job.head('0-0', 91)).toMatchObject({ generation: 91, epoch: 41 });
    expect((await startRestore(job.ports, 1)).item.restoring).toMatchObject({ generation: 92 });
  });

  test('takes the place of one that was marked before anybody knew, and is marked once', async () => {
    const job = await beyondCheckpoint();
    for (const wanted of ['latest', 1] as const) {
      await startRestore(job.ports, wanted);
      const { item } = await startRestore(job.ports, wanted, passedBy);
      expect(item.restoring).toMatchObject({ checkpoint: 1, generation: 91, epoch: 41 });
      expect((await startRestore(job.ports, wanted, passedBy)).item).toEqual(item);
    }
  });

  test('takes a message of the original, of the generation that follows in both, for an old one', async () => {
    const job = await beyondCheckpoint();
    await startRestore(job.ports, 'latest', passedBy);
    await job.pulse();
    const { generation } = await job.item();
    const message = { generation: 1, sequence: 1 };
    expect(decideMessage({ generation, sequence: 0, message })).toBe('older-generation');
    expect(decideMessage({ generation: 1, sequence: 0, message })).toBe('take');
  });
});

describe('a replay', () => {
  test('advances one slice a pulse, and is over when a call with nothing left to read was answered', async () => {
    const job = await beyondCheckpoint();
    job.answer = async (i) => {
      if (i.kind !== 'replay') return { kind: 'refused', why: 'contended' };
      const { position, replayUntil } = (await job.head(i.subtask)).splits[0]!;
      const next = Math.min((position?.index ?? 0) + 5, replayUntil);
      if (next === (position?.index ?? 0)) return { kind: 'done' };
      await job.read(i.subtask, next);
      return { kind: 'partial', count: 5, why: 'replay-first' };
    };
    await startRestore(job.ports, 'latest');
    const replays = async (): Promise<readonly string[]> => {
      job.asked.length = 0;
      await job.pulse();
      return job.asked.filter((what) => what.startsWith('replay'));
    };
    expect(await replays()).toEqual(['replay of 0-0', 'replay of 0-1']);
    expect(await replays()).toEqual(['replay of 0-0', 'replay of 0-1']); // 0-1 finds nothing left here
    expect(await replays()).toEqual(['replay of 0-0']);
    expect(await replays()).toEqual([]);
  });

  test('is not over because the log shows its position: the newest entry may lie undelivered', async () => {
    const job = await beyondCheckpoint();
    job.answer = async () => Promise.reject(new Error('no reply'));
    await restored(job);
    await job.read('0-0', 7);
    await job.read('0-1', 4);
    const report = await job.pulse();
    expect(report.isBusy).toBe(true);
    expect(job.asked.filter((what) => what.startsWith('replay')).length).toBe(4);
  });
});
