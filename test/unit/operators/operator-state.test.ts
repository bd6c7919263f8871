// Operator state: what code asks for by name, what a checkpoint holds of it, and what is carried although nobody asks.

import { describe, expect, test } from 'vitest';
import type { Collector, InitializeContext } from '../../../lib/api/functions.ts';
import type { OperatorListSnapshot, OperatorRestore } from '../../../lib/checkpoint/snapshot.ts';
import { collect } from '../../../lib/connectors/sinks/collect.ts';
import { decodeValue } from '../../../lib/core/value-codec.ts';
import { count } from '../../../lib/operators/aggregates.ts';
import { OperatorState } from '../../../lib/operators/operator-state.ts';
import { batchOf, finished, given, hostOf, planOf, restoreFrom } from '../../support/hosts.ts';

function restoreOf(lists: readonly OperatorListSnapshot[]): OperatorRestore {
  return { uid: 'op', lists, keyed: [], sinkStates: [], accumulators: [] };
}

/** In the order of names, decoded. */
function readable(lists: readonly OperatorListSnapshot[]): unknown {
  return Object.fromEntries(lists.map(({ name, redistribution, elements }) => [name, [redistribution, ...elements.map(decodeValue)]]));
}

describe('list state', () => {
  test('is given back as it was, element by element', () => {
    const values = [undefined, null, -0, 5n, 'x', { a: new Map([[1, new Set([2])]]) }, new Date(5), new Uint8Array([1])];
    const before = new OperatorState('op', 0, undefined);
    before.list('l', 'split').addAll(values);
    const after = new OperatorState('op', 0, restoreOf(before.snapshot()));
    expect(after.list('l', 'split').get()).toStrictEqual(values);
    expect(after.snapshot()).toEqual(before.snapshot());
  });

  test('owns its values, and what was read cannot be changed', () => {
    const state = new OperatorState('op', 0, undefined).list('l', 'union');
    const row = { n: [1], m: new Map([['a', 1]]) };
    state.add(row);
    row.n.push(2);
    const read = state.get()[0] as typeof row;
    expect(() => read.n.push(3)).toThrow(TypeError);
    read.m.set('b', 2);
    expect(state.get()).toEqual([{ n: [1], m: new Map([['a', 1]]) }]);
    expect(() => (state.get() as unknown[]).push(1)).toThrow(TypeError);
    expect(() => state.add(() => {})).toThrow(/state l of op/);
    state.update([1, 2]);
    expect(state.get()).toEqual([1, 2]);
    state.clear();
    expect(state.get()).toEqual([]);
  });

  test('an update with what cannot be stored leaves the list as it was', () => {
    const state = new OperatorState('op', 0, undefined).list('l', 'split');
    state.addAll([1, 2]);
    expect(() => state.update([3, Symbol('s')])).toThrow(/state l of op/);
    expect(state.get()).toEqual([1, 2]);
    expect(() => state.addAll([3, Symbol('s')])).toThrow(/state l of op/);
    expect(state.get()).toEqual([1, 2]);
  });

  test('a name stands for one state of one form', () => {
    const state = new OperatorState('op', 0, undefined);
    expect(state.list('l', 'split')).toBe(state.list('l', 'split'));
    expect(() => state.list('l', 'union')).toThrow(expect.objectContaining({ code: 'STATE_KIND_CHANGED' }));
    expect(() => state.broadcast('l')).toThrow(/l of op is split state and was asked for as broadcast state/);
    const restored = new OperatorState('op', 0, restoreOf(state.snapshot()));
    expect(() => restored.list('l', 'union')).toThrow(/l of op is split state/);
  });

  test('O2: what nobody asks for is carried on; whole lists by the first subtask only, or they would grow with each restore', () => {
    const before = new OperatorState('op', 0, undefined);
    before.list('s', 'split').addAll([1]);
    before.list('u', 'union').addAll([2]);
    before.broadcast('b').put('k', 3);
    const lists = before.snapshot();
    expect(readable(new OperatorState('op', 0, restoreOf(lists)).snapshot())).toEqual(readable(lists));
    expect(readable(new OperatorState('op', 1, restoreOf(lists)).snapshot())).toEqual({ s: ['split', 1] });
  });
});

describe('broadcast state', () => {
  test('is a map in the order of its keys, and iterates over what was there when the iteration was asked for', () => {
    const state = new OperatorState('op', 0, undefined).broadcast('b');
    expect(state.isEmpty()).toBe(true);
    state.putAll([
      ['b', 1],
      ['__proto__', 2],
      [3, undefined],
    ]);
    expect([...state.entries()]).toEqual([
      [3, undefined],
      ['__proto__', 2],
      ['b', 1],
    ]);
    const keys = state.keys();
    state.put('a', 0);
    state.remove('b');
    expect([...keys]).toEqual([3, '__proto__', 'b']);
    expect([...state.values()]).toEqual([undefined, 2, 0]);
    expect([state.has(3), state.get(3), state.has('b'), state.get('b')]).toEqual([true, undefined, false, undefined]);
    state.clear();
    expect([...state.keys()]).toEqual([]);
    expect(state.isEmpty()).toBe(true);
  });

  test('comes back equal', () => {
    const before = new OperatorState('op', 0, undefined);
    before.broadcast('b').putAll([
      [['tuple', 1], { at: new Date(3) }],
      ['u', undefined],
    ]);
    const after = new OperatorState('op', 2, restoreOf(before.snapshot()));
    expect([...after.broadcast('b').entries()]).toStrictEqual([
      ['u', undefined],
      [['tuple', 1], { at: new Date(3) }],
    ]);
    expect(after.snapshot()).toEqual(before.snapshot());
  });
});

