import fc from 'fast-check';
import { finalWatermark, noTimestamp, noWatermark, type RecordBatch } from '../../../lib/core/batch.ts';
import { encodeKey, normalizeKey } from '../../../lib/core/key-codec.ts';
import { listedOrigins } from '../../../lib/core/origins.ts';
import type { Entry, EntryBody, EntryHead, StateAddress } from '../../../lib/invocation/entry.ts';
import type { JobItem, Owner, SubtaskHandle } from '../../../lib/invocation/job-item.ts';
import type { ChannelElement, ChannelMessage } from '../../../lib/invocation/message.ts';
import type { Version } from '../../../lib/invocation/versions.ts';
import { bytes, keys, objectsOf, text, values } from '../core/arbitraries.ts';

/** Objects as literals make them. */
function record<T>(of: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(of, { noNullPrototype: true }) as unknown as fc.Arbitrary<T>;
}

export const whole: fc.Arbitrary<number> = fc.oneof(fc.nat(200), fc.constantFrom(0, 127, 128, 2 ** 31, Number.MAX_SAFE_INTEGER - 1));
const flushed = fc.oneof(fc.constant(-1), whole);
const time = fc.oneof(
  fc.constantFrom(noWatermark, finalWatermark, noTimestamp, -0, -1, 0.5, Number.MAX_VALUE),
  fc.integer({ min: -(2 ** 45), max: 2 ** 45 }),
);
const name = fc.oneof(fc.constantFrom('0-0', '0-1', '1-0', 'counts'), text);
const listOf = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(of, { maxLength: 4 });
const optional = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined });
const encodedKey = keys.map(encodeKey);

const split = fc.tuple(text, objectsOf(values, 3)).map(
  ([id, more]) =>
    Object.defineProperty({ ...more }, 'id', { value: id, enumerable: true, writable: true, configurable: true }) as unknown as {
      readonly id: string;
    },
);

const transaction = record({ sink: name, opened: whole, under: whole, generation: whole, subtask: name, rows: text });

export const heads: fc.Arbitrary<EntryHead> = record({
  generation: whole,
  subtask: name,
  n: whole,
  base: whole,
  kind: fc.constantFrom('init', 'data', 'barrier', 'seal'),
  writer: text,
  epoch: whole,
  flushedThrough: flushed,
  lastCompleted: whole,
  open: listOf(whole),
  lastBarrier: optional(record({ checkpoint: whole, n: whole, flushedThrough: flushed })),
  splits: listOf(
    record({
      ordinal: whole,
      split,
      position: optional(record({ index: whole, at: values })),
      hasEnded: fc.boolean(),
      largest: time,
      malformed: whole,
      replayUntil: whole,
      silence: optional(record({ sinceMs: time, isIdle: fc.boolean() })),
    }).map(({ silence, ...split }) => (silence === undefined ? split : { ...split, silence })),
  ),
  channels: listOf(
    record({
      sender: name,
      exchange: whole,
      sequence: whole,
      part: optional(whole),
      barrier: whole,
      hasEnded: fc.boolean(),
      watermark: time,
      isIdle: fc.boolean(),
    }).map(({ part, ...channel }) => (part === undefined ? channel : { ...channel, part })),
  ),
  held: listOf(record({ sender: name, exchange: whole, bytes: optional(bytes), object: optional(text) })),
  abortedThrough: whole,
  hasEnded: fc.boolean(),
  sent: listOf(fc.tuple(name, whole)),
  watermark: time,
  operatorWatermarks: listOf(time),
  operatorState: optional(record({ bytes: optional(bytes), object: optional(text) })),
  snapshot: optional(text),
  transactions: listOf(transaction),
  attempts: listOf(record({ place: name, record: text, count: whole })),
  deliversOf: optional(whole),
}).map(({ deliversOf, ...head }) => (deliversOf === undefined ? head : { ...head, deliversOf }));

export const addresses: fc.Arbitrary<StateAddress> = record({
  operator: name,
  state: fc.oneof(fc.constantFrom('count', 'seen'), text),
  key: fc.oneof(encodedKey, fc.constant('')),
  sub: fc.oneof(fc.constant(''), encodedKey),
});

