// Lanes: the subtasks that the messages of a queue are spread over.
//   L1  A group is always of the same lane, so its order is that of one changelog. The hash decides placement only.
//   L2  What a message is known by, for repeats, attempts and letters, is the queue's own: group and sequence number, or id. Never the delivery.

import { Buffer } from 'node:buffer';
import type { QueueDelivery, Source, Split } from '../../api/source.ts';
import { murmur3 } from '../../core/hash.ts';
import type { Plan } from '../../graph/plan.ts';
import type { Invocation, QueueMessage } from '../invocation.ts';
import type { RecordName } from '../poison/attempts.ts';
import type { GroupRecord } from '../poison/lane.ts';

export interface LaneRecord extends GroupRecord {
  readonly message: QueueMessage;
  readonly name: RecordName;
}

export interface LaneQueue {
  /** uid of the source. */
  readonly uid: string;
  readonly stage: number;
  readonly queue: QueueDelivery<unknown>;
}

/** The queue that a stage reads, if it is one. */
export function queueOfStage(plan: Plan, stage: number): LaneQueue | undefined {
  const head = plan.stages[stage]?.operators[0];
  const spec = head?.node.operator;
  if (head === undefined || spec?.kind !== 'source' || spec.source.queue === undefined) return undefined;
  return { uid: head.uid, stage, queue: spec.source.queue };
}

export function isQueue(source: Source<unknown> | undefined): boolean {
  return source?.queue !== undefined;
}

/** What `enumerate` of a queue gives. */
export function laneSplits({ lanes }: Pick<QueueDelivery<unknown>, 'lanes'>): readonly Split[] {
  return Array.from({ length: lanes }, (_, lane) => ({ id: `lane-${lane}` }));
}

/** Index of the lane that a message belongs to. */
export function laneOf(
  message: Pick<QueueMessage, 'id' | 'group'>,
  { order, lanes }: Pick<QueueDelivery<unknown>, 'order' | 'lanes'>,
): number {
  return murmur3(Buffer.from(order === 'fifo' ? message.group : message.id, 'utf8')) % lanes;
}

/** Parts of an event that mixes lanes; each is an invocation of its own. In order of the first message of each. */
export function splitByLane(
  messages: readonly QueueMessage[],
  { stage, queue }: Pick<LaneQueue, 'stage' | 'queue'>,
): readonly QueueInvocation[] {
  const parts = Map.groupBy(messages, (message) => laneOf(message, queue));
  return [...parts].map(([lane, part]): QueueInvocation => ({ kind: 'queue', subtask: `${stage}-${lane}`, messages: part }));
}

export type QueueInvocation = Extract<Invocation, { kind: 'queue' }>;

export function laneRecord(message: QueueMessage, { uid, queue }: Pick<LaneQueue, 'uid' | 'queue'>): LaneRecord {
  if (queue.order === 'standard') return { message, group: message.id, sequence: 0n, name: { place: uid, record: message.id } };
  const { group, sequence } = message;
  return { message, group, sequence: BigInt(sequence), name: { place: `${uid}/${group}`, record: sequence } };
}
