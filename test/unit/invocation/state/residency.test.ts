import { describe, expect, test } from 'vitest';
import { mapState, reducingState } from '../../../../lib/api/state.ts';
import { CountedWorld, empty, readAll, Unit } from './support.ts';

const names = (count: number, prefix = 'k'): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

describe('state that is not in memory', () => {
  test('a key that nobody wrote is loaded once, and is known to be empty afterwards', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    expect(await u.read('a', (s) => [s.value.value(), s.list.get().length, s.sum.get()])).toEqual([undefined, 0, undefined]);
    expect(u.suspensions).toBe(1);
    expect(world.taken()).toEqual({ 'table.readMany': 1 });
    await u.unit(['a'], (s) => s.value.update(1));
    await u.unit(['a'], (s) => s.value.clear());
    await u.unit(['a'], (s) => expect(s.value.value()).toBe(undefined));
    expect(u.suspensions).toBe(0);
    expect(world.taken()).toEqual({});
  });

  test('all keys of a batch come in one load: three addresses a key, a hundred addresses a read', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(names(200), (s, i) => s.value.update(i));
    expect(u.suspensions).toBe(1);
    expect(world.taken()).toEqual({ 'table.readMany': 6 });
  });

  test('what one environment committed and flushed another reads', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    const write = (s: Parameters<typeof readAll>[0], i: number): void => {
      s.value.update({ i });
      s.list.addAll([i, i + 1]);
      s.map.put('x', i);
      s.map.put('y', undefined);
      s.sum.add(i);
    };
    await u.unit(['a', 'b'], write);
    expect(await u.state.flush(u.view)).toEqual({ kind: 'flushed', snapshot: undefined });
    expect(u.state.unflushed).toBe(0);
    const other = new Unit(world.tableBase());
    const map = [
      ['x', 1],
      ['y', undefined],
    ];
    expect(await other.read('b', readAll)).toEqual({ value: { i: 1 }, list: [1, 2], map, sum: 1 });
    expect(await other.read('c', readAll)).toEqual(empty);
  });

  test('entries of maps are loaded by themselves, those of all records of a batch together', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(names(50), (s, i) => s.map.putAll([1, 2, 3].map((n) => [n, `${i}:${n}`] as const)));
    await u.state.flush(u.view);
    u.state.evict(0);
    world.taken();
    const read: unknown[] = [];
    await u.unit(names(50), (s, i) => {
      read[i] = [s.map.get(1), s.map.has(9)];
    });
    expect(read).toEqual(names(50).map((_, i) => [`${i}:1`, false]));
    // Keys, then the first entry of each record, then the second: each time all records at once.
    expect(u.suspensions).toBe(3);
    expect(world.taken()).toEqual({ 'table.readMany': 4 });
    await u.unit(names(50), (s) => expect([typeof s.map.get(1), s.map.get(9)]).toEqual(['string', undefined]));
    expect(world.taken()).toEqual({});
  });

  test('an entry is written and removed without being read', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase(), { shape: { map: mapState<unknown, unknown>() } });
    const delta = await u.unit(['a'], (s) => {
      s.map.put('x', 1);
      s.map.remove('y');
      expect(s.map.get('x')).toBe(1);
      expect(s.map.has('y')).toBe(false);
      expect(s.map.isEmpty()).toBe(false);
    });
    expect(delta.writes.map(({ value }) => value !== undefined)).toEqual([true, false]);
    expect(world.taken()).toEqual({});
  });

  test('an iteration loads the whole map and leaves what the unit wrote before as it is', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(['a'], (s) => s.map.putAll([1, 2, 3, 4].map((n) => [n, n] as const)));
    await u.state.flush(u.view);
    u.state.evict(0);
    world.taken();
    await u.run(['a'], (s) => {
      s.map.put(2, 'mine');
      s.map.remove(3);
      s.map.put(5, 'new');
      expect([...s.map.entries()]).toEqual([
        [1, 1],
        [2, 'mine'],
        [4, 4],
        [5, 'new'],
      ]);
    });
    expect(world.taken()).toEqual({ 'table.readMany': 1, 'table.readPartition': 1 });
    u.state.abandonUnit();
    expect(await u.read('a', (s) => [...s.map.keys()])).toEqual([1, 2, 3, 4]);
    const delta = await u.unit(['a'], (s) => s.map.clear());
    expect(delta.writes.map(({ value }) => value)).toEqual([undefined, undefined, undefined, undefined]);
    expect(await u.read('a', (s) => s.map.isEmpty())).toBe(true);
    expect(world.taken()).toEqual({});
  });

  test('user code that catches what it is thrown does not hide that the run is suspended', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(['a'], (s) => s.map.put(1, 1));
    await u.state.flush(u.view);
    u.state.evict(0);
    const seen: unknown[] = [];
    await u.run(['a'], (s) => {
      try {
        seen.push(s.map.get(1));
      } catch {
        s.value.update('wrong');
      }
    });
    expect(seen).toEqual([1]);
    expect(await u.read('a', (s) => s.value.value())).toBe(undefined);
  });

  test('when loading fails the next run is suspended again', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    u.runOnce(['a'], () => {});
    expect(u.state.isSuspended).toBe(true);
    u.state.abandonUnit();
    world.failing = 'table.readMany';
    await expect(u.state.loadMissing()).rejects.toThrow('failed');
    u.runOnce(['a'], () => {});
    expect(u.state.isSuspended).toBe(true);
    u.state.abandonUnit();
    world.failing = undefined;
    await u.unit(['a'], (s) => s.value.update(1));
    expect(await u.read('a', (s) => s.value.value())).toBe(1);
  });

  test('a long list is loaded with its chunks in one go, and only its end is written when it grows', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    const item = (i: number): string => `${i}`.padStart(1_000, '.');
    const first = await u.unit(['a'], (s) => s.list.addAll(Array.from({ length: 10 }, (_, i) => item(i))));
    expect(first.writes.map(({ address }) => address.sub)).toEqual(['', '0', '1']); // five elements a chunk
    const second = await u.unit(['a'], (s) => s.list.add(item(10)));
    expect(second.writes.map(({ address }) => address.sub)).toEqual(['']);
    await u.state.flush(u.view);
    u.state.evict(0);
    world.taken();
    expect((await u.read('a', (s) => s.list.get())).length).toBe(11);
    expect(u.suspensions).toBe(1);
    expect(world.taken()).toEqual({ 'table.readMany': 2 });
    const third = await u.unit(['a'], (s) => s.list.update([item(0)]));
    expect(third.writes.map(({ address, value }) => [address.sub, value === undefined])).toEqual([
      ['', false],
      ['0', true],
      ['1', true],
    ]);
    const fourth = await u.unit(['a'], (s) => s.list.clear());
    expect(fourth.writes.map(({ address, value }) => [address.sub, value])).toEqual([['', undefined]]);
  });

  test('a list whose chunks are gone is read again before it is called damaged', async () => {
    const world = new CountedWorld();
    const long = Array.from({ length: 10 }, (_, i) => `${i}`.padStart(1_000, '.'));
    const u = new Unit(world.tableBase());
    await u.unit(['a'], (s) => s.list.addAll(long));
    const delta = await u.run(['a'], (s) => s.list.clear());
    u.commit({ ...delta, writes: delta.writes.filter(({ address }) => address.sub === '0') }); // a defect
    await u.state.flush(u.view);
    const other = new Unit(world.tableBase());
    await expect(other.read('a', (s) => s.list.get())).rejects.toThrow(/list of state list of op lacks chunks/);
  });
});

