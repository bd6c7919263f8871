// Snapshots of a small job: a source with a union list, a keyed operator, a sink with a promise.

import type { KeyGroupSnapshot, OperatorSnapshot, SubtaskSnapshot } from '../../../../lib/checkpoint/snapshot.ts';
import type { CompletionInfo } from '../../../../lib/checkpoint/storage.ts';
import { keyGroupRange } from '../../../../lib/core/key-group.ts';

export const bytes = (s: string): Uint8Array => new TextEncoder().encode(s);
export const text = (b: Uint8Array): string => new TextDecoder().decode(b);

export const nothing: Omit<OperatorSnapshot, 'uid'> = { lists: [], keyed: undefined, sink: undefined, accumulators: [] };

export interface SampleOptions {
  readonly parallelism?: number;
  readonly maxParallelism?: number;
  /** Bytes of each key group. */
  readonly groupBytes?: number;
  readonly checkpoint?: number;
}

/** The snapshot of one subtask of stage 0: every group of its range holds its own number as text, repeated. */
export function sampleSnapshot(subtask: number, o: SampleOptions = {}): SubtaskSnapshot {
  const { parallelism = 1, maxParallelism = 8, groupBytes = 10 } = o;
  const range = keyGroupRange(subtask, maxParallelism, parallelism);
  const groups: KeyGroupSnapshot[] = [];
  for (let group = range.first; group <= range.last; group++)
    groups.push({ group, bytes: bytes(`${group};`.repeat(Math.ceil(groupBytes / 2)).slice(0, groupBytes)) });
  return {
    stage: 0,
    subtask,
    operators: [
      { uid: 'source', ...nothing, lists: [{ name: 'positions', redistribution: 'union', elements: [bytes(`split ${subtask}`)] }] },
      {
        uid: 'counts',
        ...nothing,
        keyed: { states: [{ name: 'count', kind: 'value', version: 0 }], groups },
        accumulators: [{ name: 'seen', value: bytes(`${subtask}`) }],
      },
      {
        uid: 'out',
        ...nothing,
        sink: { state: bytes(`counter ${subtask}`), transactions: [bytes(`out/${subtask}/${o.checkpoint ?? 0}`)] },
      },
    ],
  };
}

export function sampleInfo(o: SampleOptions = {}): CompletionInfo {
  const { parallelism = 1, maxParallelism = 8 } = o;
  return {
    timestamp: 1_700_000_000_000,
    trigger: 'interval',
    durationMs: 12,
    mode: 'EXACTLY_ONCE',
    planHash: 'plan',
    isFinished: false,
    operators: ['source', 'counts', 'out'].map((uid) => ({ uid, name: uid, parallelism, maxParallelism })),
  };
}
