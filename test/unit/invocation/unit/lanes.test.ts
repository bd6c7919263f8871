import { describe, expect, test } from 'vitest';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import { laneOf, splitByLane } from '../../../../lib/invocation/lane/queues.ts';
import { LaneWorld, type Parcel } from '../../../support/lane-world.ts';

const parcel = (group: string, id: number): Parcel => ({ group, id });
const parcels = (...texts: readonly string[]): readonly Parcel[] => texts.map((text) => parcel(text[0]!, Number(text.slice(1))));
const second = 1_000;

async function begun(o: ConstructorParameters<typeof LaneWorld>[0]): Promise<LaneWorld> {
  const world = new LaneWorld(o);
  await world.world.create();
  return world;
}

/** Restores, and replays whatever there is. */
async function restored(w: LaneWorld, checkpoint: number | 'latest'): Promise<void> {
  const { generation } = await w.world.item();
  expect((await startRestore(w.world.ports, checkpoint)).kind).toBe('marked');
  for (let pulses = 0; pulses < 30; pulses++) {
    await w.world.pulse();
    while (await w.world.drain());
  }
  expect((await w.world.item()).generation).toBe(generation + 1);
}

describe('an event of a queue', () => {
  test('is split by lane: a group is always of the same one, and the lanes share the groups', () => {
    const queue = { order: 'fifo' as const, lanes: 4, retentionMs: 1, read: () => undefined };
    const messages = Array.from({ length: 200 }, (_, i) => ({
      id: `m${i}`,
      group: `g${i % 50}`,
      sequence: String(i),
      sentMs: 0,
      receives: 1,
      body: i,
    }));
    const parts = splitByLane(messages, { stage: 2, queue });
    expect(parts.flatMap((part) => part.messages).length).toBe(200);
    expect(parts.map(({ subtask }) => subtask).sort()).toEqual(['2-0', '2-1', '2-2', '2-3']);
    for (const part of parts) for (const message of part.messages) expect(`2-${laneOf(message, queue)}`).toBe(part.subtask);
  });

  test('of another lane is refused', async () => {
    const w = await begun({ order: 'fifo' });
    w.send(parcel('a', 1));
    const [given] = w.receive();
    const own = laneOf(given!.message, { order: 'fifo', lanes: 2 });
    const answer = await w.world.invoke({ kind: 'queue', subtask: `0-${1 - own}`, messages: [given!.message] });
    expect(answer).toEqual({ kind: 'refused', why: 'not-an-owner' });
  });
});

