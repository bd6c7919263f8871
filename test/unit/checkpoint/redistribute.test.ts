import { describe, expect, test } from 'vitest';
import type { CheckpointMetadata, OperatorHandle } from '../../../lib/checkpoint/handles.ts';
import { promisedTransactions, restoreOf } from '../../../lib/checkpoint/redistribute.ts';
import type { Redistribution } from '../../../lib/checkpoint/snapshot.ts';
import { bytes, sampleInfo, text } from './support/samples.ts';

const handle = (o: Partial<OperatorHandle>): OperatorHandle => ({
  uid: 'op',
  place: { kind: 'inline', bytes: new Uint8Array(0) },
  keyed: undefined,
  lists: [],
  sink: undefined,
  accumulators: [],
  ...o,
});

/** A checkpoint of one operator, from one handle per old subtask. */
function checkpointOf(handles: readonly Partial<OperatorHandle>[]): CheckpointMetadata {
  return {
    ...sampleInfo(),
    job: 'job',
    checkpoint: 1,
    generation: 1,
    backend: 'filesystem',
    operators: [{ uid: 'op', name: 'op', parallelism: handles.length, maxParallelism: 8 }],
    subtasks: handles.map((h, subtask) => ({ stage: 0, subtask, bytes: 0, operators: [handle(h)] })),
  };
}

const list = (count: number, redistribution: Redistribution) => ({
  lists: [{ name: 'l', redistribution, count, offset: 0, length: 0, crc: 0 }],
});

/** Elements, as `old subtask:index`, that each new subtask gets of the list. */
function dealt(checkpoint: CheckpointMetadata, parallelism: number): string[][] {
  const owner = (h: OperatorHandle): number => checkpoint.subtasks.findIndex((s) => s.operators.includes(h));
  return Array.from({ length: parallelism }, (_, subtask) => {
    const shares = restoreOf(checkpoint, { uid: 'op', subtask, parallelism, maxParallelism: 8 })!.lists[0]!.shares;
    return shares.flatMap((s) => Array.from({ length: s.to - s.from }, (_, i) => `${owner(s.handle)}:${s.from + i}`));
  });
}

describe('redistribution', () => {
  test('split lists: consecutive shares in the old order, sizes that differ by at most one', () => {
    expect(dealt(checkpointOf([list(3, 'split'), list(0, 'split'), list(4, 'split')]), 2)).toEqual([
      ['0:0', '0:1', '0:2'],
      ['2:0', '2:1', '2:2', '2:3'],
    ]);
    expect(dealt(checkpointOf([list(2, 'split'), list(1, 'split')]), 5)).toEqual([[], ['0:0'], [], ['0:1'], ['1:0']]);
  });

  test('split lists stay where they were when the parallelism did not change', () => {
    expect(dealt(checkpointOf([list(3, 'split'), list(0, 'split')]), 2)).toEqual([['0:0', '0:1', '0:2'], []]);
  });

  test('union lists go whole to everyone', () => {
    const whole = ['0:0', '1:0', '1:1'];
    expect(dealt(checkpointOf([list(1, 'union'), list(2, 'union')]), 3)).toEqual([whole, whole, whole]);
  });

  test('broadcast lists: everyone gets the same single copy', () => {
    expect(dealt(checkpointOf([list(2, 'broadcast'), list(2, 'broadcast')]), 3)).toEqual([
      ['0:0', '0:1'],
      ['0:0', '0:1'],
      ['0:0', '0:1'],
    ]);
  });

  test('key groups go to the subtask that owns them now, sink states to everyone, accumulators to subtask 0', () => {
    const groups = (...all: number[]) => all.map((group) => ({ group, offset: 0, length: 0, crc: 0 }));
    const states = [{ name: 's', kind: 'value', version: 0 }];
    const old = (groupNumbers: number[], n: number): Partial<OperatorHandle> => ({
      keyed: { states, groups: groups(...groupNumbers) },
      sink: { state: bytes(`state ${n}`), transactions: [bytes(`t${n}`)] },
      accumulators: [{ name: 'a', value: bytes(`${n}`) }],
    });
    const checkpoint = checkpointOf([old([0, 1, 3], 0), old([4, 7], 1)]);
    const got = [0, 1, 2].map((subtask) => restoreOf(checkpoint, { uid: 'op', subtask, parallelism: 3, maxParallelism: 8 })!);
    expect(got.map((g) => g.keyed.map((k) => k.groups.map((x) => x.group)))).toEqual([[[0, 1]], [[3], [4]], [[7]]]);
    expect(got.map((g) => g.sinkStates.map(text))).toEqual(Array(3).fill(['state 0', 'state 1']));
    expect(got.map((g) => g.accumulators.map((a) => text(a.value)))).toEqual([['0', '1'], [], []]);
    expect(promisedTransactions(checkpoint, 'op').map(text)).toEqual(['t0', 't1']);
    expect(promisedTransactions(checkpoint, 'other')).toEqual([]);
  });

  test('C16 an operator that the checkpoint does not know starts empty', () => {
    expect(restoreOf(checkpointOf([list(1, 'split')]), { uid: 'new', subtask: 0, parallelism: 1, maxParallelism: 8 })).toBeUndefined();
  });
});
