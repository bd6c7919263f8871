// An event of an SQS mapping: messages of a stage's exchange, or of a queue that a source reads. Pure.
//   E1  An event mixes groups, and each part is a unit of its own subtask.
//   E2  The answer names what is not committed. A message of a group that is named takes every later one of the group with it, or the queue would
//       hand the later ones out first.
//   E3  A message counts as handed out before when its receive count says so: whoever had it may have died of it.

import { bytesOfBody } from '../adapters/aws/sqs-exchange.ts';
import { SluiceError } from '../core/errors.ts';
import type { Answer, Invocation, QueueMessage } from '../invocation/invocation.ts';
import { type LaneQueue, splitByLane } from '../invocation/lane/queues.ts';

export interface SqsRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly eventSource: string;
  readonly eventSourceARN: string;
}

export interface SqsEvent {
  readonly Records: readonly SqsRecord[];
}

export function isSqsEvent(event: object): event is SqsEvent {
  const { Records: records } = event as { readonly Records?: readonly { readonly eventSource?: string }[] };
  return Array.isArray(records) && records.length > 0 && records.every(({ eventSource }) => eventSource === 'aws:sqs');
}

/** A part of an event, and the messages that it is made of, in order. */
export interface SqsPart {
  readonly invocation: Invocation;
  readonly records: readonly SqsRecord[];
}

/** Parts of an event of a stage's exchange queue. */
export function exchangeParts({ Records: records }: SqsEvent): readonly SqsPart[] {
  return [...Map.groupBy(records, groupOf)].map(([subtask, own]) => ({
    records: own,
    invocation: {
      kind: 'messages',
      subtask,
      messages: own.map(({ body }) => bytesOfBody(body)),
      isAgain: own.some((record) => receivesOf(record) > 1),
    },
  }));
}

/** Parts of an event of a queue that a source reads. */
export function queueParts({ Records: records }: SqsEvent, queue: LaneQueue): readonly SqsPart[] {
  const byId = new Map(records.map((record) => [record.messageId, record]));
  return splitByLane(records.map(messageOf), queue).map((invocation) => ({
    invocation,
    records: invocation.messages.map(({ id }) => byId.get(id)!),
  }));
}

function messageOf(record: SqsRecord): QueueMessage {
  const { messageId: id, body, attributes } = record;
  return {
    id,
    body,
    group: attributes.MessageGroupId ?? '',
    sequence: attributes.SequenceNumber ?? '0',
    sentMs: Number(attributes.SentTimestamp ?? 0),
    receives: receivesOf(record),
  };
}

/** @throws SluiceError `SUBTASK_UNKNOWN` */
function groupOf({ attributes, eventSourceARN: arn }: SqsRecord): string {
  const group = attributes.MessageGroupId;
  if (group !== undefined) return group;
  throw new SluiceError('SUBTASK_UNKNOWN', {
    message: `a message of ${arn} has no group, but an exchange is a FIFO queue`,
    next: 'fix-the-command',
  });
}

function receivesOf({ attributes }: SqsRecord): number {
  return Number(attributes.ApproximateReceiveCount ?? 1);
}

/** The records of a part that are not committed. `undefined`: nobody knows, the call failed. */
export function uncommitted({ invocation, records }: SqsPart, answer: Answer | undefined): readonly SqsRecord[] {
  if (answer === undefined || answer.kind === 'refused') return records;
  if (answer.kind === 'done') return [];
  if (invocation.kind !== 'queue') return records.slice(answer.count);
  const settled = new Set(answer.settled ?? []);
  const open = records.filter(({ messageId }) => !settled.has(messageId));
  // Only in a FIFO queue do messages have a number, and groups an order; elsewhere a group is a matter of fairness.
  const first = new Map<string, number>();
  for (const record of open) {
    const group = record.attributes.MessageGroupId;
    if (group !== undefined && record.attributes.SequenceNumber !== undefined && !first.has(group))
      first.set(group, records.indexOf(record));
  }
  return records.filter((record, i) => {
    const from = first.get(record.attributes.MessageGroupId ?? '');
    return open.includes(record) || (from !== undefined && i >= from);
  });
}

export interface SqsAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/** In order of the event. */
export function answerOf({ Records: records }: SqsEvent, failed: readonly SqsRecord[]): SqsAnswer {
  const open = new Set(failed);
  return {
    batchItemFailures: records.filter((record) => open.has(record)).map(({ messageId }) => ({ itemIdentifier: messageId })),
  };
}
