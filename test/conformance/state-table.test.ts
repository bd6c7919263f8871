// The keyed state of the embedded runtime in the versioned table passes the suite of backends: whatever a snapshot holds goes into pieces of the table and
// comes back from them. What the table makes of checkpoints, restores and processes that were left behind is below.
import { describe, expect, test } from 'vitest';
import { KeyedTable, undoneBy, withRestore } from '../../lib/adapters/aws/state/keyed-table.ts';
import { groupsOf, type Piece, piecesOf } from '../../lib/adapters/aws/state/pieces.ts';
import type { KeyedTableHandle } from '../../lib/checkpoint/handles.ts';
import type { KeyGroupSnapshot, StateInfo } from '../../lib/checkpoint/snapshot.ts';
import { normalizeKey } from '../../lib/core/key-codec.ts';
import { type ListState, listState, type MapState, mapState, type ValueState, valueState } from '../../lib/index.ts';
import { addressText } from '../../lib/invocation/address.ts';
import type { ItemAddress, JobItems, ObjectStore, StateItem, StatePut, StateTable } from '../../lib/invocation/ports.ts';
import { addressKey } from '../../lib/invocation/request-limits.ts';
import { HeapState } from '../../lib/state/heap/heap-state.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { stateBackendSuite } from '../../lib/testing/suites/state-backend-suite.ts';

class ThroughPieces extends HeapState {
  override startSnapshot(): ReturnType<HeapState['startSnapshot']> {
    const running = super.startSnapshot();
    const groups = (): readonly KeyGroupSnapshot[] => {
      const pieces = new Map<string, Piece>();
      for (const piece of piecesOf(this.operator, this.states, running.groups())) {
        expect(pieces.has(addressText(piece.address))).toBe(false);
        pieces.set(addressText(piece.address), piece);
      }
      return groupsOf(this.operator, this.states, pieces.values(), this.maxParallelism);
    };
    return { advance: (entries) => running.advance(entries), groups, cancel: () => running.cancel() };
  }
}

stateBackendSuite('heap through pieces of the versioned table', { describe, test }, async () => ({
  create: (request) => new ThroughPieces(request),
}));

const shape = { total: valueState<number>(), seen: listState<string>(), byKind: mapState<string, number>() };
const groups = { first: 0, last: 127 };
const clock = { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };

/** A table by its condition, with what a run over it needs. */
class World {
  readonly items = new Map<string, StatePut>();
  readonly small = new Map<string, { readonly bytes: Uint8Array; readonly revision: number }>();
  puts = 0;

