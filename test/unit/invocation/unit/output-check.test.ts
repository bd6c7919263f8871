import { describe, expect, test } from 'vitest';
import type { RecordBatch } from '../../../../lib/core/batch.ts';
import { checkOfOutput } from '../../../../lib/invocation/unit/output-check.ts';
import { Accumulators } from '../../../../lib/runtime/accumulators.ts';
import { Effects } from '../../../../lib/runtime/effects.ts';

const batchOf = (value: unknown): RecordBatch => ({ values: [value], count: 1, keys: undefined, timestamps: undefined });
const unstorable = () => undefined;

describe('a look at what operators passed on', () => {
  test('finds a row of a sink, a record for another stage, and an accumulator that cannot be stored', () => {
    const last = new Accumulators([]);
    const cases: readonly ((effects: Effects) => void)[] = [
      (effects) => effects.sinkRows.push({ operator: 0, rows: batchOf(unstorable) }),
      (effects) => effects.emit(0, 0, { kind: 'records', batch: batchOf(unstorable) }),
      () =>
        last
          .register('last', { createAccumulator: () => 0, add: (value) => value as never, getResult: (v) => v, merge: (v) => v })
          .add(unstorable),
    ];
    for (const pass of cases) {
      const effects = new Effects();
      const check = checkOfOutput({ effects, accumulators: [last] });
      check();
      pass(effects);
      expect(check).toThrow(expect.objectContaining({ code: 'VALUE_NOT_ENCODABLE' }));
    }
  });

  test('says nothing twice: each call looks at what came since the one before', () => {
    const effects = new Effects();
    effects.sinkRows.push({ operator: 0, rows: batchOf('good') });
    const check = checkOfOutput({ effects, accumulators: [] });
    check();
    effects.sinkRows[0] = { operator: 0, rows: batchOf(unstorable) };
    expect(check).not.toThrow();
  });
});
