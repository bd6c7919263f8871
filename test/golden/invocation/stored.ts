// What the frozen files were made from, and how: with `written`, once. A file of format 1 never changes again; a later format gets a
// directory of its own beside it.

import { finalWatermark, noTimestamp, noWatermark, type RecordBatch } from '../../../lib/core/batch.ts';
import { encodeKey, normalizeKey } from '../../../lib/core/key-codec.ts';
import { listedOrigins } from '../../../lib/core/origins.ts';
import type { Entry, EntryHead } from '../../../lib/invocation/entry.ts';
import { emptyBody } from '../../../lib/invocation/entry.ts';
import { closedStub, encodeHead, packEntry } from '../../../lib/invocation/entry-codec.ts';
import type { JobItem, SubtaskHandle } from '../../../lib/invocation/job-item.ts';
import { encodeHandle, encodeHandles, encodeJobItem } from '../../../lib/invocation/job-item-codec.ts';
import type { ChannelMessage } from '../../../lib/invocation/message.ts';
import type { MessageClaim } from '../../../lib/invocation/message-codec.ts';
import { encodeClaim, encodeMessage } from '../../../lib/invocation/message-codec.ts';
import { encodeRows } from '../../../lib/invocation/rows-codec.ts';
import type { Version } from '../../../lib/invocation/versions.ts';
import { encodeItem } from '../../../lib/invocation/versions.ts';

const text = (s: string): Uint8Array => new TextEncoder().encode(s);

/** Bytes that no deflate makes smaller, each told by its place: what a library makes of them is never stored. */
export function noise(length: number, seed: number): Uint8Array {
  let x = seed;
  return Uint8Array.from({ length }, () => {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0;
    return x >>> 24;
  });
}

export const head: EntryHead = {
  generation: 2,
  subtask: '0-3',
  n: 1_234,
  base: 1_000,
  kind: 'barrier',
  writer: 'writer “ü” 7',
  epoch: 41,
  flushedThrough: 1_200,
  lastCompleted: 39,
  open: [40, 41],
  lastBarrier: { checkpoint: 40, n: 1_220, flushedThrough: 1_199 },
  splits: [
    {
      ordinal: 3,
      split: { id: 'shard-3', from: 17, hash: [1n, null] },
      position: { index: 4_000_000_000, at: '49590338271490256608559692538361571095921575989136588898' },
      hasEnded: false,
      largest: 1_700_000_000_123,
      malformed: 2,
      replayUntil: 3_999_999_999,
    },
    { ordinal: 4, split: { id: 'shard-4' }, position: undefined, hasEnded: true, largest: noWatermark, malformed: 0, replayUntil: 0 },
  ],
  channels: [
    { sender: '0-3', exchange: 0, sequence: 812, barrier: 0, hasEnded: false, watermark: 1_700_000_000_000, isIdle: false },
    { sender: '0-s7', exchange: 1, sequence: 9, barrier: 42, hasEnded: true, watermark: finalWatermark, isIdle: true },
  ],
  held: [
    { sender: '0-s7', exchange: 1, bytes: Uint8Array.of(1, 0, 255), object: undefined },
    { sender: '0-s7', exchange: 1, bytes: undefined, object: 'held/2/0-3/1234/1' },
  ],
  abortedThrough: 38,
  hasEnded: false,
  sent: [
    ['0/1-0', 77],
    ['0/1-1', 0],
  ],
  watermark: 1_700_000_000_000,
  operatorWatermarks: [1_700_000_000_000, -62_135_596_800_000, 0.5],
  operatorState: { bytes: Uint8Array.of(7, 7), object: undefined },
  snapshot: 'snapshot/2/0-3/1234',
  transactions: [{ sink: 'out', opened: 39, under: 40, generation: 1, subtask: '0-3', rows: 'rows/1/0-3/out/39' }],
  attempts: [{ place: 'shard-3', record: '4000000000', count: 2 }],
};

/** With what was added to format 1. */
export const addedHead: EntryHead = {
  ...head,
  splits: head.splits.map((split, i) => ({ ...split, silence: { sinceMs: 1_700_000_060_000 + i, isIdle: i === 0 } })),
  lane: { kept: 12, stored: 9, segment: 'kept/2/0-3/9-a', replay: undefined, buckets: { first: 3, last: 5 } },
  deliversOf: 1_233,
};

/** Of format 2: an object of operator state with some of its parts changed. */
export const headInParts: EntryHead = {
  ...addedHead,
  operatorState: { bytes: Uint8Array.of(7, 7), object: 'operator-state/2/0-3/1200-a' },
};

