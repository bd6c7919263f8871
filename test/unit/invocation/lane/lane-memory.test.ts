import { expect, test } from 'vitest';
import { emptyBody, type LaneProgress } from '../../../../lib/invocation/entry.ts';
import { LaneMemory } from '../../../../lib/invocation/lane/lane-memory.ts';
import type { LaneQueue } from '../../../../lib/invocation/lane/queues.ts';
import { headOf } from '../support/entries.ts';
import { objectsOf } from '../support/objects.ts';

const of: LaneQueue = { uid: 'in', stage: 0, queue: { order: 'fifo', lanes: 1, retentionMs: 1, read: () => {} } };
const nothingStored: LaneProgress = { kept: 0, stored: 0, segment: undefined, replay: undefined, buckets: undefined };

/** Each of two entries has kept one unit, and no segment has any. */
function memoryOfTwo(): LaneMemory {
  const memory = new LaneMemory({ subtask: '0-0', of, lane: nothingStored, objects: objectsOf({}), newWriter: () => 'mine' });
  for (const n of [1, 2])
    memory.learn({ head: headOf({ n, lane: { ...nothingStored, kept: n } }), body: { ...emptyBody, kept: [Uint8Array.of(n)] } });
  return memory;
}

test('M3: a segment of one’s own is forgotten when an entry names that of another writer', async () => {
  const memory = memoryOfTwo();
  await memory.secure({ generation: 0, flushedThrough: 1 });
  expect(memory.list).toEqual({ segment: 'kept/0/0-0/1-mine', stored: 1 });
  const theirs = { ...nothingStored, kept: 2, stored: 2, segment: 'kept/0/0-0/2-theirs' };
  memory.learn({ head: headOf({ n: 3, flushedThrough: 2, lane: theirs }), body: emptyBody });
  expect(memory.list).toMatchObject({ segment: theirs.segment, stored: 2 });
});
