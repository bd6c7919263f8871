import { describe, expect, test } from 'vitest';
import { MemoryStateBackend } from '../../../../lib/api/state-backend.ts';
import { itemAddressOf } from '../../../../lib/invocation/address.ts';
import { dealtOut } from '../../../../lib/invocation/coordinator/adoption.ts';
import type { DueChange } from '../../../../lib/invocation/coordinator/changes.ts';
import { readHandles } from '../../../../lib/invocation/coordinator/checkpoint-objects.ts';
import { requestPause } from '../../../../lib/invocation/coordinator/job-life.ts';
import { withMoving } from '../../../../lib/invocation/coordinator/move.ts';
import { splitOwner } from '../../../../lib/invocation/coordinator/owners.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import { emptyBody } from '../../../../lib/invocation/entry.ts';
import { decodeHead, unpackEntry } from '../../../../lib/invocation/entry-codec.ts';
import { acknowledgementName } from '../../../../lib/invocation/job-item.ts';
import { decodeHandle } from '../../../../lib/invocation/job-item-codec.ts';
import { decodeMessage } from '../../../../lib/invocation/message-codec.ts';
import { createBaseOf, createSubtaskState } from '../../../../lib/invocation/state/subtask-state.ts';
import { decodeOperatorState, encodeOperatorState } from '../../../../lib/invocation/unit/operator-state.ts';
import { decodeItem } from '../../../../lib/invocation/versions.ts';
import { ScriptedEvolution, ScriptedJob, type ScriptOptions, transaction } from './support/scripted-job.ts';

const address = { operator: 'out', state: 's', key: 'k', sub: '' };

interface Evolving {
  readonly job: ScriptedJob;
  readonly source: ScriptedEvolution;
}

async function evolving(more: ScriptOptions = {}): Promise<Evolving> {
  const source = new ScriptedEvolution();
  const job = new ScriptedJob({ checkpoints: { numRetained: 2 }, ...more, evolution: source });
  await job.create();
  return { job, source };
}

/** Split a, read by 0-s0, ends at 5; two go on in its place. */
const split = (source: ScriptedEvolution): void => source.close({ a: 5 }, { id: 'c' }, { id: 'd' });
/** And b, read by 0-s1, at 3; one goes on in the place of both. */
const merge = (source: ScriptedEvolution): void => source.close({ a: 5, b: 3 }, { id: 'c' });

/** Both have read to where they end, when they end. */
async function atEnd(close: (source: ScriptedEvolution) => void = split): Promise<ScriptedJob> {
  const { job, source } = await evolving();
  await job.checkpoint(); // so that the rings of the parents are needed when they own nothing any more
  await job.read('0-s0', 5, { watermark: 50, sent: [['0/1-0', 4]] });
  await job.read('0-s1', 3, { watermark: 40 });
  close(source);
  return job;
}

const splitChange: DueChange = { generation: 0, parents: ['0-s0'], children: [2, 3].map((ordinal) => splitOwner(0, ordinal, {})) };

const ownersOf = async (job: ScriptedJob): Promise<readonly string[]> => (await job.item()).owners.map((o) => o.subtask);

