import { describe, expect, test } from 'vitest';
import { listState, type StateShape, valueState } from '../../../lib/api/state.ts';
import { comparePlans } from '../../../lib/graph/compare.ts';
import { type PlanView, viewOf } from '../../../lib/graph/plan-view.ts';
import { planned } from '../api/building.ts';

const view = (operators: Readonly<Record<string, StateShape>>, maxParallelism = 128): PlanView =>
  viewOf(
    planned((env) => {
      env.setMaxParallelism(maxParallelism);
      const source = env.fromSequence(1, 2, { uid: 's' });
      for (const [uid, state] of Object.entries(operators))
        source
          .keyBy((n) => n)
          .process({ state, processElement() {} })
          .uid(uid);
    }),
  );
const unchanged = { isSame: true, lostOperators: [], lostStates: [], changedStates: [], maxParallelismChanges: [], newOperators: [] };

describe('what a restore would do', () => {
  test('nothing changes under the same plan', () => {
    expect(comparePlans(view({ a: { n: valueState() } }), view({ a: { n: valueState() } }))).toEqual(unchanged);
  });

  test('C16: an operator that is new starts empty, one that is gone loses its state', () => {
    const before = view({ a: { n: valueState() } });
    const after = view({ b: { n: valueState() } });
    expect(comparePlans(before, after)).toEqual({ ...unchanged, isSame: false, lostOperators: ['a'], newOperators: ['b'] });
  });

  test('a state that is gone is lost by name, and one of another kind or an older version is refused', () => {
    const before = view({ a: { gone: valueState(), kind: valueState(), newer: valueState(), older: valueState({ version: 2 }) } });
    const after = view({ a: { kind: listState(), newer: valueState({ version: 1 }), older: valueState({ version: 1 }) } });
    const { lostStates, changedStates } = comparePlans(before, after);
    expect(lostStates).toEqual([{ operator: 'a', state: 'gone' }]);
    expect(changedStates.map(({ state, isRestorable }) => [state, isRestorable])).toEqual([
      ['kind', false],
      ['newer', true],
      ['older', false],
    ]);
  });

  test('C14: another maximum parallelism is told for operators with keyed state', () => {
    const { maxParallelismChanges } = comparePlans(view({ a: { n: valueState() }, b: {} }), view({ a: { n: valueState() }, b: {} }, 64));
    expect(maxParallelismChanges).toEqual([{ operator: 'a', before: 128, after: 64 }]);
  });
});
