// What a lane remembers of a group, as keyed state: committed with the effect, rolled back with it, materialised and loaded like any other.
//   G1  In queues with order a group has one item, and a mark in the time bucket of its newest record. In queues without, a message's item lies in
//       the bucket itself: its time is part of the message.
//   G2  Every item is in the bucket of the time that it says, or has a mark there. So whoever goes through the old buckets finds all that may be
//       forgotten, and nothing else has to be looked at.

import { Buffer } from 'node:buffer';
import type { QueueDelivery } from '../../api/source.ts';
import { ValueReader, ValueWriter } from '../../core/value-codec.ts';
import type { StateAddress, StateWrite } from '../entry.ts';
import { positionName } from '../poison/lane.ts';

export interface GroupState {
  /** Of the last record settled; `undefined`: none is remembered. */
  readonly settled: bigint | undefined;
  /** Tries of the record that the group cannot get past. */
  readonly attempt: { readonly record: string; readonly count: number } | undefined;
  /** When the queue took the newest record that this speaks of. */
  readonly sentMs: number;
}

export interface LaneAddress {
  readonly subtask: string;
  readonly queue: Pick<QueueDelivery<unknown>, 'order' | 'retentionMs'>;
}

/** No uid has this character, so no state of an operator lies here. */
export const positionsOperator = '#positions';

/** A bucket is listed whole when its time is over. Without order it holds the messages themselves, so it is short. */
const bucketsPerRetention = 24;
const standardBucketMsMax = 60_000;

export function bucketMs({ order, retentionMs }: LaneAddress['queue']): number {
  const even = Math.max(1, Math.ceil(retentionMs / bucketsPerRetention));
  return order === 'fifo' ? even : Math.min(even, standardBucketMsMax);
}

export function bucketOf(sentMs: number, queue: LaneAddress['queue']): number {
  return Math.max(0, Math.floor(sentMs / bucketMs(queue)));
}

/** Partition of a bucket: marks of groups, or states of messages, by `sub`. */
export function bucketAddress(subtask: string, bucket: number): StateAddress {
  return { operator: positionsOperator, state: subtask, key: `b${bucket}`, sub: '' };
}

export function groupAddress(lane: LaneAddress, group: string, sentMs: number): StateAddress {
  const name = binary(positionName({ group }));
  if (lane.queue.order === 'standard') return { ...bucketAddress(lane.subtask, bucketOf(sentMs, lane.queue)), sub: name };
  return { operator: positionsOperator, state: lane.subtask, key: `g${name}`, sub: '' };
}

/** A mark of a bucket names its group. */
export function groupOfMark(sub: string): string {
  return Buffer.from(sub, 'latin1').toString('utf8');
}

/** What has to be written for a group to be in its new state. */
export function groupWrites(lane: LaneAddress, group: string, was: GroupState | undefined, now: GroupState): readonly StateWrite[] {
  const write = { address: groupAddress(lane, group, now.sentMs), value: encodeGroup(now) };
  if (lane.queue.order === 'standard') return [write];
  const bucket = bucketOf(now.sentMs, lane.queue);
  if (was !== undefined && bucketOf(was.sentMs, lane.queue) === bucket) return [write];
  return [write, { address: { ...bucketAddress(lane.subtask, bucket), sub: binary(positionName({ group })) }, value: mark }];
}

const mark = new Uint8Array([1]);
const groupFormat = 1;

export function encodeGroup({ settled, attempt, sentMs }: GroupState): Uint8Array {
  const writer = new ValueWriter(64);
  writer.writeByte(groupFormat);
  const facts = [sentMs, settled?.toString() ?? null];
  writer.writeValue(attempt === undefined ? facts : [...facts, attempt.record, attempt.count]);
  return writer.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeGroup(bytes: Uint8Array): GroupState {
  const reader = new ValueReader(bytes, 0, 'position of a group');
  reader.readFormat(groupFormat);
  const [sentMs, settled, record, count] = reader.readValue() as [number, string | null, string?, number?];
  reader.expectEnd();
  const attempt = record === undefined || count === undefined ? undefined : { record, count };
  return { settled: settled === null ? undefined : BigInt(settled), attempt, sentMs };
}

/** Keys of items are binary strings. */
function binary(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
