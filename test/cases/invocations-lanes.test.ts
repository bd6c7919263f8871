// Cases of queues that feed a job of the invocation runtime: lanes, positions, kept input. Those of the exchange are in invocations-queues.

import { describe, expect, test } from 'vitest';
import type { Answer } from '../../lib/invocation/invocation.ts';
import { createEnvironment } from '../../lib/invocation/unit/create-environment.ts';
import { fakePorts } from '../../lib/testing/index.ts';
import { LaneWorld, type Parcel } from '../support/lane-world.ts';

const second = 1_000;
const parcel = (group: string, id: number): Parcel => ({ group, id });

async function begun(o: ConstructorParameters<typeof LaneWorld>[0]): Promise<LaneWorld> {
  const world = new LaneWorld(o);
  await world.world.create();
  return world;
}

describe.each(['fifo', 'standard'] as const)('a %s queue', (order) => {
  test('C49: a handler that outlives the visibility time-out and one that has the message again count it once', async () => {
    const w = await begun({ order, lanes: 1 });
    w.send(parcel('a', 1));
    // The first one hangs in front of its append until the second one is done.
    let hang: () => void = () => undefined;
    const slow = slowEnvironment(w, new Promise<void>((resolve) => (hang = resolve)));
    const first = w.give(w.receive(), { to: slow, isLost: true });
    w.world.now += 31 * second;
    const again = w.receive();
    expect(again.map(({ message }) => message.receives)).toEqual([2]);
    expect([...(await w.give(again)).values()]).toEqual([{ kind: 'done' }]);
    hang();
    expect([...(await first).values()]).toEqual([{ kind: 'done' }]); // it has found that others were faster
    while (await w.world.drain());
    await w.checkpoint();
    expect(w.rows).toEqual(['a 1 1']);
  });

  test('C50: a message that failed once is processed when it comes again, in the same environment', async () => {
    let fails = 1;
    const w = await begun({ order, lanes: 1, ...(order === 'fifo' ? {} : { read: (body) => failing(body as Parcel) }) });
    const failing = (p: Parcel): Parcel => {
      if (p.id === 1 && fails-- > 0) throw new Error('not now');
      return p;
    };
    if (order === 'fifo') w.temper = ({ id }) => (id === 1 && fails-- > 0 ? 'throws' : 'fine');
    fails = 3; // runs of one invocation: in a whole batch, alone, and stopped before
    w.send(parcel('a', 1), parcel('b', 2));
    const only = w.world.environments[0]!;
    await w.give(w.receive(), { to: only });
    fails = 0;
    await w.drain();
    await w.checkpoint();
    expect(w.rows).toEqual(['a 1 1', 'b 1 2']);
    expect(await w.letters()).toEqual([]);
  });

  test('C51: deliveries that were throttled count as receives and as nothing else: all effects happen once, and nothing is parked', async () => {
    const w = await begun({ order, lanes: 2 });
    const bodies = Array.from({ length: 50 }, (_, i) => parcel(`g${i % 7}`, i));
    w.send(...bodies);
    let deliveries = 0;
    for (let round = 0; w.queue.unsettled.length > 0 && round < 500; round++) {
      const given = w.receive();
      if (given.length === 0) w.world.now += 31 * second;
      else if (deliveries++ % 5 >= 2) await w.give(given); // two of five are throttled: handed out, and never seen
      while (await w.world.drain());
    }
    await w.checkpoint();
    expect(w.rows.map((row) => Number(row.split(' ')[2])).sort((a, b) => a - b)).toEqual(bodies.map(({ id }) => id));
    expect(await w.letters()).toEqual([]);
  });

  test('C52: a message whose delete was lost has no second effect inside the horizon; beyond it its position is forgotten, and it has', async () => {
    const retentionMs = 4 * 24 * 3_600 * second;
    const w = await begun({ order, lanes: 1, retentionMs });
    w.send(parcel('a', 1));
    const given = w.receive();
    await w.give(given, { isLost: true });
    while (await w.world.drain());
    // Somebody's dead-letter queue kept it, and gives it back under its own identity.
    const giveBack = () => w.give(given, { isLost: true, to: w.mortal() });
    w.runs.clear();
    w.world.now += 3 * 24 * 3_600 * second;
    for (let pulses = 0; pulses < 5; pulses++) await w.world.pulse();
    expect([...(await giveBack()).values()]).toEqual([{ kind: 'done' }]);
    while (await w.world.drain());
    expect(w.runs.size).toBe(0);
    expect(w.beyondHorizon).toBe(0);
    w.world.now += 3 * 24 * 3_600 * second;
    for (let pulses = 0; pulses < 5; pulses++) await w.world.pulse();
    await giveBack();
    while (await w.world.drain());
    expect(w.runs.get(1)).toBe(1);
    expect(w.beyondHorizon).toBe(1);
  });
});

test('C51: a message that is parked is redriven under its own identity, once, however often it is asked for and given again', async () => {
  const w = await begun({ order: 'fifo', lanes: 1, temper: ({ id }) => (id === 2 ? 'throws' : 'fine') });
  w.send(parcel('a', 1), parcel('a', 2), parcel('a', 3));
  const given = w.receive();
  for (let tries = 0; tries < 3; tries++) await w.give(given, { isLost: true });
  const [letter] = await w.letters();
  w.temper = () => 'fine';
  const redrive = (): Promise<Answer> => w.world.invoke({ kind: 'redrive', subtask: letter!.subtask, letter: letter!.id });
  expect([await redrive(), await redrive()]).toEqual([{ kind: 'done' }, { kind: 'done' }]);
  expect([...(await w.give(given)).values()]).toEqual([{ kind: 'done' }]);
  await w.checkpoint();
  expect(w.rows).toEqual(['a 1 1', 'a 2 3', 'a 3 2']);
});

/** Its first append waits for `go`. */
function slowEnvironment(w: LaneWorld, go: Promise<void>): ReturnType<typeof createEnvironment> {
  const { plan, clock, random, service } = w.world;
  const ports = fakePorts(service, async (method, _place, effect) => {
    if (method === 'changelog.put') await go;
    return effect();
  });
  return createEnvironment({ plan, ports, clock, random, files: undefined as never, report: () => undefined, print: () => undefined });
}
