import { describe, expect, test } from 'vitest';
import { CountedWorld, readAll, Unit } from './support.ts';

describe('state over snapshots', () => {
  test('nothing is loaded before it is touched, and one read gives everything', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.snapshotBase());
    await u.unit(['a', 'b'], (s, i) => {
      s.value.update(i);
      s.list.addAll([1, 2]);
      s.map.put('x', i);
    });
    expect(world.taken()).toEqual({});
    const flushed = await u.state.flush(u.view);
    expect(flushed).toEqual({ kind: 'flushed', snapshot: 'snapshot/0/1-0/1', through: undefined });
    expect(world.taken()).toEqual({ 'objects.putIfAbsent': 1 });
    const other = new Unit(world.snapshotBase('snapshot/0/1-0/1'));
    expect(world.taken()).toEqual({});
    expect(await other.read('b', readAll)).toEqual({ value: 1, list: [1, 2], map: [['x', 1]], sum: undefined });
    expect(other.suspensions).toBe(1);
    expect(world.taken()).toEqual({ 'objects.get': 1 });
  });

  test('two writers of one entry write the same bytes, in whatever order things were written', async () => {
    const world = new CountedWorld();
    const bytes: unknown[] = [];
    for (const keys of [
      ['a', 'b', 'c'],
      ['c', 'a', 'b'],
    ]) {
      const u = new Unit(world.snapshotBase());
      await u.unit(keys, (s) => s.value.update(1));
      await u.unit(keys.toReversed(), (s) => s.map.put(1, 1));
      const { snapshot } = (await u.state.flush(u.view)) as { snapshot: string };
      bytes.push(world.service.objects.get(snapshot));
      world.service.objects.remove(snapshot);
    }
    expect(bytes[0]).toEqual(bytes[1]);
  });

  test('the snapshot of a barrier is everything committed, and makes the next flush free', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.snapshotBase());
    await u.unit(['a'], (s) => s.value.update(1));
    expect(await u.state.snapshotAtBarrier('snapshot/0/1-0/9')).toBe('snapshot/0/1-0/9');
    expect(u.state.unflushed).toBe(0);
    world.taken();
    expect(await u.state.flush(u.view)).toEqual({ kind: 'flushed', snapshot: 'snapshot/0/1-0/9', through: undefined });
    expect(world.taken()).toEqual({});
    expect(await new Unit(world.snapshotBase('snapshot/0/1-0/9')).read('a', (s) => s.value.value())).toBe(1);
    expect(await new Unit(world.tableBase()).state.snapshotAtBarrier('x')).toBe(undefined);
  });

  test('a snapshot that could not be written has changed nothing', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.snapshotBase());
    await u.unit(['a'], (s) => s.value.update(1));
    world.failing = 'objects.putIfAbsent';
    await expect(u.state.flush(u.view)).rejects.toThrow('failed');
    expect(u.state.unflushed).toBe(1);
    world.failing = undefined;
    expect((await u.state.flush(u.view)).kind).toBe('flushed');
    expect(await u.read('a', (s) => s.value.value())).toBe(1);
  });

  test('keys without state, and entries that are gone, are not in it', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.snapshotBase());
    await u.unit(['a', 'b'], (s) => {
      s.value.update(1);
      s.map.put(1, 1);
    });
    await u.unit(['a', 'b'], (s) => {
      s.value.clear();
      s.map.clear();
    });
    expect(u.state.residentKeys).toBe(0);
    await u.state.snapshotAtBarrier('after');
    await new Unit(world.snapshotBase()).state.snapshotAtBarrier('empty');
    expect(world.service.objects.get('after')).toEqual(world.service.objects.get('empty'));
  });

  test('an object that is gone, damaged or newer is told as such', async () => {
    const world = new CountedWorld();
    const read = (name: string): Promise<unknown> => new Unit(world.snapshotBase(name)).read('a', readAll);
    await expect(read('none')).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
    world.service.objects.putIfAbsent('newer', new Uint8Array([200, 0]));
    await expect(read('newer')).rejects.toMatchObject({ code: 'FORMAT_NEWER' });
    world.service.objects.putIfAbsent('damaged', new Uint8Array([1, 5, 0]));
    await expect(read('damaged')).rejects.toMatchObject({ code: 'DATA_DAMAGED' });
  });
});

describe('the bound of the memory backend', () => {
  test('refuses the unit that would exceed it, by the names of operator and state, and lets others go on', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.snapshotBase(undefined, 1_000));
    await u.unit(['a'], (s) => s.value.update('x'.repeat(600)));
    await expect(u.run(['b'], (s) => s.value.update('x'.repeat(600)))).rejects.toThrow(
      /state value of operator op .*limit of the memory backend is 1000 bytes/,
    );
    u.state.abandonUnit();
    await u.unit(['a'], (s) => s.value.update('x'.repeat(700)));
    await u.unit(['a'], (s) => s.value.clear());
    await u.unit(['b'], (s) => s.value.update('x'.repeat(900)));
    await u.state.flush(u.view);
    await expect(u.run(['c'], (s) => s.list.add('x'.repeat(600)))).rejects.toMatchObject({ code: 'STATE_TOO_LARGE' });
  });

  test('counts what a snapshot holds and what was committed since', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.snapshotBase(undefined, 1_000));
    await u.unit(['a'], (s) => s.value.update('x'.repeat(500)));
    await u.state.flush(u.view);
    const second = await u.unit(['b'], (s) => s.value.update('x'.repeat(300)));
    const other = new Unit(world.snapshotBase('snapshot/0/1-0/1', 1_000));
    other.state.catchUp(u.tag, second);
    await expect(other.run(['c'], (s) => s.value.update('x'.repeat(300)))).rejects.toMatchObject({ code: 'STATE_TOO_LARGE' });
    other.state.abandonUnit();
    await other.unit(['c'], (s) => s.value.update('x'.repeat(100)));
    const smaller = new Unit(world.snapshotBase('snapshot/0/1-0/1', 100));
    smaller.state.catchUp(u.tag, second);
    await expect(smaller.state.flush(smaller.view)).rejects.toMatchObject({ code: 'STATE_TOO_LARGE' });
  });
});
