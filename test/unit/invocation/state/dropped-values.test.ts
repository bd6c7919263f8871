import { describe, expect, test } from 'vitest';
import { tombstoneLifeMs } from '../../../../lib/invocation/limits.ts';
import { droppedPrefix, removeDropped } from '../../../../lib/invocation/state/dropped-values.ts';
import { CountedWorld, Unit } from './support.ts';

const large = (fill: number): Uint8Array => new Uint8Array(100_000).fill(fill);

async function written(world: CountedWorld, u: Unit, fill: number): Promise<void> {
  await u.unit(['a'], (s) => s.value.update(large(fill)));
  await u.state.flush(u.view);
}

const objects = (world: CountedWorld): Promise<readonly string[]> => world.ports().objects.list('state/');
const notes = (world: CountedWorld): Promise<readonly string[]> => world.ports().objects.list(droppedPrefix);

describe('the object of a large value', () => {
  test('goes a day after no version holds it any more, and not before', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    for (const fill of [1, 2, 3]) await written(world, u, fill);
    expect((await objects(world)).length).toBe(3);
    expect((await notes(world)).length).toBe(2);
    world.nowMs += tombstoneLifeMs;
    await removeDropped(world.ports(), world.patience);
    expect((await objects(world)).length).toBe(3);
    world.nowMs += 1;
    await removeDropped(world.ports(), world.patience);
    expect((await objects(world)).length).toBe(1);
    expect(await notes(world)).toEqual([]);
    expect(await new Unit(world.tableBase()).read('a', (s) => s.value.value())).toEqual(large(3));
  });

  test('stays as long as a restore may go back to it', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await u.unit(['a'], (s) => s.value.update(large(1)));
    await u.state.flush(u.view);
    u.epoch = 2;
    await u.unit(['a'], (s) => s.value.update(large(2)));
    await u.state.flush({ ...u.view, points: [1] });
    world.nowMs += tombstoneLifeMs + 1;
    await removeDropped(world.ports(), world.patience);
    expect((await objects(world)).length).toBe(2);
    const view = { generation: 1, restores: [{ generation: 1, checkpoint: 1 }] };
    expect(await new Unit(world.tableBase(view)).read('a', (s) => s.value.value())).toEqual(large(1));
  });

  test('stays when the put that was to drop it did not happen, and goes when a later one does', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    await written(world, u, 1);
    world.failing = 'table.putMany';
    await u.unit(['a'], (s) => s.value.update(large(2)));
    await expect(u.state.flush(u.view)).rejects.toThrow();
    world.failing = undefined;
    world.nowMs += tombstoneLifeMs + 1;
    await removeDropped(world.ports(), world.patience);
    expect(await new Unit(world.tableBase()).read('a', (s) => s.value.value())).toEqual(large(1));
    await written(world, u, 3);
    world.nowMs += tombstoneLifeMs + 1;
    await removeDropped(world.ports(), world.patience);
    expect(await new Unit(world.tableBase()).read('a', (s) => s.value.value())).toEqual(large(3));
    expect((await world.ports().objects.list('state/')).length).toBeLessThanOrEqual(2);
    expect(await notes(world)).toEqual([]);
  });
});