describe.each(['fifo', 'standard'] as const)('a %s queue', (order) => {
  test('each message has its effect once, in order within its group, whatever is delivered again', async () => {
    const w = await begun({ order });
    w.send(...parcels('a1', 'b2', 'a3', 'c4', 'b5', 'a6'));
    const first = w.receive();
    await w.give(first, { isLost: true });
    await w.give(first, { isLost: true, to: w.mortal() });
    w.world.now += 31 * second;
    await w.drain();
    await w.checkpoint();
    const expected = ['a 1', 'a 2', 'a 3', 'b 1', 'b 2', 'c 1'];
    expect(w.rows.map((row) => row.slice(0, 3))).toEqual(expected);
    if (order === 'fifo') expect(w.rows.map((row) => row.slice(4))).toEqual(['1', '3', '6', '2', '5', '4']);
  });

  test('a restore takes again what was settled behind the checkpoint, and nothing else', async () => {
    const w = await begun({ order });
    w.send(...parcels('a1', 'b2'));
    await w.drain();
    const checkpoint = await w.checkpoint();
    w.send(...parcels('a3', 'c4', 'b5'));
    await w.drain();
    w.runs.clear();
    await restored(w, checkpoint);
    expect([...w.runs].sort(([a], [b]) => a - b)).toEqual([3, 4, 5].map((id) => [id, 1]));
    await w.checkpoint();
    expect(w.rows).toEqual(['a 1 1', 'a 2 3', 'b 1 2', 'b 2 5', 'c 1 4']);
  });

  test('restores follow each other, also in the middle of a replay and to older checkpoints', async () => {
    const w = await begun({ order, ringSlots: 8 });
    const older = [];
    let id = 0;
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 12; i++) w.send(parcel('abcd'[i % 4]!, ++id));
      await w.drain();
      older.push(await w.checkpoint());
    }
    for (let i = 0; i < 12; i++) w.send(parcel('abcd'[i % 4]!, ++id));
    await w.drain();
    await startRestore(w.world.ports, older[1]!);
    await w.world.pulse(); // marks, and replays a part
    await startRestore(w.world.ports, older[0]!);
    for (let pulses = 0; pulses < 40; pulses++) {
      await w.world.pulse();
      while (await w.world.drain());
    }
    expect((await w.world.item()).generation).toBe(2);
    // What every group has counted shows whether anything is missing, or was there twice.
    w.send(...parcels('a1000', 'b1001', 'c1002', 'd1003'));
    await w.drain();
    await w.checkpoint();
    const last = w.rows.filter((row) => / 100\d$/.test(row));
    expect(last).toEqual(['a 13 1000', 'b 13 1001', 'c 13 1002', 'd 13 1003']);
  });

  test('a message that throws is parked after its tries, by whoever meets it, and its body is kept whole', async () => {
    const w = await begun({ order, temper: ({ id }) => (id === 2 ? 'throws' : 'fine') });
    w.send(...parcels('a1', 'a2', 'a3', 'b4'));
    await w.drain(() => w.mortal());
    await w.checkpoint();
    expect(w.rows.map((row) => row.slice(0, 3))).toEqual(['a 1', 'a 2', 'b 1']);
    const letters = await w.letters();
    expect(letters.map(({ letter }) => letter.batch.values)).toEqual([[parcel('a', 2)]]);
  });
});

describe('a group of a queue with order', () => {
  test('waits for its first message while that fails; other groups go on, of the same lane too', async () => {
    const w = await begun({ order: 'fifo', lanes: 1, temper: ({ id }) => (id === 2 ? 'throws' : 'fine') });
    w.send(...parcels('a1', 'a2', 'a3', 'b4', 'b5'));
    const given = w.receive();
    const answers = await w.give(given);
    const ids = (...bodies: readonly number[]): readonly string[] =>
      given.filter(({ message }) => bodies.includes((message.body as Parcel).id)).map(({ message }) => message.id);
    expect(answers.get('0-0')).toEqual({ kind: 'partial', count: 3, settled: ids(1, 4, 5), why: 'record-failed' });
    expect(w.queue.unsettled.map(({ body }) => (body as Parcel).id)).toEqual([2, 3]);
  });

  test('several groups may fail at once, each with its own tries', async () => {
    const bad = new Set([1, 3, 6]);
    const w = await begun({ order: 'fifo', lanes: 1, temper: ({ id }) => (bad.has(id) ? 'throws' : 'fine') });
    w.send(...parcels('a1', 'a2', 'b3', 'b4', 'c5', 'c6'));
    await w.drain();
    await w.checkpoint();
    expect(w.rows).toEqual(['a 1 2', 'b 1 4', 'c 1 5']);
    expect((await w.letters()).map(({ letter }) => (letter.batch.values[0] as Parcel).id).sort()).toEqual([1, 3, 6]);
    for (const id of bad) expect(w.runs.get(id)).toBeGreaterThanOrEqual(3);
  });

  test('a body that cannot be read is the fault of its message', async () => {
    const read = (body: unknown): Parcel => {
      if ((body as Parcel).id === 2) throw new Error('no JSON');
      return body as Parcel;
    };
    const w = await begun({ order: 'fifo', read });
    w.send(...parcels('a1', 'a2', 'a3'));
    await w.drain();
    const [letter] = await w.letters();
    expect(letter?.letter).toMatchObject({ operator: 'in', error: { code: 'USER_FUNCTION_FAILED' } });
    expect(letter?.letter.error.message).toContain('no JSON');
  });
});

