// What the frozen files were made from, and how: with `writeAll`, once. A file of format 1 never changes again; a later format gets a
// directory of its own beside it.

import { storeReservations } from '../../../lib/checkpoint/reservation.ts';
import type { SubtaskSnapshot } from '../../../lib/checkpoint/snapshot.ts';
import type { CompletionInfo } from '../../../lib/checkpoint/storage.ts';
import { CheckpointStorage } from '../../../lib/checkpoint/storage.ts';
import type { FileSystem } from '../../../lib/core/ports.ts';

const text = (s: string): Uint8Array => new TextEncoder().encode(s);

/** Larger than what is kept in the metadata, so that there is a state file; every byte is told by its place. */
export const groupBytes = (group: number): Uint8Array => Uint8Array.from({ length: 3_000 }, (_, i) => (i * 7 + group * 13) & 0xff);

export const snapshot: SubtaskSnapshot = {
  stage: 1,
  subtask: 2,
  operators: [
    {
      uid: 'counts “ü” \u0000',
      lists: [
        { name: 'buffer', redistribution: 'split', elements: [text('one'), text(''), text('three')] },
        { name: 'rules', redistribution: 'broadcast', elements: [Uint8Array.of(0, 255)] },
      ],
      keyed: {
        states: [
          { name: 'count', kind: 'value', version: 3 },
          { name: 'seen', kind: 'map', version: 0 },
        ],
        groups: [8, 9, 10, 11, 12, 13, 14, 15].map((group) => ({ group, bytes: groupBytes(group) })),
      },
      sink: undefined,
      accumulators: [{ name: 'records', value: text('41') }],
    },
    {
      uid: 'small',
      lists: [{ name: 'positions', redistribution: 'union', elements: [text('a:7')] }],
      keyed: undefined,
      sink: undefined,
      accumulators: [],
    },
    {
      uid: 'out',
      lists: [],
      keyed: undefined,
      sink: { state: text('counter 5'), transactions: [text('job/out/2/2/6'), text('job/out/2/2/7')] },
      accumulators: [],
    },
  ],
};

export const info: CompletionInfo = {
  timestamp: 1_700_000_000_123,
  trigger: 'interval',
  durationMs: 45,
  mode: 'EXACTLY_ONCE',
  planHash: '0123456789abcdef',
  isFinished: false,
  operators: [
    { uid: 'counts “ü” \u0000', name: 'Counts', parallelism: 3, maxParallelism: 24 },
    { uid: 'small', name: 'small', parallelism: 3, maxParallelism: 24 },
    { uid: 'out', name: 'out', parallelism: 3, maxParallelism: 24 },
  ],
};

/** Every kind of file that an attempt's directory can hold. */
export async function writeAll(files: FileSystem, attempt: string): Promise<void> {
  await files.createDirectoryTree(attempt);
  const storage = new CheckpointStorage({ files, path: attempt, job: 'golden', generation: 2, backend: { kind: 'filesystem' } });
  await storage.open();
  storage.continueAbove(6);
  const n = storage.nextNumber();
  await storage.begin(n);
  const handle = await storage.storeSubtask(n, snapshot);
  await storage.complete(n, [handle], info);
  await storage.begin(storage.nextNumber());
  await storage.announce(8, { stage: 1, subtask: 2, uid: 'out', transactions: [text('job/out/2/2/8')] });
  await storeReservations(files, attempt, 0, 1, [{ split: 'file a', index: 65_536 }]);
}