describe('a change of owners', () => {
  test('does not begin before the parents have read to their ends', async () => {
    const { job, source } = await evolving();
    await job.read('0-s0', 4);
    split(source);
    await job.pulse();
    expect(await job.item()).toMatchObject({ moving: undefined, rings: ['0/0-s0', '0/0-s1', '0/1-0'] });
  });

  test('seals the parent, and puts children in its place that number above it', async () => {
    const job = await atEnd();
    await job.pulse();
    expect(await job.head('0-s0')).toMatchObject({ kind: 'seal', n: 4, writer: 'move', sent: [['0/1-0', 5]] });
    expect(await ownersOf(job)).toEqual(['0-s1', '1-0', '0-s2', '0-s3']);
    expect(await job.head('0-s3')).toMatchObject({
      kind: 'init',
      n: 5,
      base: 5,
      epoch: 2,
      watermark: 50,
      splits: [{ ordinal: 3, split: { id: 'd' }, position: undefined }],
    });
    expect(await job.item()).toMatchObject({ moving: undefined, until: [['0-s0/0', 5]] });
  });

  test('tells everyone that the parent sent to who sends in its place', async () => {
    const job = await atEnd();
    await job.pulse();
    const [delivery] = await job.ports.exchange.receive({ max: 10 });
    expect(delivery?.group).toBe('1-0');
    expect(decodeMessage(delivery!.bytes)).toMatchObject({
      sender: '0-s0',
      sequence: 5,
      elements: [{ kind: 'successors', senders: ['0-s2', '0-s3'] }],
    });
  });

  test('has the parent say that its newest entry is delivered before it is sealed', async () => {
    const job = await atEnd();
    job.answer = async () => Promise.reject(new Error('no reply'));
    await job.pulse();
    expect((await job.item()).moving).toMatchObject({ parents: ['0-s0'] });
    expect((await job.head('0-s0')).kind).toBe('data');
    job.answer = (invocation) => job.obey(invocation);
    await job.pulse();
    expect(await ownersOf(job)).toContain('0-s2');
  });

  test('does not seal behind an entry that came after the parent had said so', async () => {
    const job = await atEnd();
    let ticks = 0;
    job.answer = async (invocation) => {
      if (invocation.kind === 'tick' && ++ticks === 1) await job.append('0-s0');
      return job.obey(invocation);
    };
    await job.pulse();
    expect(ticks).toBe(2);
    expect((await job.head('0-s0')).n).toBe(5);
  });

  test('puts all of the parent’s state into the table before a child exists', async () => {
    const job = await atEnd();
    const delta = { writes: [{ address, value: Uint8Array.of(7) }], timers: [] };
    await job.append('0-s0', {}, { ...emptyBody, delta });
    await job.pulse();
    const { items } = await job.ports.table.readMany([itemAddressOf(address)]);
    expect(items.flatMap(({ bytes }) => decodeItem(bytes))).toMatchObject([{ generation: 0, epoch: 2, n: 4, value: Uint8Array.of(7) }]);
  });

  test('gives a child a snapshot to begin with, which what it stores with its first entry does not run into', async () => {
    const { job, source } = await evolving({ backend: new MemoryStateBackend() });
    await job.read('0-s0', 5);
    const delta = { writes: [{ address, value: Uint8Array.of(7) }], timers: [] };
    await job.append('0-s0', {}, { ...emptyBody, delta });
    split(source);
    await job.pulse();
    const { clock, random } = job.options();
    const createBase = createBaseOf({ ports: job.ports, patience: { clock, random }, backend: job.plan.settings.backend });
    const stateAt = (snapshot: string | undefined) => {
      const base = createBase({ subtask: '0-s2', snapshot, view: { generation: 0, restores: [] } });
      return createSubtaskState({ subtask: '0-s2', base, maxParallelism: 128, groups: { first: 0, last: 127 } });
    };
    const { epoch, n, snapshot } = await job.head('0-s2');
    const state = stateAt(snapshot);
    const other = { ...address, key: 'j' };
    state.catchUp({ generation: 0, epoch, n }, { writes: [{ address: other, value: Uint8Array.of(8) }], timers: [] });
    const flushed = await state.flush({ generation: 0, epoch, points: [], restores: [] });
    if (flushed.kind !== 'flushed') throw new Error(`it is ${flushed.kind}`);
    const stored = stateAt(flushed.snapshot);
    expect([await stored.read(address), await stored.read(other)]).toEqual([Uint8Array.of(7), Uint8Array.of(8)]);
  });

  test('begins while a checkpoint is open: the seal carries its barrier, stands for it, and no other begins until the change is over', async () => {
    const { job, source } = await evolving();
    await job.checkpoint();
    await job.read('0-s0', 5, { sent: [['0/1-0', 4]] });
    await job.read('0-s1', 3);
    job.answer = async (invocation) => (invocation.kind === 'barrier' ? { kind: 'refused', why: 'contended' } : { kind: 'done' });
    await job.wait();
    split(source);
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await job.wait();
    expect(await job.item()).toMatchObject({ moving: { epoch: 3 }, open: [{ checkpoint: 2 }], begun: 2 });
    await job.append('0-s1');
    await job.wait();
    expect((await job.item()).begun).toBe(2);
    job.answer = async (i) => (i.kind === 'tick' ? { kind: 'done' } : { kind: 'refused', why: 'contended' });
    await job.pulse();
    const deliveries = await job.ports.exchange.receive({ max: 10 });
    expect(deliveries.map(({ bytes }) => decodeMessage(bytes))).toMatchObject([
      { sequence: 5, elements: [{ kind: 'barrier', checkpoint: 2 }] },
      { sequence: 6, elements: [{ kind: 'successors' }] },
    ]);
    expect(await ownersOf(job)).toEqual(['0-s1', '1-0', '0-s2', '0-s3']);
    expect((await job.head('0-s2')).epoch).toBe(3);
    for (const subtask of ['0-s1', '1-0']) await job.passBarrier(subtask, 2);
    await job.pulse();
    const [, second] = (await job.item()).completed;
    expect(second).toMatchObject({ checkpoint: 2, owners: [{ subtask: '0-s0', splits: [0] }, { subtask: '0-s1' }, { subtask: '1-0' }] });
    const [handle] = await readHandles(job.ports.objects, second!);
    expect(handle).toMatchObject({ subtask: '0-s0', n: 4, flushedThrough: 4 });
    expect(decodeHead(handle!.head)).toMatchObject({ kind: 'seal', sent: [['0/1-0', 5]], splits: [{ position: { index: 5 } }] });
  });

  test('leaves alone what the parent said when it passed a barrier', async () => {
    const { job, source } = await evolving();
    await job.checkpoint();
    await job.read('0-s0', 5);
    job.answer = async (i) => (i.subtask === '0-s1' ? { kind: 'refused', why: 'contended' } : job.obey(i));
    await job.wait();
    split(source);
    await job.pulse();
    expect(await job.item()).toMatchObject({ open: [{ checkpoint: 2 }], moving: undefined });
    const [acknowledgement] = await job.ports.items.list(acknowledgementName(2, '0-s0'));
    expect(decodeHead(decodeHandle(acknowledgement!.bytes).head)).toMatchObject({ kind: 'barrier', epoch: 2, n: 4 });
    const seal = await unpackEntry((await job.ring('0-s0')).newest.bytes, job.ports.objects);
    expect(seal.body.messages).toHaveLength(1);
  });

  test('of two into one goes on from the earlier event time, above the higher number', async () => {
    const job = await atEnd(merge);
    await job.append('0-s1');
    await job.pulse();
    expect(await ownersOf(job)).toEqual(['1-0', '0-s2']);
    expect(await job.head('0-s2')).toMatchObject({ n: 5, watermark: 40 });
    expect((await job.item()).until).toEqual([
      ['0-s0/0', 5],
      ['0-s1/1', 3],
    ]);
  });

  test('hands transactions that are not confirmed to the first child', async () => {
    const job = await atEnd();
    await job.append('0-s0', { transactions: [transaction('0-s0', 0, 1)] });
    await job.pulse();
    expect((await job.head('0-s2')).transactions).toEqual([transaction('0-s0', 0, 1)]);
    expect((await job.head('0-s3')).transactions).toEqual([]);
  });

  test('deals out the operator state of the parent', async () => {
    const job = await atEnd();
    const elements = [1, 2, 3].map((e) => Uint8Array.of(e));
    const delayed = {
      uid: 'in',
      lists: [{ name: 'rows', redistribution: 'split' as const, elements }],
      keyed: [],
      sinkStates: [],
      accumulators: [],
    };
    await job.append('0-s0', { operatorState: { bytes: encodeOperatorState([delayed]), object: undefined } });
    await job.pulse();
    const shares = await Promise.all(
      ['0-s2', '0-s3'].map(async (child) => decodeOperatorState((await job.head(child)).operatorState!.bytes!)[0]!.lists[0]!.elements),
    );
    expect(shares.flat()).toEqual(elements);
    expect(shares.every((share) => share.length > 0)).toBe(true);
  });

  test('that is cut off at any request is gone on with, to the same end', async () => {
    const undisturbed = await atEnd();
    let requests = 0;
    undisturbed.onRequest = () => requests++;
    await undisturbed.pulse();
    const expected = await undisturbed.item();
    for (let cut = 1; cut <= requests; cut++) {
      for (const when of ['before', 'after'] as const) {
        const job = await atEnd();
        job.cutAt(cut, when);
        await job.pulse().catch(() => {});
        job.cutAt(undefined);
        await job.pulse();
        expect(await job.item(), `cut ${when} request ${cut}`).toEqual(expected);
        expect(await job.head('0-s2')).toMatchObject({ n: 5 });
      }
    }
  });

  test('goes on after a pause, and a parent that was sealed for it stays sealed', async () => {
    for (let cut = 8; cut <= 40; cut += 4) {
      const job = await atEnd();
      job.cutAt(cut, 'after');
      await job.pulse().catch(() => {});
      job.cutAt(undefined);
      await requestPause(job.ports);
      await job.pulse();
      expect((await job.item()).status).toBe('paused');
      await job.resume();
      await job.pulse();
      expect(await ownersOf(job), `cut at ${cut}`).toEqual(['0-s1', '1-0', '0-s2', '0-s3']);
      expect((await job.head('0-s1')).kind).toBe('data');
      expect((await job.head('0-s0')).kind).toBe('seal');
    }
  });

  test('is undone by a restore to before it, which takes the owners back, and is made again from there', async () => {
    const { job, source } = await evolving();
    await job.checkpoint();
    await job.read('0-s0', 5);
    split(source);
    await job.pulse();
    await job.read('0-s2', 9);
    await startRestore(job.ports, 'latest');
    job.answer = async () => ({ kind: 'refused', why: 'contended' });
    await job.pulse();
    expect(await ownersOf(job)).toEqual(['0-s0', '0-s1', '1-0']);
    expect((await job.head('0-s0')).splits).toMatchObject([{ position: { index: 1 }, replayUntil: 5 }]);
    await job.read('0-s0', 5);
    job.answer = (invocation) => job.obey(invocation);
    await job.pulse();
    expect(await job.head('0-s2', 1)).toMatchObject({ generation: 1, splits: [{ position: undefined, replayUntil: 9 }] });
  });

  test('does not begin during a restore, or when somebody else owns', async () => {
    const job = await atEnd();
    const item = await job.item();
    expect(withMoving(item, splitChange).moving).toMatchObject({ parents: ['0-s0'] });
    const restoring = { checkpoint: 1, generation: 1, epoch: 2, owners: [] };
    expect(withMoving({ ...item, restoring }, splitChange).moving).toBeUndefined();
    expect(withMoving({ ...item, owners: [] }, splitChange).moving).toBeUndefined();
    expect(withMoving({ ...item, generation: 1 }, splitChange).moving).toBeUndefined(); // a restore took the parent back behind its end
    expect(withMoving({ ...item, status: 'pausing' }, splitChange).moving).toBeUndefined();
  });

  test('lists the rings of children before it creates them', async () => {
    const job = await atEnd();
    expect(withMoving(await job.item(), splitChange).rings).toEqual(['0/0-s0', '0/0-s1', '0/1-0', '0/0-s2', '0/0-s3']);
  });
});