/** The least that a head can hold. */
export const bareHead: EntryHead = {
  generation: 0,
  subtask: '0-0',
  n: 0,
  base: 0,
  kind: 'init',
  writer: 'init',
  epoch: 1,
  flushedThrough: -1,
  lastCompleted: 0,
  open: [],
  lastBarrier: undefined,
  splits: [],
  channels: [],
  held: [],
  abortedThrough: 0,
  hasEnded: false,
  sent: [],
  watermark: noWatermark,
  operatorWatermarks: [],
  operatorState: undefined,
  snapshot: undefined,
  transactions: [],
  attempts: [],
};

export const entry: Entry = {
  head,
  body: {
    delta: {
      writes: [
        { address: { operator: 'counts', state: 'count', key: encodeKey('user-1'), sub: '' }, value: noise(40, 1) },
        { address: { operator: 'counts', state: 'count', key: encodeKey(['a', 7]), sub: '' }, value: undefined },
        { address: { operator: 'counts', state: 'seen “ü”', key: encodeKey('user-1'), sub: encodeKey(3) }, value: noise(24, 2) },
        { address: { operator: 'counts', state: 'seen “ü”', key: encodeKey('user-1'), sub: '' }, value: Uint8Array.of() },
      ],
      timers: [
        { operator: 'counts', domain: 'event', isSet: true, time: 1_700_000_060_000, key: encodeKey('user-1'), cause: undefined },
        { operator: 'counts', domain: 'processing', isSet: false, time: finalWatermark, key: encodeKey('user-1'), cause: 'in/0/12' },
        { operator: 'late', domain: 'event', isSet: false, time: -1, key: encodeKey(false), cause: undefined },
      ],
    },
    messages: [{ exchange: 0, target: '1-1', sequence: 77, bytes: noise(70, 3) }],
    rows: [{ sink: 'out', bytes: noise(30, 4) }],
  },
};

/** A body that pays to be deflated. The file was made by one library on one day; what is frozen is that it can be read. */
export const repetitive: Entry = {
  head: { ...bareHead, kind: 'data', n: 1, flushedThrough: 0 },
  body: {
    ...emptyBody,
    delta: {
      writes: Array.from({ length: 20 }, (_, i) => ({
        address: { operator: 'counts', state: 'count', key: encodeKey(`user-${i}`), sub: '' },
        value: text(`the same words for everybody ${i % 3}`),
      })),
      timers: [],
    },
  },
};

export const large: Entry = {
  head: { ...bareHead, kind: 'data', n: 2, flushedThrough: 0 },
  body: { ...emptyBody, rows: [{ sink: 'out', bytes: noise(300, 5) }] },
};
export const largeObject = 'entry/0/0-0/2/writer';

export const versions: readonly Version[] = [
  { generation: 3, epoch: 44, n: 1_500, value: undefined, object: undefined },
  { generation: 2, epoch: 41, n: 1_234, value: Uint8Array.of(1, 2, 255), object: undefined },
  { generation: 2, epoch: 40, n: 1_100, value: undefined, object: 'value/2/0-3/1100/0' },
  { generation: 0, epoch: 1, n: 0, value: Uint8Array.of(), object: undefined },
];

export const batch: RecordBatch = {
  values: [{ user: 'ü', amount: -1.5 }, undefined, new Map([['k', [1n, new Date(5)]]]), 'past the count'],
  count: 3,
  keys: [normalizeKey('ü'), normalizeKey(7), normalizeKey(['a', true])],
  timestamps: [1_700_000_000_123, noTimestamp, 1_700_000_000_000],
  origins: listedOrigins(['in/file a/0', 'in/file a/1.0', 'in/file b/1']),
};

export const message: ChannelMessage = {
  generation: 2,
  exchange: 1,
  sender: '0-3',
  target: '1-0',
  sequence: 813,
  elements: [
    { kind: 'records', batch },
    { kind: 'records', batch: { values: [1, 2], count: 2, keys: undefined, timestamps: undefined, origins: undefined } },
    { kind: 'watermark', timestamp: 1_700_000_000_000 },
    { kind: 'barrier', checkpoint: 41 },
    { kind: 'idle' },
    { kind: 'successors', senders: ['0-s8', '0-s9'] },
    { kind: 'end' },
  ],
};

export const claim: MessageClaim = {
  generation: 2,
  exchange: 1,
  sender: '0-3',
  target: '1-0',
  sequence: 814,
  object: 'message/2/1/0-3/1-0/814',
};