describe('a message that kills', () => {
  test.each(['fifo', 'standard'] as const)(
    'is found by halving and parked; the others of a %s queue have their effect once',
    async (order) => {
      const w = await begun({ order, lanes: 1, temper: ({ id }) => (id === 4 ? 'kills' : 'fine') });
      w.send(...parcels('a1', 'a2', 'a3', 'a4', 'a5', 'b6', 'b7'));
      if (order === 'standard') return void (await sourceKills(w)); // its first stage runs no user code but `read`
      await w.drain(() => w.mortal());
      await w.checkpoint();
      expect(w.rows).toEqual(['a 1 1', 'a 2 2', 'a 3 3', 'a 4 5', 'b 1 6', 'b 2 7']);
      const letters = await w.letters();
      expect(letters.map(({ letter }) => [letter.error.code, (letter.batch.values[0] as Parcel).id])).toEqual([['RECORD_KILLS', 4]]);
      expect(w.runs.get(4)).toBeLessThan(12);
    },
  );

  test('kills no innocent: groups are marked one at a time', async () => {
    const w = await begun({ order: 'fifo', lanes: 1, temper: ({ id }) => (id === 1 ? 'kills' : 'fine') });
    w.send(...parcels('a1', 'b2', 'c3', 'd4'));
    await w.drain(() => w.mortal());
    expect((await w.letters()).map(({ letter }) => (letter.batch.values[0] as Parcel).id)).toEqual([1]);
  });
});

async function sourceKills(w: LaneWorld): Promise<void> {
  w.temper = () => 'fine';
  await w.drain();
  await w.checkpoint();
  expect(w.rows.map((row) => row.slice(0, 3))).toEqual(['a 1', 'a 2', 'a 3', 'a 4', 'a 5', 'b 1', 'b 2']);
}

describe('redrive', () => {
  test('happens once, is kept, and is replayed by a restore to before it', async () => {
    const w = await begun({ order: 'fifo', lanes: 1, temper: ({ id }) => (id === 2 ? 'throws' : 'fine') });
    w.send(...parcels('a1', 'a2', 'a3'));
    await w.drain();
    const [parked] = await w.letters();
    const checkpoint = await w.checkpoint();
    w.temper = () => 'fine';
    const redrive = () => w.world.invoke({ kind: 'redrive', subtask: parked!.subtask, letter: parked!.id });
    expect(await redrive()).toEqual({ kind: 'done' });
    expect(await redrive()).toEqual({ kind: 'done' });
    await restored(w, checkpoint);
    expect(await w.letters()).toEqual([]);
    expect(await redrive()).toEqual({ kind: 'done' });
    await w.checkpoint();
    expect(w.rows).toEqual(['a 1 1', 'a 2 3', 'a 3 2']);
  });

  test('whose record fails when it is replayed leaves the letter', async () => {
    const w = await begun({ order: 'fifo', lanes: 1, temper: ({ id }) => (id === 2 ? 'throws' : 'fine') });
    w.send(...parcels('a1', 'a2'));
    await w.drain();
    const checkpoint = await w.checkpoint();
    const [parked] = await w.letters();
    w.temper = () => 'fine';
    await w.world.invoke({ kind: 'redrive', subtask: parked!.subtask, letter: parked!.id });
    w.temper = ({ id }) => (id === 2 ? 'throws' : 'fine');
    await restored(w, checkpoint);
    expect((await w.letters()).map(({ id }) => id)).toEqual([parked!.id]);
  });

  test('is refused while a replay is due', async () => {
    const w = await begun({ order: 'fifo', lanes: 1, temper: ({ id }) => (id === 1 ? 'throws' : 'fine') });
    w.send(...parcels('a1'));
    await w.drain();
    const [parked] = await w.letters();
    await w.checkpoint();
    w.send(...parcels('a2', 'a3'));
    await w.drain();
    await startRestore(w.world.ports, 'latest');
    w.temper = ({ id }) => (id === 2 ? 'throws' : 'fine'); // holds the replay up
    await w.world.pulse();
    const answer = await w.world.invoke({ kind: 'redrive', subtask: '0-0', letter: parked!.id });
    expect(answer).toEqual({ kind: 'refused', why: 'replay-first' });
    w.send(...parcels('b4'));
    expect([...(await w.give(w.receive())).values()]).toEqual([{ kind: 'refused', why: 'replay-first' }]);
  });
});