describe('a unit', () => {
  test('writes each changed address once, and nothing that is as before', async () => {
    const u = new Unit(new CountedWorld().tableBase());
    await u.unit(['a', 'b'], (s) => s.value.update(1));
    const delta = await u.unit(['a', 'b', 'a', 'a'], (s, i) => {
      s.value.update(s.value.value());
      if (i === 2) s.sum.add(5);
      if (i > 1) s.map.put('x', 'y');
    });
    expect(delta.writes.map(({ address: { state, sub } }) => [state, sub])).toEqual([
      ['sum', ''],
      ['map', delta.writes[1]?.address.sub],
    ]);
    expect((await u.unit(['a'], (s) => void readAll(s))).writes).toEqual([]);
  });

  test('that is abandoned leaves no trace, of none of its states', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase(), { hasTimers: true });
    await u.unit(['a'], (s) => {
      s.value.update(1);
      s.list.addAll([1, 2]);
      s.map.put(1, 1);
      s.sum.add(1);
      u.backend.timers.event.register(5, 'a');
    });
    const before = await u.read('a', readAll);
    await u.run(['a', 'new', 'a'], (s) => {
      s.value.clear();
      s.list.add(3);
      s.list.update([...s.list.get(), 4]);
      s.map.put(1, 2);
      s.map.clear();
      s.map.put(2, 2);
      s.sum.add(1);
      u.backend.timers.event.register(6, 'a');
      u.backend.timers.event.takeDue(5);
    });
    u.state.abandonUnit();
    expect(await u.read('a', readAll)).toEqual(before);
    expect(await u.read('new', readAll)).toEqual(empty);
    u.state.beginUnit();
    expect(u.backend.timers.event.size).toBe(1);
    expect(u.state.takeDelta()).toEqual({ writes: [], timers: [] });
  });

  test('an open unit is abandoned when another begins', async () => {
    const u = new Unit(new CountedWorld().tableBase());
    await u.run(['a'], (s) => s.value.update(1));
    expect(await u.read('a', (s) => s.value.value())).toBe(undefined);
  });

  test('operators that are built anew get handles of the same cells, with the functions of the new ones', async () => {
    const u = new Unit(new CountedWorld().tableBase(), { shape: { sum: reducingState<number>((a, b) => a + b) } });
    await u.unit(['a'], (s) => s.sum.add(2));
    await u.unit(['a'], (s) => s.sum.add(3));
    const cells = u.state.createKeyedState({ shape: { sum: reducingState<number>((a, b) => a * b) }, operator: 'op', maxParallelism: 8 });
    u.backend = cells;
    await u.unit(['a'], (s) => s.sum.add(4));
    expect(await u.read('a', (s) => s.sum.get())).toBe(20);
  });
});
