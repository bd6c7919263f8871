import { describe, expect, test } from 'vitest';
import { CountedWorld, maxParallelism, Unit } from './support.ts';

type Change = (u: Unit) => void;

/** A unit that only works on timers. */
async function timerUnit(u: Unit, change: Change): Promise<readonly string[]> {
  const delta = await openTimerUnit(u, change);
  u.commit(delta);
  return delta.timers.map(({ isSet, domain, time, cause }) => `${isSet ? 'set' : 'delete'} ${domain} ${time} ${cause ?? ''}`.trim());
}

async function openTimerUnit(u: Unit, change: Change): ReturnType<Unit['run']> {
  for (let runs = 0; ; runs++) {
    u.state.beginUnit();
    try {
      change(u);
      return u.state.takeDelta();
    } catch (error) {
      if (!u.state.isSuspended || runs > 5) throw error;
    }
    u.state.abandonUnit();
    await u.state.loadMissing();
  }
}

async function all(u: Unit): Promise<readonly string[]> {
  const found: string[] = [];
  await openTimerUnit(u, ({ backend: { timers } }) => {
    for (let t = timers.event.takeDue(1e9); t !== undefined; t = timers.event.takeDue(1e9))
      found.push(`event ${t.time} ${String(t.key)} ${t.cause}`);
    for (let t = timers.processing.takeDue(1e9); t !== undefined; t = timers.processing.takeDue(1e9)) found.push(`processing ${t.time}`);
  });
  u.state.abandonUnit();
  return found;
}

const timed = (world: CountedWorld): Unit => new Unit(world.tableBase(), { hasTimers: true });

describe('timers of a subtask', () => {
  test('are loaded with the first touch, all groups in one read, and are in memory afterwards', async () => {
    const world = new CountedWorld();
    const u = timed(world);
    await timerUnit(u, ({ backend }) => expect(backend.timers.event.next()).toBe(undefined));
    expect(world.taken()).toEqual({ 'table.readMany': 1 });
    await timerUnit(u, ({ backend }) => backend.timers.processing.register(5, 'a'));
    expect(world.taken()).toEqual({});
  });

  test('of an operator that can have none are never asked for', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    u.state.beginUnit();
    expect(u.backend.timers.event.takeDue(1e9)).toBe(undefined);
    expect(u.state.isSuspended).toBe(false);
    expect(world.taken()).toEqual({});
  });

  test('a change that changes nothing is none', async () => {
    const u = timed(new CountedWorld());
    const changes = await timerUnit(u, ({ backend: { timers } }) => {
      timers.event.register(5, 'a');
      timers.event.register(5, 'a');
      timers.event.remove(6, 'a');
      timers.event.registerCaused(7, 'a', 'first');
      timers.event.registerCaused(7, 'a', 'second');
      timers.processing.register(5, 'a');
      timers.event.takeDue(5);
    });
    expect(changes).toEqual(['set event 5', 'set event 7 first', 'set processing 5', 'delete event 5']);
    expect(await timerUnit(u, ({ backend }) => backend.timers.event.register(7, 'a'))).toEqual(['set event 7']);
  });

  test('survive a flush and another environment, causes too, and one item holds a key group', async () => {
    const world = new CountedWorld();
    const u = timed(world);
    await timerUnit(u, ({ backend: { timers } }) => {
      for (let i = 0; i < 40; i++) timers.event.register(i, `k${i % 5}`);
      timers.processing.register(-3.5, 'k');
      timers.event.registerCaused(99, 'k', 'why');
    });
    await u.state.flush(u.view);
    expect(u.state.unflushed).toBe(0);
    expect(world.service.table.items().length).toBeLessThanOrEqual(maxParallelism);
    const expected = await all(u);
    expect(expected.length).toBe(42);
    expect(expected.at(-2)).toBe('event 99 k why');
    expect(await all(timed(world))).toEqual(expected);
  });

  test('that are registered between two flushes of one moment are in the table after a third', async () => {
    const world = new CountedWorld();
    const u = timed(world);
    await timerUnit(u, ({ backend }) => backend.timers.event.register(1, 'a'));
    const flushes = [u.state.flush(u.view), u.state.flush(u.view)];
    await timerUnit(u, ({ backend }) => backend.timers.event.register(2, 'a'));
    await Promise.all(flushes);
    expect(u.state.unflushed).toBe(1);
    await u.state.flush(u.view);
    expect(await all(timed(world))).toEqual(['event 1 a undefined', 'event 2 a undefined']);
  });

  test('of an entry that the table has already are as if they had not been applied again', async () => {
    const world = new CountedWorld();
    const u = timed(world);
    const first = await openTimerUnit(u, ({ backend }) => backend.timers.event.register(1, 'a'));
    const one = u.commit(first);
    const second = await openTimerUnit(u, ({ backend }) => {
      backend.timers.event.takeDue(1);
      backend.timers.event.register(2, 'a');
    });
    const two = u.commit(second);
    await u.state.flush(u.view);
    const late = timed(world); // it knows the first entry only
    late.state.catchUp(one, first);
    await late.state.flush(late.view);
    const fresh = timed(world);
    fresh.state.catchUp(one, first);
    fresh.state.catchUp(two, second);
    expect(await all(fresh)).toEqual(['event 2 a undefined']);
    expect(await all(timed(world))).toEqual(['event 2 a undefined']);
  });

  test('are as they were at a checkpoint when it is restored', async () => {
    const world = new CountedWorld();
    const u = timed(world);
    await timerUnit(u, ({ backend }) => backend.timers.event.register(1, 'a'));
    u.epoch = 2;
    await timerUnit(u, ({ backend }) => backend.timers.event.takeDue(1));
    u.epoch = 3;
    await timerUnit(u, ({ backend }) => backend.timers.event.register(3, 'a'));
    await u.state.flush({ ...u.view, points: [1, 2] });
    const at = (checkpoint: number): Unit =>
      new Unit(world.tableBase({ generation: 1, restores: [{ generation: 1, checkpoint }] }), { hasTimers: true, generation: 1 });
    expect(await all(at(1))).toEqual(['event 1 a undefined']);
    expect(await all(at(2))).toEqual([]);
    expect(await all(timed(world))).toEqual(['event 3 a undefined']);
  });
});