describe('a position', () => {
  test.each(['fifo', 'standard'] as const)(
    'of a %s queue is forgotten when its message cannot come again, and not before',
    async (order) => {
      const retentionMs = 240 * second;
      const limits = { positionMarginMs: 20 * second };
      const w = await begun({ order, lanes: 1, retentionMs, limits });
      w.send(...parcels('a1', 'b2'));
      const given = w.receive();
      await w.give(given);
      const give = () => w.give(given, { isLost: true });
      w.world.now += 250 * second;
      await w.world.pulse();
      w.runs.clear();
      await give();
      expect(w.runs.size).toBe(0);
      w.world.now += 60 * second;
      for (let pulses = 0; pulses < 5; pulses++) await w.world.pulse();
      await give();
      while (await w.world.drain());
      expect(w.runs.size).toBe(2); // nobody could hold these messages any more
    },
  );

  test('of a group that goes on stays', async () => {
    const w = await begun({ order: 'fifo', lanes: 1, retentionMs: 240 * second, limits: { positionMarginMs: 20 * second } });
    w.send(parcel('a', 1));
    await w.drain();
    w.world.now += 200 * second;
    w.send(parcel('a', 2));
    const given = w.receive();
    await w.give(given);
    w.world.now += 100 * second;
    for (let pulses = 0; pulses < 5; pulses++) await w.world.pulse();
    w.runs.clear();
    await w.give(given, { isLost: true, to: w.mortal() });
    expect(w.runs.size).toBe(0);
  });
});

describe('AT_MOST_ONCE', () => {
  test('commits positions first, parks what throws at once, and a restore takes nothing again', async () => {
    const w = await begun({ order: 'fifo', lanes: 1, mode: 'AT_MOST_ONCE', temper: ({ id }) => (id === 2 ? 'throws' : 'fine') });
    w.send(...parcels('a1', 'a2', 'b3'));
    await w.drain();
    const checkpoint = await w.checkpoint();
    w.send(...parcels('a4'));
    await w.drain();
    w.runs.clear();
    await restored(w, checkpoint);
    expect(w.runs.size).toBe(0);
    expect((await w.letters()).map(({ letter }) => (letter.batch.values[0] as Parcel).id)).toEqual([2]);
  });

  test.each(['fifo', 'standard'] as const)('a restore takes nothing again that the queue %s has not heard of', async (order) => {
    const w = await begun({ order, lanes: 1, mode: 'AT_MOST_ONCE', ringSlots: 8 });
    w.send(...parcels('a1'));
    await w.drain();
    const checkpoint = await w.checkpoint();
    for (let id = 2; id < 12; id++) {
      w.send(parcel(`g${id}`, id));
      await w.give(w.receive(), { isLost: true });
    }
    while (await w.world.drain());
    w.runs.clear();
    await restored(w, checkpoint);
    w.world.now += 31 * second;
    await w.drain();
    await restored(w, checkpoint);
    w.world.now += 31 * second;
    w.send(parcel('a', 100));
    await w.drain();
    expect([...w.runs.keys()]).toEqual([100]);
  });
});
