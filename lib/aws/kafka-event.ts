// An event of a Kafka mapping, of MSK or of brokers of one's own: records of several partitions of one topic, each in order.
//   K1  Each partition is a unit of its own. Those that one subtask reads are taken one after the other, or they would only be in each other's way.
//   K2  The place of a record is its offset, and which subtask reads a partition follows from the partition's number, so nothing has to be looked up
//       and a partition that was added is known by itself.
//   K3  A mapping in provisioned mode takes the first offset that is not committed of each partition, as an object; any other commits the event whole or
//       gives it out again whole. Then an event of which something is left has failed, and what is committed of it is dropped when it comes again.

import { Buffer } from 'node:buffer';
import { SluiceError } from '../core/errors.ts';
import { sourceOf } from '../invocation/coordinator/owners.ts';
import type { Answer, Invocation } from '../invocation/invocation.ts';
import type { DeployedStage } from './deployed.ts';
import { type DeliveredRecord, readEvents } from './read-events.ts';

export interface KafkaRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Base64; of a message without one absent or null. */
  readonly key?: string | null;
  /** As above: a message with a key and without a value is a tombstone. */
  readonly value?: string | null;
}

export interface KafkaEvent {
  readonly eventSource: string;
  /** By topic and partition, such as `clicks-0`. */
  readonly records: Readonly<Record<string, readonly KafkaRecord[]>>;
}

export interface KafkaAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: { readonly partition: string; readonly offset: number } }[];
}

export interface KafkaPart {
  readonly invocation: Extract<Invocation, { readonly kind: 'records' }>;
  /** Topic and partition, as the event names them. */
  readonly name: string;
  /** Offset of each record that the invocation has, in order, and of what could not be read behind them. */
  readonly numbers: readonly string[];
}

export function isKafkaEvent(event: object): event is KafkaEvent {
  const { eventSource, records } = event as Partial<KafkaEvent>;
  const isOfKafka = eventSource === 'aws:kafka' || eventSource === 'SelfManagedKafka';
  return isOfKafka && Object.values(records ?? {}).some((own) => Array.isArray(own) && own.length > 0);
}

export function recordsOf({ records }: KafkaEvent): number {
  return Object.values(records).reduce((sum, own) => sum + own.length, 0);
}

/** What was read of an event; of a partition whose first record cannot be read, why. */
export interface KafkaParts {
  readonly parts: readonly KafkaPart[];
  readonly unreadable: readonly { readonly name: string; readonly offset: number; readonly error: unknown }[];
}

/** @throws SluiceError `BIND_UNFIT` for records of another topic than the job reads */
export function kafkaParts({ plan, settings }: Pick<DeployedStage, 'plan' | 'settings'>, event: KafkaEvent): KafkaParts {
  const id = settings.stage ?? 0;
  const stage = plan.stages[id];
  const source = sourceOf(stage);
  const bound = source?.binding === undefined ? undefined : settings.bind[source.binding.name];
  const parts: KafkaPart[] = [];
  const unreadable: { readonly name: string; readonly offset: number; readonly error: unknown }[] = [];
  for (const [name, records] of Object.entries(event.records)) {
    const [first] = records;
    if (first === undefined) continue;
    const { topic, partition } = first;
    if (stage === undefined || source?.splitOf === undefined || bound?.kind !== 'kafka' || bound.topic !== topic) throw unfit(id, topic);
    try {
      const { events, numbers } = readEvents(source, records.map(delivered));
      const subtask = `${id}-${partition % stage.parallelism}`;
      const reread = () => readEvents(source, records.map(delivered)).events;
      if (events.length > 0)
        parts.push({ name, numbers, invocation: { kind: 'records', subtask, split: partition, records: events, reread, isLast: false } });
    } catch (error) {
      unreadable.push({ name, offset: first.offset, error });
    }
  }
  return { parts, unreadable };
}

function delivered({ offset, value, key }: KafkaRecord): DeliveredRecord {
  return { number: String(offset), data: bytesOf(value), key: bytesOf(key) };
}

function bytesOf(text: string | null | undefined): Uint8Array | undefined {
  return text === null || text === undefined ? undefined : Buffer.from(text, 'base64');
}

function unfit(stage: number, topic: string): SluiceError {
  return new SluiceError('BIND_UNFIT', {
    message: `stage ${stage} does not read the topic ${topic}, and was given records of it`,
    next: 'fix-the-command',
    advice:
      'the mapping belongs to another stage, or the name was bound to another topic, whose offsets are others; deploy the stack again',
  });
}

interface Answered {
  readonly part: KafkaPart;
  readonly answer: Answer | undefined;
}

/** Pure: the first offset of each partition that is not committed. */
export function kafkaAnswerOf(answered: readonly Answered[], unreadable: KafkaParts['unreadable']): KafkaAnswer {
  const open = answered.flatMap(({ part, answer }) => {
    const { records } = part.invocation;
    const from = answer === undefined || answer.kind === 'refused' ? 0 : answer.kind === 'done' ? records.length : answer.count;
    const number = part.numbers[from];
    return number === undefined ? [] : [{ partition: part.name, offset: Number(number) }];
  });
  const unread = unreadable.map(({ name, offset }) => ({ partition: name, offset }));
  return { batchItemFailures: [...open, ...unread].map((itemIdentifier) => ({ itemIdentifier })) };
}

/** For a mapping that hears of no single offset. @throws SluiceError `INPUT_NOT_TAKEN` when something is left */
export function wholeOrNothing(answer: KafkaAnswer): KafkaAnswer {
  const [first] = answer.batchItemFailures;
  if (first === undefined) return answer;
  const { partition, offset } = first.itemIdentifier;
  throw new SluiceError('INPUT_NOT_TAKEN', {
    message: `${answer.batchItemFailures.length} partitions of this event are not taken whole, ${partition} from offset ${offset} on; the event comes again`,
    next: 'retry-invocation',
    advice: 'with pollers of its own (provisioned mode) a mapping gives out again only what was not taken',
  });
}
