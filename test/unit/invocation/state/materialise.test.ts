import { describe, expect, test } from 'vitest';
import { SluiceError } from '../../../../lib/core/errors.ts';
import { tombstoneLifeMs } from '../../../../lib/invocation/limits.ts';
import type { StatePut } from '../../../../lib/invocation/ports.ts';
import { decodeItem, encodeItem } from '../../../../lib/invocation/versions.ts';
import { CountedWorld, readAll, Unit } from './support.ts';

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `k${i}`);
const tagsOf = (world: CountedWorld): string[] => world.service.table.items().map(({ tags }) => tags);

describe('materialising into the table', () => {
  test('reads a hundred items a call and puts twenty-five, each address once however often it was written', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    for (let i = 0; i < 5; i++) await u.unit(names(150), (s) => s.value.update(i));
    expect(u.state.unflushed).toBe(150);
    world.taken();
    await u.state.flush(u.view);
    expect(world.taken()).toEqual({ 'table.readMany': 2, 'table.putMany': 6 });
    expect(tagsOf(world)).toEqual(names(150).map(() => '0.1.5'));
    expect(await u.state.flush(u.view)).toEqual({ kind: 'flushed', snapshot: undefined, through: undefined });
    expect(world.taken()).toEqual({});
  });

  test('keeps the version of each epoch that a restore may go to', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    for (let epoch = 1; epoch <= 4; epoch++) {
      u.epoch = epoch;
      await u.unit(['a'], (s) => s.value.update(epoch));
    }
    await u.state.flush({ ...u.view, points: [2] });
    expect(tagsOf(world)).toEqual(['0.4.4,0.2.2']);
    const view = { generation: 1, restores: [{ generation: 1, checkpoint: 2 }] };
    expect(await new Unit(world.tableBase(view)).read('a', (s) => s.value.value())).toBe(2);
    expect(await new Unit(world.tableBase()).read('a', (s) => s.value.value())).toBe(4);
  });

  test('up to an entry, it stores what was not written again since, and nothing of the others', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(['often', 'once'], (s) => s.value.update('first'));
    await u.unit(['often', 'late'], (s) => s.value.update('second'));
    expect(await u.state.flush(u.view, 1)).toEqual({ kind: 'flushed', snapshot: undefined, through: 1 });
    expect(tagsOf(world)).toEqual(['0.1.1']);
    expect(u.state.unflushed).toBe(2);
    await u.state.flush(u.view);
    expect(tagsOf(world).sort()).toEqual(['0.1.1', '0.1.2', '0.1.2']);
  });

  test('up to an entry, it stores what a restore may go back to, although it was written again since', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    for (let epoch = 1; epoch <= 4; epoch++) {
      u.epoch = epoch;
      await u.unit(['a'], (s) => s.value.update(epoch));
    }
    await u.state.flush({ ...u.view, points: [3] }, 2);
    expect(tagsOf(world)).toEqual([]);
    await u.state.flush({ ...u.view, points: [3] }, 3);
    expect(tagsOf(world)).toEqual(['0.4.4,0.3.3']);
    await u.unit(['b'], (s) => s.value.update('b'));
    expect(await u.read('a', (s) => s.value.value())).toBe(4);
  });

  test('a writer that slept does not undo what came after it', async () => {
    const world = new CountedWorld();
    const sleeper = new Unit(world.tableBase());
    const other = new Unit(world.tableBase());
    const first = await sleeper.unit(['a'], (s) => s.value.update('old'));
    other.state.catchUp(sleeper.tag, first);
    other.n = 1;
    await other.unit(['a'], (s) => s.value.update('new'));
    await other.state.flush(other.view);
    expect(await sleeper.state.flush(sleeper.view)).toEqual({ kind: 'flushed', snapshot: undefined, through: undefined });
    expect(tagsOf(world)).toEqual(['0.1.2']);
    expect(await new Unit(world.tableBase()).read('a', (s) => s.value.value())).toBe('new');
  });

  test('a put that lost reads again and merges, and who always loses leaves the rest unflushed', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(['a', 'b'], (s) => s.value.update('u'));
    const { table } = world.service;
    const putMany = table.putMany.bind(table);
    let losses = 2;
    let rival = 0;
    table.putMany = (puts) => {
      const [{ address, expects }] = puts as [StatePut];
      if (losses > 0) {
        losses -= 1;
        rival += 1;
        const theirs = encodeItem([{ generation: 0, epoch: 0, n: rival, value: new Uint8Array([rival]), object: undefined }]);
        expect(putMany([{ address, expects, ...theirs }])).toEqual(['stored']);
      }
      return putMany(puts);
    };
    expect((await u.state.flush(u.view)).kind).toBe('flushed');
    expect([rival, ...tagsOf(world)]).toEqual([2, '0.1.1', '0.1.1']);
    await u.unit(['a', 'b'], (s) => s.value.update('again'));
    losses = 5;
    expect(await u.state.flush(u.view)).toEqual({ kind: 'incomplete' });
    expect(u.state.unflushed).toBe(1);
    expect((await u.state.flush(u.view)).kind).toBe('flushed');
    expect(tagsOf(world)).toEqual(['0.1.2', '0.1.2']);
  });

  test('a store that gives up leaves the flush incomplete; what was stored is not stored again', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(names(60), (s, i) => s.value.update(i));
    const { putMany } = world.service.table;
    let calls = 0;
    world.service.table.putMany = (puts) => {
      calls += 1;
      if (calls === 2) throw new SluiceError('STORE_THROTTLED', { message: 'enough', next: 'retry-invocation' });
      return putMany.call(world.service.table, puts);
    };
    expect(await u.state.flush(u.view)).toEqual({ kind: 'incomplete' });
    expect(world.service.table.items().length).toBe(25);
    world.taken();
    expect((await u.state.flush(u.view)).kind).toBe('flushed');
    expect(world.taken()).toEqual({ 'table.readMany': 1, 'table.putMany': 2 });
    expect(await new Unit(world.tableBase()).read('k59', (s) => s.value.value())).toBe(59);
  });

  test('what is committed while it is on its way stays unflushed', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(['a'], (s) => s.value.update(1));
    const delta = await u.run(['a'], (s) => s.value.update(2));
    const flushing = u.state.flush(u.view);
    u.commit(delta);
    expect((await flushing).kind).toBe('flushed');
    expect(u.state.unflushed).toBe(1);
    expect(await new Unit(world.tableBase()).read('a', (s) => s.value.value())).toBe(1);
    await u.state.flush(u.view);
    expect(await new Unit(world.tableBase()).read('a', (s) => s.value.value())).toBe(2);
  });

  test('what is gone leaves a tombstone that the store may remove after a day', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(['a'], (s) => s.map.put(1, 1));
    await u.state.flush(u.view);
    await u.unit(['a'], (s) => s.map.remove(1));
    await u.state.flush(u.view);
    expect(world.service.table.items().map(({ expiresAtMs }) => expiresAtMs)).toEqual([world.nowMs + tombstoneLifeMs]);
    expect(await new Unit(world.tableBase()).read('a', readAll)).toMatchObject({ map: [] });
    await u.unit(['a'], (s) => s.map.put(1, 2));
    await u.state.flush(u.view);
    expect(world.service.table.items().map(({ expiresAtMs }) => expiresAtMs)).toEqual([undefined]);
  });

  test('large values lie in objects, each version in its own, and are read from there', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    for (let i = 0; i < 3; i++) {
      await u.unit(['a'], (s) => s.value.update(`${i}`.repeat(40_000)));
      await u.state.flush(u.view);
    }
    const [item] = world.service.table.items();
    const [version] = decodeItem(item?.bytes as Uint8Array);
    expect(version?.value).toBe(undefined);
    expect(version?.object).toMatch(/^state\/[0-9a-f]{64}\/0\.1\.3$/);
    expect(await new Unit(world.tableBase()).read('a', (s) => s.value.value())).toBe('2'.repeat(40_000));
    world.service.objects.remove(version?.object as string);
    await expect(new Unit(world.tableBase()).read('a', (s) => s.value.value())).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
  });

  test('several versions that are large together leave the item one by one', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    for (let epoch = 1; epoch <= 3; epoch++) {
      u.epoch = epoch;
      await u.unit(['a'], (s) => s.value.update(`${epoch}`.repeat(10_000 + epoch)));
    }
    await u.state.flush({ ...u.view, points: [1, 2] });
    expect(world.service.objects.list('')).toEqual([]);
    u.epoch = 4;
    await u.unit(['a'], (s) => s.value.update('4'.repeat(9_000)));
    await u.state.flush({ ...u.view, points: [1, 2, 3] });
    expect(world.service.objects.list('').map((name) => name.split('/')[2])).toEqual(['0.3.3']);
    const view = { generation: 1, restores: [{ generation: 1, checkpoint: 3 }] };
    expect(await new Unit(world.tableBase(view)).read('a', (s) => s.value.value())).toBe('3'.repeat(10_003));
  });

  test('a value over the bound is refused before it is committed, and so is a key that no item can be named by', async () => {
    const u = new Unit(new CountedWorld().tableBase());
    await expect(u.run(['a'], (s) => s.value.update('x'.repeat(17 * 1_024 * 1_024)))).rejects.toThrow(
      /state value of op .*more than the 16 MiB/,
    );
    u.state.abandonUnit();
    await expect(u.run(['a'], (s) => s.map.put('x'.repeat(2_000), 1))).rejects.toMatchObject({ code: 'STATE_TOO_LARGE' });
    u.state.abandonUnit();
    await expect(u.run(['y'.repeat(3_000), 'a'], (s) => s.value.update(1))).rejects.toMatchObject({ code: 'STATE_TOO_LARGE' });
    u.state.abandonUnit();
    expect(await u.read('a', (s) => s.value.value())).toBe(undefined);
  });

  test('pieces that belong to no operator are kept, listed and read like any other', async () => {
    const u = new Unit(new CountedWorld().tableBase());
    const letter = (sub: string, value: Uint8Array | undefined) => ({
      address: { operator: '#dead-letters', state: 's', key: '', sub },
      value,
    });
    const partition = { operator: '#dead-letters', state: 's', key: '' };
    u.commit({ writes: [letter('1', new Uint8Array([1])), letter('2', new Uint8Array([2]))], timers: [] });
    await u.state.flush(u.view);
    u.commit({ writes: [letter('1', undefined), letter('0', new Uint8Array([7]))], timers: [] });
    expect(await u.state.list(partition)).toEqual([
      ['0', new Uint8Array([7])],
      ['2', new Uint8Array([2])],
    ]);
    expect(await u.state.read({ ...partition, sub: '1' })).toBe(undefined);
    expect(await u.state.read({ ...partition, sub: '2' })).toEqual(new Uint8Array([2]));
  });
});