  open(job = 'shop'): KeyedTable {
    const world = this;
    const table: StateTable = {
      readMany: (addresses: readonly ItemAddress[]) =>
        Promise.resolve({ items: addresses.flatMap((address) => this.items.get(addressKey(address)) ?? []), left: [] }),
      readPartition: () => Promise.reject(new Error('nobody asks')),
      putMany: (puts) => {
        world.puts += puts.length;
        return Promise.resolve(puts.map((put) => world.#put(put)));
      },
    };
    const items = {
      get: (name: string) => Promise.resolve(this.small.has(name) ? { name, change: '', ...this.small.get(name)! } : undefined),
      put: ({ name, content, expects }: Parameters<JobItems['put']>[0]) => {
        const held = this.small.get(name);
        if ((held?.revision ?? 'absent') !== expects) return Promise.resolve({ kind: 'conflict' });
        this.small.set(name, { bytes: content.bytes, revision: (held?.revision ?? 0) + 1 });
        return Promise.resolve({ kind: 'stored', revision: (held?.revision ?? 0) + 1 });
      },
    } as unknown as JobItems;
    const objects = new Map<string, Uint8Array>();
    const store = {
      get: (name: string) => Promise.resolve(objects.get(name)),
      putIfAbsent: (name: string, bytes: Uint8Array) => {
        if (objects.has(name)) return Promise.resolve('exists');
        objects.set(name, bytes);
        return Promise.resolve('stored');
      },
      list: () => Promise.resolve([]),
    } as unknown as ObjectStore;
    async function* scan(): AsyncGenerator<StateItem> {
      yield* world.items.values();
    }
    return new KeyedTable({
      job,
      name: 'state',
      table,
      items,
      objects: store,
      scan,
      patience: { clock, random: seededRandom(1) },
      close: () => undefined,
    });
  }

  #put(put: StatePut): 'stored' | 'conflict' {
    const held = this.items.get(addressKey(put.address));
    if ((held?.tags ?? 'absent') !== put.expects) return 'conflict';
    this.items.set(addressKey(put.address), put);
    return 'stored';
  }
}

function heap(): HeapState {
  return new HeapState({ shape, operator: 'count', maxParallelism: 128 });
}

function change(state: HeapState, key: string, by: number): void {
  state.selectKey(normalizeKey(key));
  const { total, seen, byKind } = state.handles as { total: ValueState<number>; seen: ListState<string>; byKind: MapState<string, number> };
  if (by % 5 === 0) {
    total.clear();
    byKind.clear();
    seen.clear();
  } else {
    total.update((total.value() ?? 0) + by);
    seen.add(`${by}`.repeat(by % 7 === 0 ? 9_000 : 1));
    byKind.put(`k${by % 3}`, by);
    if (by % 4 === 0) byKind.remove('k1');
  }
  state.timers.event.register(by, normalizeKey(key));
  state.endBatch();
}

function snapshotOf(state: HeapState): { readonly states: readonly StateInfo[]; readonly groups: readonly KeyGroupSnapshot[] } {
  const running = state.startSnapshot();
  while (!running.advance(1_000));
  return { states: state.states, groups: running.groups() };
}

/** Whatever order keys were met in. */
function told(keyed: readonly KeyGroupSnapshot[], states: readonly StateInfo[]): unknown {
  const pieces = [...piecesOf('count', states, keyed)].map(({ address, bytes }) => [
    addressText(address),
    Buffer.from(bytes).toString('hex'),
  ]);
  return pieces.sort(([a], [b]) => (a! < b! ? -1 : 1));
}

async function load(
  table: KeyedTable,
  from: { readonly handle: KeyedTableHandle; readonly checkpoint: number } | undefined,
  states: readonly StateInfo[],
) {
  await table.load(from);
  return table.read({ uid: 'count', subtask: 0, states, groups, maxParallelism: 128 });
}

describe('checkpoints in a table', () => {
  test('each of those that are retained comes back as it was, whatever was stored since, by any number of attempts', async () => {
    for (let seed = 1; seed <= 8; seed++) {
      const random = seededRandom(seed);
      const world = new World();
      let table = world.open();
      let state = heap();
      await load(table, undefined, state.states);
      await table.begin();
      const kept = new Map<number, { readonly handle: KeyedTableHandle; readonly told: unknown }>();
      for (let checkpoint = 1; checkpoint <= 25; checkpoint++) {
        for (let i = random.between(0, 12); i > 0; i--) change(state, `u${random.between(0, 9)}`, random.between(1, 40));
        const keyed = snapshotOf(state);
        const handle = await table.store({ uid: 'count', subtask: 0, checkpoint, keyed, points: [...kept.keys()] });
        // An aborted checkpoint is stored and not kept.
        if (random.chance(0.8)) kept.set(checkpoint, { handle, told: told(keyed.groups, keyed.states) });
        if (kept.size > 3) kept.delete(Math.min(...kept.keys()));
        if (kept.size === 0 || !random.chance(0.3)) continue;
        const back = random.pick([...kept.keys()]);
        table = world.open();
        state = heap();
        const { handle: from, told: expected } = kept.get(back)!;
        const own = await load(table, { handle: from, checkpoint: back }, state.states);
        expect(told(own, state.states)).toEqual(expected);
        state.restore(state.states, own);
        await table.begin();
        for (const other of kept.keys()) if (other > back) kept.delete(other);
      }
    }
  });

  test('a checkpoint writes what has changed and nothing else', async () => {
    const world = new World();
    const table = world.open();
    const state = heap();
    await load(table, undefined, state.states);
    await table.begin();
    for (let i = 0; i < 100; i++) change(state, `u${i}`, 1);
    await table.store({ uid: 'count', subtask: 0, checkpoint: 1, keyed: snapshotOf(state), points: [] });
    const first = world.puts;
    await table.store({ uid: 'count', subtask: 0, checkpoint: 2, keyed: snapshotOf(state), points: [1] });
    expect(world.puts).toBe(first);
    change(state, 'u7', 2);
    const handle = await table.store({ uid: 'count', subtask: 0, checkpoint: 3, keyed: snapshotOf(state), points: [2] });
    expect(world.puts - first).toBe(4); // a value, the head of a list, an entry of a map, the timers of a key group
    const again = world.open();
    state.restore(state.states, []);
    await load(again, { handle, checkpoint: 3 }, state.states);
    await again.begin();
    await again.store({ uid: 'count', subtask: 0, checkpoint: 4, keyed: snapshotOf(state), points: [3] });
    expect(world.puts - first).toBe(4);
  });

  test('what a process that was left behind still stores is not seen, and it is told', async () => {
    const world = new World();
    const old = world.open();
    const state = heap();
    await load(old, undefined, state.states);
    await old.begin();
    change(state, 'a', 1);
    const keyed = snapshotOf(state);
    const handle = await old.store({ uid: 'count', subtask: 0, checkpoint: 1, keyed, points: [] });
    const table = world.open();
    await load(table, { handle, checkpoint: 1 }, state.states);
    await table.begin();
    change(state, 'a', 7);
    await expect(old.store({ uid: 'count', subtask: 0, checkpoint: 2, keyed: snapshotOf(state), points: [1] })).rejects.toMatchObject({
      code: 'OWNER_LOST',
    });
    await expect(old.begin()).rejects.toMatchObject({ code: 'OWNER_LOST' });
    const third = world.open();
    expect(told(await load(third, { handle, checkpoint: 1 }, state.states), state.states)).toEqual(told(keyed.groups, keyed.states));
  });

  test('a checkpoint that the table has forgotten, another job and another table are told', async () => {
    const world = new World();
    const table = world.open();
    const state = heap();
    await load(table, undefined, state.states);
    await table.begin();
    change(state, 'a', 1);
    const handle = await table.store({ uid: 'count', subtask: 0, checkpoint: 1, keyed: snapshotOf(state), points: [] });
    await expect(world.open('other').load(undefined)).rejects.toMatchObject({
      code: 'CHECKPOINT_OF_ANOTHER_JOB',
      message: expect.stringContaining("job 'shop'"),
    });
    await expect(world.open().load({ handle: { ...handle, table: 'elsewhere' }, checkpoint: 1 })).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
    });
    const fresh = world.open();
    await fresh.load(undefined);
    await fresh.begin();
    await expect(world.open().load({ handle, checkpoint: 1 })).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
      message: expect.stringContaining('was started from the beginning since'),
    });
  });

  test('checkpoints of a subtask come in order', async () => {
    const table = new World().open();
    const state = heap();
    await load(table, undefined, state.states);
    await table.begin();
    await table.store({ uid: 'count', subtask: 0, checkpoint: 2, keyed: snapshotOf(state), points: [] });
    await expect(table.store({ uid: 'count', subtask: 0, checkpoint: 1, keyed: snapshotOf(state), points: [] })).rejects.toMatchObject({
      code: 'CHECKPOINT_GIVEN_UP',
    });
  });

  test('restores that a later one goes back behind are forgotten, and undo the same', () => {
    let restores = withRestore([], { generation: 1, checkpoint: 0 });
    for (let generation = 2; generation < 50; generation++) restores = withRestore(restores, { generation, checkpoint: 7 });
    expect(restores).toEqual([
      { generation: 1, checkpoint: 0 },
      { generation: 49, checkpoint: 7 },
    ]);
    const of = (generation: number): KeyedTableHandle => ({ table: 'state', generation, isEmpty: false });
    expect(undoneBy(restores, of(1), 7)).toBeUndefined();
    expect(undoneBy(restores, of(3), 8)).toEqual({ generation: 49, checkpoint: 7 });
  });
});