test('rows that wait for a barrier wait with the first child, those of all parents', async () => {
  const { job, source } = await evolving({ isOneStage: true });
  const stateOf = (subtask: string) => {
    const { ports, plan } = job;
    const { clock, random } = job.options();
    const createBase = createBaseOf({ ports, patience: { clock, random }, backend: plan.settings.backend });
    const base = createBase({ subtask, snapshot: undefined, view: { generation: 0, restores: [] } });
    return createSubtaskState({ subtask, base, maxParallelism: 128, groups: { first: 0, last: 127 } });
  };
  for (const [subtask, index, row] of [
    ['0-s0', 5, 1],
    ['0-s1', 3, 2],
  ] as const) {
    const state = stateOf(subtask);
    state.beginUnit();
    state.buffer('out').append(Uint8Array.of(row));
    state.abandonUnit();
    await state.loadMissing();
    state.beginUnit();
    state.buffer('out').append(Uint8Array.of(row));
    const delta = state.takeDelta();
    const [progress] = (await job.head(subtask)).splits;
    await job.append(subtask, { splits: [{ ...progress!, position: { index, at: index } }] }, { ...emptyBody, delta });
  }
  merge(source);
  await job.pulse();
  const { newest } = await job.ring('0-s2');
  const state = stateOf('0-s2');
  const { head, body } = await unpackEntry(newest.bytes, job.ports.objects);
  state.catchUp({ generation: 0, epoch: head.epoch, n: head.n }, body.delta);
  state.beginUnit();
  state.buffer('out').all();
  state.abandonUnit();
  await state.loadMissing();
  state.beginUnit();
  expect(state.buffer('out').all()).toEqual([Uint8Array.of(1), Uint8Array.of(2)]);
});

