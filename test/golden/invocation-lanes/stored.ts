// What lanes of a queue store, one thing of each kind, and its bytes as they are written today.

import type { EntryBody, EntryHead } from '../../../lib/invocation/entry.ts';
import { encodeHead, packEntry } from '../../../lib/invocation/entry-codec.ts';
import type { QueueMessage } from '../../../lib/invocation/invocation.ts';
import { encodeGroup, type GroupState } from '../../../lib/invocation/lane/group-state.ts';
import {
  encodeReplay,
  encodeSegment,
  encodeUnit,
  type KeptUnit,
  type ReplayPart,
  type Segment,
} from '../../../lib/invocation/lane/kept-format.ts';
import { bareHead } from '../invocation/stored.ts';

export const message: QueueMessage = {
  id: '0f1e-2d3c',
  group: 'flights/Zürich',
  sequence: '18850000000000001536',
  sentMs: 1_700_000_000_123,
  receives: 1,
  body: '{"delay":17}',
};
export const unit: KeptUnit = { kind: 'message', message };
export const redrive: KeptUnit = { kind: 'redrive', letter: 'in/flights/18850000000000001536' };
/** Short enough that nothing is deflated: what a library makes of bytes is never frozen. */
export const segment: Segment = { previous: 'kept/0/0-1/40-a.1', from: 33, units: [encodeUnit(redrive), encodeUnit(redrive)] };
export const firstSegment: Segment = { previous: undefined, from: 0, units: [encodeUnit(unit)] };
export const replay: readonly ReplayPart[] = [
  { object: 'kept/0/0-1/40-a.1', skip: 3, count: 7 },
  { object: 'kept/0/0-1/55-seal', skip: 0, count: 300 },
];
export const group: GroupState = {
  settled: 18850000000000001536n,
  attempt: { record: '18850000000000001792', count: 2 },
  sentMs: 1_700_000_000_123,
};
export const triedGroup: GroupState = { settled: undefined, attempt: { record: 'm-1', count: 1 }, sentMs: 1 };
export const head: EntryHead = {
  ...bareHead,
  lane: {
    kept: 35,
    stored: 33,
    segment: 'kept/0/0-1/40-a.1',
    replay: { object: 'replay/1/0-1/list', taken: 2, count: 307 },
    buckets: { first: 28_333_333, last: 28_334_000 },
  },
};
export const emptyLane: EntryHead = {
  ...bareHead,
  lane: { kept: 0, stored: 0, segment: undefined, replay: undefined, buckets: undefined },
};
export const body: EntryBody = {
  delta: { writes: [], timers: [] },
  messages: [],
  rows: [],
  kept: [encodeUnit(redrive), encodeUnit(redrive)],
};

export function written(): Readonly<Record<string, Uint8Array>> {
  return {
    unit: encodeUnit(unit),
    redrive: encodeUnit(redrive),
    segment: encodeSegment(segment),
    'segment-first': encodeSegment(firstSegment),
    replay: encodeReplay(replay),
    group: encodeGroup(group),
    'group-tried': encodeGroup(triedGroup),
    head: encodeHead(head),
    'head-empty': encodeHead(emptyLane),
    entry: packEntry({ head, body }, { inlineBytesMax: 10_000, objectName: 'nowhere' }).bytes,
  };
}
