import { describe, expect, test } from 'vitest';
import type { RowBuffer } from '../../../../lib/invocation/state/contract.ts';
import { CountedWorld, Unit } from './support.ts';

const bytes = (n: number): Uint8Array => new Uint8Array([n]);

async function rowUnit<R>(u: Unit, use: (rows: RowBuffer) => R): Promise<R> {
  for (;;) {
    u.state.beginUnit();
    const result = use(u.state.buffer('sink'));
    if (!u.state.isSuspended) {
      u.commit(u.state.takeDelta());
      return result;
    }
    u.state.abandonUnit();
    await u.state.loadMissing();
  }
}

const read = (u: Unit): Promise<number[] | undefined> => rowUnit(u, (rows) => rows.all()?.map((row) => row[0] as number));

describe('rows that wait for a barrier', () => {
  test('are appended knowing only how many there are, and read in order', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    for (let i = 0; i < 12; i++) await rowUnit(u, (rows) => rows.append(bytes(i)));
    expect(world.taken()).toEqual({ 'table.readMany': 1 });
    await u.state.flush(u.view);
    const other = new Unit(world.tableBase());
    world.taken();
    await rowUnit(other, (rows) => rows.append(bytes(12)));
    expect(world.taken()).toEqual({ 'table.readMany': 1 });
    expect(await read(other)).toEqual(Array.from({ length: 13 }, (_, i) => i));
    expect(world.taken()).toEqual({ 'table.readMany': 1 });
  });

  test('are gone together, and what comes afterwards is all there is', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    for (const i of [1, 2, 3]) await rowUnit(u, (rows) => rows.append(bytes(i)));
    await rowUnit(u, (rows) => {
      rows.append(bytes(4));
      rows.clear();
      rows.append(bytes(5));
      expect(rows.all()).toEqual([bytes(5)]);
    });
    expect(await read(u)).toEqual([5]);
    await u.state.flush(u.view);
    expect(await read(new Unit(world.tableBase()))).toEqual([5]);
    await rowUnit(u, (rows) => rows.clear());
    await u.state.flush(u.view);
    expect(await read(new Unit(world.tableBase()))).toEqual([]);
    expect(world.service.table.items().every(({ expiresAtMs }) => expiresAtMs !== undefined)).toBe(true);
  });

  test('of an abandoned unit are not there, and those of another writer are', async () => {
    const u = new Unit(new CountedWorld().tableBase());
    await rowUnit(u, (rows) => rows.append(bytes(1)));
    u.state.beginUnit();
    u.state.buffer('sink').append(bytes(2));
    const delta = u.state.takeDelta();
    u.state.abandonUnit();
    expect(await read(u)).toEqual([1]);
    u.n += 1;
    u.state.catchUp(u.tag, delta);
    expect(await read(u)).toEqual([1, 2]);
  });
});