test('operator state is dealt out as on any change of parallelism', () => {
  const list = (name: string, redistribution: 'split' | 'union' | 'broadcast', ...elements: number[]) => ({
    name,
    redistribution,
    elements: elements.map((e) => Uint8Array.of(e)),
  });
  const operator = (lists: readonly ReturnType<typeof list>[], count: number) => ({
    uid: 'op',
    lists,
    keyed: [],
    sinkStates: [],
    accumulators: [{ name: 'count', value: Uint8Array.of(count) }],
  });
  const parents = [
    [operator([list('s', 'split', 1, 2), list('u', 'union', 5), list('b', 'broadcast', 8)], 10)],
    [operator([list('s', 'split', 3), list('u', 'union', 6), list('b', 'broadcast', 8)], 20)],
  ];
  expect(dealtOut(parents, 0, 2)).toEqual([
    {
      ...operator([list('s', 'split', 1), list('u', 'union', 5, 6), list('b', 'broadcast', 8)], 10),
      accumulators: [10, 20].map((v) => ({ name: 'count', value: Uint8Array.of(v) })),
    },
  ]);
  expect(dealtOut(parents, 1, 2)).toEqual([
    { ...operator([list('s', 'split', 2, 3), list('u', 'union', 5, 6), list('b', 'broadcast', 8)], 0), accumulators: [] },
  ]);
});

test('the ring of a parent that no checkpoint needs is closed when everyone has taken its last message', async () => {
  const { job, source } = await evolving();
  await job.read('0-s0', 5, { sent: [['0/1-0', 4]] });
  split(source);
  await job.pulse();
  await job.pulse();
  expect((await job.head('0-s0')).kind).toBe('seal');
  const { channels } = await job.head('1-0');
  await job.append('1-0', { channels: channels.map((c) => (c.sender === '0-s0' ? { ...c, sequence: 5, hasEnded: true } : c)) });
  await job.pulse();
  await expect(job.head('0-s0')).rejects.toThrow('closed');
});
