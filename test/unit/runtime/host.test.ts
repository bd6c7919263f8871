import { expect, test } from 'vitest';
import { type Collector, valueState } from '../../../lib/index.ts';
import type { KeyedOperator } from '../../../lib/operators/keyed-operator.ts';
import type { HeapState } from '../../../lib/state/heap/heap-state.ts';
import { hostOf, planOf } from '../../support/hosts.ts';

test('a snapshot that an operator cannot give leaves none of the others under way: their writes would be captured for it for ever', async () => {
  const plan = planOf((env) => {
    env
      .fromSequence(1, 2, { uid: 'in' })
      .keyBy((n) => n)
      .process({ state: { n: valueState<number>() }, processElement: (n, _ctx, out: Collector<number>) => out.collect(n) })
      .uid('keyed')
      .process(() => ({
        initializeState() {},
        snapshotState() {
          throw new Error('not now');
        },
        processElement: (n: number, _ctx, out: Collector<number>) => out.collect(n),
      }))
      .uid('refuses');
  });
  const host = await hostOf(plan, 'keyed');
  const state = (host.operators[0] as KeyedOperator).backend as HeapState;
  expect(() => host.snapshot({ checkpointId: 1, timestamp: 0 })).toThrow('not now');
  expect(state.isWatched).toBe(false);
});
