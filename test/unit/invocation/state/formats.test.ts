// The stored forms, frozen: what is written here must stay readable.

import { describe, expect, test } from 'vitest';
import { listState, mapState, valueState } from '../../../../lib/api/state.ts';
import { hexOf } from '../../../../lib/core/bytes.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../../lib/invocation/state/snapshot-format.ts';
import {
  changedTimers,
  decodeCell,
  decodeList,
  decodeTimers,
  emptyListLayout,
  encodeCell,
  encodeList,
} from '../../../../lib/invocation/state/value-format.ts';
import { CountedWorld, readAll, type TestHandles, Unit } from './support.ts';

const column = { info: { name: 's', kind: 'value', version: 0 }, migrate: undefined };
const fromHex = (hex: string): Uint8Array => new Uint8Array(hex.match(/../g)?.map((pair) => Number.parseInt(pair, 16)) ?? []);

describe('pieces of keyed state', () => {
  test('have the bytes that they always had', () => {
    expect(hexOf(encodeCell('a', 3))).toBe(golden.value);
    const { head, chunks, layout } = encodeList(['a'.repeat(4_096), 'b'], 2, 0, emptyListLayout);
    expect([hexOf(head), chunks.length, hexOf(chunks[0]?.subarray(0, 8) as Uint8Array)]).toEqual([golden.listHead, 1, golden.listChunk]);
    expect(layout).toEqual({ chunks: 1, chunked: 1 });
    const timers = changedTimers(
      undefined,
      [
        { operator: 'op', domain: 'processing', isSet: true, time: 2, key: 'k', cause: undefined },
        { operator: 'op', domain: 'event', isSet: true, time: -1, key: 'k', cause: 'c' },
      ],
      'op',
    );
    expect(hexOf(timers as Uint8Array)).toBe(golden.timers);
  });

  test('and the snapshot of a subtask, in whatever order its partitions came', () => {
    const pieces = (sub: string): Map<string, Uint8Array> => new Map([[sub, new Uint8Array([7])]]);
    const partitions = (['t', 's'] as const).map(
      (state) => [state, { partition: { operator: 'op', state, key: 'k' }, pieces: pieces(state === 's' ? 'x' : '') }] as const,
    );
    expect(hexOf(encodeSnapshot(new Map(partitions)))).toBe(golden.snapshot);
    expect(new Map(decodeSnapshot(fromHex(golden.snapshot)).map((p) => [p.partition.state, p]))).toEqual(new Map(partitions));
  });

  test('of a newer format, of another layout, and damaged ones are told as such', () => {
    expect(() => decodeCell(new Uint8Array([9, 0, 0]), column, 'op')).toThrow(/state s of op has format 9/);
    expect(() => decodeCell(fromHex(golden.listHead), column, 'op')).toThrow(/state s of op is damaged.*no value/);
    expect(() => decodeCell(fromHex(golden.value).subarray(0, 3), { ...column, info: { ...column.info, version: 3 } }, 'op')).toThrow(
      /damaged/,
    );
    expect(() => decodeList(fromHex(golden.value), [], column, 'op')).toThrow(/no listHead/);
    expect(() => decodeTimers(fromHex(golden.timers).subarray(0, 9), 'op')).toThrow(/timers of op is damaged/);
  });

  test('of an older version of a state are migrated as they are read, in values, lists and maps', async () => {
    const world = new CountedWorld();
    const old = new Unit(world.tableBase(), { shape: { value: valueState(), list: listState(), map: mapState() } });
    const write = (s: TestHandles): void => {
      s.value.update(1);
      s.list.addAll([2, 'x'.repeat(5_000)]);
      s.map.put('k', 3);
    };
    await old.unit(['a'], write);
    await old.state.flush(old.view);
    const options = { version: 2, migrate: (value: unknown, from: number): string => `${from}:${String(value).slice(0, 3)}` };
    const shape = { value: valueState(options), list: listState(options), map: mapState<unknown, unknown>(options) };
    const now = new Unit(world.tableBase(), { shape });
    const read = (s: TestHandles): unknown => [s.value.value(), [...s.list.get()], s.map.get('k')];
    expect(await now.read('a', read)).toEqual(['0:1', ['0:2', '0:xxx'], '0:3']);
    now.n = 5;
    await now.unit(['a'], (s) => s.list.add('new'));
    expect(await now.read('a', read)).toEqual(['0:1', ['0:2', '0:xxx', 'new'], '0:3']);
    await now.state.flush(now.view);
    expect(await new Unit(world.tableBase(), { shape }).read('a', (s) => [...s.list.get()])).toEqual(['0:2', '0:xxx', 'new']);
    const refused = new Unit(world.tableBase(), { shape: { value: valueState({ version: 2 }) } });
    await expect(refused.read('a', (s) => s.value.value())).rejects.toMatchObject({ code: 'STATE_INCOMPATIBLE' });
  });

  test('damaged pieces of one key do not keep other keys from being read', async () => {
    const world = new CountedWorld();
    const u = new Unit(world.tableBase());
    const delta = await u.unit(['a', 'b'], (s) => s.value.update(1));
    u.commit({ writes: [{ address: delta.writes[0]!.address, value: new Uint8Array([1, 0, 255]) }], timers: [] });
    await u.state.flush(u.view);
    const other = new Unit(world.tableBase());
    await expect(other.read('a', readAll)).rejects.toMatchObject({ code: 'DATA_DAMAGED' });
    other.state.abandonUnit();
    expect(await other.read('b', (s) => s.value.value())).toBe(1);
  });
});

const golden = {
  value: '010c8161',
  listHead: '010101018162',
  listChunk: '010201aa80206161',
  timers: '01030101000000000000f0bf016b816302000000000000000040016b',
  snapshot: '010200826f70008173016b010178010701008174016b01000107',
};