export const handle: SubtaskHandle = { generation: 2, subtask: '0-3', n: 1_234, flushedThrough: 1_200, head: encodeHead(head) };
export const handles: readonly SubtaskHandle[] = [
  handle,
  { generation: 2, subtask: '1-0', n: 0, flushedThrough: -1, head: encodeHead(bareHead) },
];

const owners = [
  { subtask: '0-s3', stage: 0, index: 0, splits: [3, 300] },
  { subtask: '1-0', stage: 1, index: 0, splits: [] },
];

export const jobItem: JobItem = {
  job: 'golden “ü”',
  planHash: '0123456789abcdef',
  status: 'failing',
  failure: 'USER_FUNCTION_FAILED: it threw',
  generation: 2,
  ringSlots: 1_024,
  begun: 43,
  open: [{ checkpoint: 43, generation: 2, begunMs: 1_700_000_000_500, patienceMs: 600_000, owners: ['0-s3', '1-0'], trigger: 'final' }],
  completed: [
    {
      checkpoint: 42,
      generation: 2,
      begunMs: 1_700_000_000_000,
      completedMs: 1_700_000_000_321,
      trigger: 'periodic',
      owners,
      metadata: 'chk-42/_metadata',
      bytes: 4_567,
    },
  ],
  confirmed: 41,
  failuresInARow: 1,
  expiredInARow: 2,
  lastBegunMs: 1_700_000_000_500,
  lastEndedMs: 1_700_000_000_321,
  restores: [
    { generation: 1, checkpoint: 12 },
    { generation: 2, checkpoint: 30 },
  ],
  owners,
  restoring: { checkpoint: 42, generation: 3, epoch: 44, owners },
  moving: { generation: 2, parents: ['1-0'], children: [{ subtask: '1-4', stage: 1, index: 0, splits: [] }], epoch: 44 },
  until: [['0-s3/3', 4_000]],
  rings: ['1/0-s3', '2/0-s3', '2/1-0'],
};

/** With what was added to format 1 since: ranges of owners. */
export const rangedJobItem: JobItem = {
  ...jobItem,
  owners: [{ subtask: '0-s3', stage: 0, index: 3, splits: [3], range: { from: 0, to: 2_147_483_647 } }, ...owners.slice(1)],
  completed: [],
  restoring: undefined,
  moving: {
    generation: 2,
    parents: ['0-s3'],
    children: [
      { subtask: '0-s4', stage: 0, index: 4, splits: [4], range: { from: 0, to: 1_000 } },
      { subtask: '0-s5', stage: 0, index: 5, splits: [5], range: { from: 1_001, to: 2_147_483_647 } },
    ],
    epoch: 44,
  },
};

/** Also since then: places up to which sealed splits were read. */
export const placedJobItem: JobItem = {
  ...jobItem,
  places: [['0-s3/3', { sequence: '49590338271490256608559692538361571095921575989136588898', sub: 2 }], ['0-s4/4', '7']], // biome-ignore format: pairs
};

/** Also since then: when generations began. */
export const begunJobItem: JobItem = {
  ...jobItem,
  begins: [[0, 1_690_000_000_000], [2, 1_700_000_000_000]], // biome-ignore format: pairs
};

/** Also since then: who several senders are followed by. */
export const jointMessage: ChannelMessage = {
  generation: 2,
  exchange: 1,
  sender: '0-s3',
  target: '1-0',
  sequence: 815,
  elements: [{ kind: 'successors', senders: ['0-s5'], parents: ['0-s3', '0-s4'] }],
};

/** Every sort of stored bytes, by the name of its file. */
export function written(): Readonly<Record<string, Uint8Array>> {
  const outside = packEntry(large, { inlineBytesMax: 200, objectName: largeObject });
  return {
    entry: packEntry(entry, { inlineBytesMax: 8_192, objectName: 'unused' }).bytes,
    'entry-bare': packEntry({ head: bareHead, body: emptyBody }, { inlineBytesMax: 8_192, objectName: 'unused' }).bytes,
    'entry-outside': outside.bytes,
    'entry-outside-body': outside.object!.bytes,
    stub: closedStub(1_023).bytes,
    head: encodeHead(head),
    'head-added': encodeHead(addedHead),
    'state-item': encodeItem(versions).bytes,
    message: encodeMessage(message),
    'message-joint': encodeMessage(jointMessage),
    claim: encodeClaim(claim),
    rows: encodeRows(batch),
    handle: encodeHandle(handle),
    metadata: encodeHandles(handles),
    'job-item': encodeJobItem(jobItem),
    'job-item-ranges': encodeJobItem(rangedJobItem),
    'job-item-places': encodeJobItem(placedJobItem),
    'job-item-begins': encodeJobItem(begunJobItem),
  };
}