describe('a function with operator state', () => {
  test('CheckpointedFunction: initialised before open, told whether it is restored, written at each barrier', async () => {
    const calls: string[] = [];
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .process(() => {
          let buffer: number[] = [];
          let stored: ReturnType<InitializeContext['operatorState']['getListState']>;
          return {
            initializeState(ctx) {
              calls.push(`initialize ${ctx.isRestored} ${ctx.subtask.index}`);
              stored = ctx.operatorState.getListState('rows');
              buffer = [...stored.get()] as number[];
            },
            open: () => void calls.push('open'),
            snapshotState({ checkpointId, timestamp }) {
              calls.push(`snapshot ${checkpointId} ${timestamp}`);
              stored.update(buffer);
            },
            close: () => void calls.push('close'),
            processElement(n: number, _ctx, out: Collector<readonly number[]>) {
              buffer.push(n);
              if (buffer.length === 3) out.collect(buffer.splice(0));
            },
          };
        })
        .uid('three')
        .sinkTo(collect(), { uid: 'out' }),
    );
    const before = await hostOf(plan, 'three');
    before.process(batchOf([1, 2, 3, 4]), 0);
    expect(given(before).rows).toEqual({ out: [[1, 2, 3]] });
    const snapshot = finished(before.snapshot({ checkpointId: 7, timestamp: 1_234 }));
    before.process(batchOf([99]), 0);
    await before.close();
    const after = await hostOf(plan, 'three', { restore: restoreFrom(snapshot) });
    after.process(batchOf([5, 6]), 0);
    expect(given(after).rows).toEqual({ out: [[4, 5, 6]] });
    expect(calls).toEqual(['initialize false 0', 'open', 'snapshot 7 1234', 'close', 'initialize true 0', 'open']);
  });

  test('ListCheckpointed: restored on a restore only, before open; giving nothing is an empty list', async () => {
    const restoredWith: unknown[][] = [];
    let gives: readonly unknown[] | undefined = [1, { two: 2 }];
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .process(() => ({
          restoreState: (list: unknown[]) => void restoredWith.push(list),
          snapshotState: () => gives as readonly unknown[],
          processElement(_n: number, _ctx: unknown, _out: Collector<number>) {},
        }))
        .uid('list'),
    );
    const before = await hostOf(plan, 'list');
    expect(restoredWith).toEqual([]);
    const snapshot = finished(before.snapshot({ checkpointId: 1, timestamp: 0 }));
    const after = await hostOf(plan, 'list', { restore: restoreFrom(snapshot) });
    expect(restoredWith).toEqual([[1, { two: 2 }]]);
    restoredWith[0]?.push('the list is the function’s own');
    gives = undefined;
    await hostOf(plan, 'list', { restore: restoreFrom(finished(after.snapshot({ checkpointId: 2, timestamp: 0 }))) });
    expect(restoredWith.at(-1)).toEqual([]);
  });

  test('what is in the buffer when the barrier comes is what is stored, although it changes while the snapshot is encoded', async () => {
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .process(() => {
          const buffer: number[][] = [];
          let stored: ReturnType<InitializeContext['operatorState']['getListState']>;
          return {
            initializeState: (ctx) => void (stored = ctx.operatorState.getListState('rows')),
            snapshotState: () => stored.update(buffer),
            processElement(n: number, _ctx, _out: Collector<number>) {
              for (const row of buffer) row.push(n);
              buffer.push([n]);
            },
          };
        })
        .uid('p'),
    );
    const host = await hostOf(plan, 'p');
    host.process(batchOf([1, 2]), 0);
    const running = host.snapshot({ checkpointId: 1, timestamp: 0 });
    host.process(batchOf([3]), 0);
    const { lists } = finished(running).operators.find(({ uid }) => uid === 'p') ?? { lists: [] };
    expect(readable(lists)).toEqual({ rows: ['split', [1, 2], [2]] });
  });

  test('accumulators and metrics are those of the operator, and an accumulator goes on after a restore', async () => {
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .process({
          processElement(_n: number, ctx, _out: Collector<number>) {
            ctx.accumulator('rows', count()).add(1);
            ctx.metrics.counter('c').inc();
            ctx.metrics.counter('c').inc(2);
          },
        })
        .uid('p'),
    );
    const before = await hostOf(plan, 'p');
    before.process(batchOf([1, 2]), 0);
    const after = await hostOf(plan, 'p', { restore: restoreFrom(finished(before.snapshot({ checkpointId: 1, timestamp: 0 }))) });
    after.process(batchOf([3]), 0);
    const { accumulatorResults } = await import('../../../lib/runtime/accumulators.ts');
    expect(accumulatorResults(after.accumulators)).toEqual({ rows: 3 });
  });
});