export const bodies: fc.Arbitrary<EntryBody> = record({
  delta: record({
    writes: fc.array(record({ address: addresses, value: optional(fc.oneof(bytes, fc.uint8Array({ maxLength: 300 }))) }), {
      maxLength: 12,
    }),
    timers: listOf(
      record({
        operator: name,
        domain: fc.constantFrom('event', 'processing'),
        isSet: fc.boolean(),
        time,
        key: encodedKey,
        cause: optional(text),
      }),
    ),
  }),
  messages: listOf(record({ exchange: whole, target: name, sequence: whole, bytes })),
  rows: listOf(record({ sink: name, bytes })),
});

export const entries: fc.Arbitrary<Entry> = record({ head: heads, body: bodies });

export const batches: fc.Arbitrary<RecordBatch> = record({
  rows: fc.array(record({ value: values, key: keys, timestamp: time, origin: text }), { maxLength: 8 }),
  hasKeys: fc.boolean(),
  hasTimestamps: fc.boolean(),
  hasOrigins: fc.boolean(),
}).map(({ rows, hasKeys, hasTimestamps, hasOrigins }) => ({
  values: rows.map((r) => r.value),
  count: rows.length,
  keys: hasKeys ? rows.map((r) => normalizeKey(r.key)) : undefined,
  timestamps: hasTimestamps ? rows.map((r) => r.timestamp) : undefined,
  origins: hasOrigins ? listedOrigins(rows.map((r) => r.origin)) : undefined,
}));

/** A batch with its origins as texts, to be compared. */
export function told(batch: RecordBatch): unknown {
  return { ...batch, origins: batch.origins && batch.values.map((_, i) => batch.origins!.at(i)) };
}

const elements: fc.Arbitrary<ChannelElement> = fc.oneof(
  record({ kind: fc.constant('records' as const), batch: batches }),
  record({ kind: fc.constant('watermark' as const), timestamp: time }),
  record({ kind: fc.constant('barrier' as const), checkpoint: whole }),
  record({ kind: fc.constantFrom('idle' as const, 'end' as const) }),
  record({ kind: fc.constant('successors' as const), senders: listOf(name) }),
);

export const messages: fc.Arbitrary<ChannelMessage> = record({
  generation: whole,
  exchange: whole,
  sender: name,
  target: name,
  sequence: whole,
  elements: listOf(elements),
});

export function toldMessage(m: ChannelMessage): unknown {
  return { ...m, elements: m.elements.map((e) => (e.kind === 'records' ? told(e.batch) : e)) };
}

const owners: fc.Arbitrary<Owner[]> = listOf(record({ subtask: name, stage: whole, index: whole, splits: listOf(whole) }));
const trigger = fc.constantFrom('periodic' as const, 'final' as const);

export const jobItems: fc.Arbitrary<JobItem> = record({
  job: text,
  planHash: text,
  status: fc.constantFrom('running', 'pausing', 'paused', 'cancelling', 'failing', 'cancelled', 'failed', 'finished'),
  failure: optional(text),
  generation: whole,
  ringSlots: whole,
  begun: whole,
  open: listOf(record({ checkpoint: whole, generation: whole, begunMs: time, patienceMs: time, owners: listOf(name), trigger })),
  completed: listOf(
    record({ checkpoint: whole, generation: whole, begunMs: time, completedMs: time, trigger, owners, metadata: text, bytes: whole }),
  ),
  confirmed: whole,
  failuresInARow: whole,
  expiredInARow: whole,
  lastBegunMs: time,
  lastEndedMs: optional(time),
  restores: listOf(record({ generation: whole, checkpoint: whole })),
  owners,
  restoring: optional(record({ checkpoint: whole, generation: whole, epoch: whole, owners })),
  moving: optional(record({ generation: whole, parents: listOf(name), children: owners, epoch: whole })),
  until: listOf(fc.tuple(name, whole)),
  rings: listOf(name),
});

export const handleLists: fc.Arbitrary<SubtaskHandle[]> = listOf(
  record({ generation: whole, subtask: name, n: whole, flushedThrough: flushed, head: bytes }),
);

export const versionLists: fc.Arbitrary<Version[]> = listOf(
  record({
    generation: whole,
    epoch: whole,
    n: whole,
    content: fc.oneof(
      record({ value: optional(bytes), object: fc.constant(undefined) }),
      record({ value: fc.constant(undefined), object: text }),
    ),
  }),
).map((list) => list.map(({ content, ...tag }) => ({ ...tag, ...content })));
