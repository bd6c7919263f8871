// Event time that is made in the middle of a job, across a restore.
import { describe, expect, test } from 'vitest';
import { WatermarkStrategy } from '../../../lib/api/watermark.ts';
import type { OperatorRestore } from '../../../lib/checkpoint/snapshot.ts';
import { emptyBatch } from '../../../lib/core/batch.ts';
import type { OperatorEnvironment } from '../../../lib/operators/operator.ts';
import { TimestampsOperator } from '../../../lib/operators/timestamps-operator.ts';

const strategy = WatermarkStrategy.forMonotonousTimestamps<number>().withTimestamps((n) => n) as WatermarkStrategy<unknown>;

function operator(index: number, parallelism: number, restore?: OperatorRestore): TimestampsOperator {
  const environment = { uid: 'times', name: 'times', subtask: { index, parallelism } } as unknown as OperatorEnvironment;
  const made = new TimestampsOperator(environment, strategy);
  made.open(restore);
  return made;
}

/** What two subtasks keep whose watermarks stand at 2,047 - 1 and 9,047 - 1. */
function kept(): OperatorRestore {
  const lists = [1_024, 8_024].map((first, index) => {
    const one = operator(index, 2);
    const values = Array.from({ length: 1_024 }, (_, i) => first + i);
    one.process({ ...emptyBatch(), values, count: values.length });
    one.ownWatermark();
    return one.snapshot().lists[0]!;
  });
  const union = { ...lists[0]!, elements: lists.flatMap((list) => list.elements) };
  return { uid: 'times', lists: [union], keyed: [], sinkStates: [], accumulators: [] };
}

describe('after a restore', () => {
  test('at unchanged parallelism each subtask goes on from its own watermark', () => {
    const restore = kept();
    expect([0, 1].map((index) => operator(index, 2, restore).restoredWatermark())).toEqual([2_046, 9_046]);
  });

  test('at another parallelism none is ahead of what any of the old ones had seen', () => {
    const restore = kept();
    expect([0, 1, 2].map((index) => operator(index, 3, restore).restoredWatermark())).toEqual([2_046, 2_046, 2_046]);
  });
});
