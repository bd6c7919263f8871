import { describe, expect, test } from 'vitest';
import { CountedWorld, empty, readAll, Unit } from './support.ts';

describe('keyed state of a subtask over the table', () => {
  test('a key that nobody wrote is loaded once, and is known to be empty afterwards', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    expect(await u.read('a', (s) => [s.value.value(), s.list.get().length, s.sum.get()])).toEqual([undefined, 0, undefined]);
    expect(u.suspensions).toBe(1);
    expect(world.taken()).toEqual({ 'table.readMany': 1 });
    await u.unit(['a'], (s) => s.value.update(1));
    expect(u.suspensions).toBe(0);
    expect(world.taken()).toEqual({});
  });

  test('what one environment committed and flushed another reads', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(['a', 'b'], (s, i) => {
      s.value.update({ i });
      s.list.addAll([i, i + 1]);
      s.map.put('x', i);
      s.map.put('y', undefined);
      s.sum.add(i);
    });
    expect(await u.state.flush(u.view)).toEqual({ kind: 'flushed', snapshot: undefined });
    expect(u.state.unflushed).toBe(0);
    const other = new Unit(world.tableBase());
    expect(await other.read('b', readAll)).toEqual({
      value: { i: 1 },
      list: [1, 2],
      map: [
        ['x', 1],
        ['y', undefined],
      ],
      sum: 1,
    });
    expect(await other.read('c', readAll)).toEqual(empty);
    expect(await u.read('a', readAll)).toEqual({
      value: { i: 0 },
      list: [0, 1],
      map: [
        ['x', 0],
        ['y', undefined],
      ],
      sum: 0,
    });
  });
});
