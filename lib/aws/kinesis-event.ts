// An event of a Kinesis mapping: records of one shard, in order.
//   K1  The place of a record is its sequence number, a decimal text of up to 129 digits, compared as a number. Numbers are not dense.
//   K2  The answer names the lowest number that is not committed; everything from there comes again.
//   K3  Which subtask a shard belongs to never changes, so what is known stays known; a shard that is not known yet is looked for again.

import { Buffer } from 'node:buffer';
import { SluiceError } from '../core/errors.ts';
import { knownSplits } from '../invocation/coordinator/changes.ts';
import { sourceOf, splitOwner } from '../invocation/coordinator/owners.ts';
import type { Answer, Invocation } from '../invocation/invocation.ts';
import type { InvocationPorts } from '../invocation/ports.ts';
import type { DeployedStage } from './deployed.ts';
import { type DeliveredRecord, readEvents } from './read-events.ts';

export interface KinesisRecord {
  /** Shard and sequence number. */
  readonly eventID: string;
  readonly eventSource: string;
  readonly eventSourceARN: string;
  readonly kinesis: { readonly data: string; readonly partitionKey: string; readonly sequenceNumber: string };
}

export interface KinesisEvent {
  readonly Records: readonly KinesisRecord[];
}

export interface KinesisAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

export interface KinesisPart {
  readonly invocation: Extract<Invocation, { readonly kind: 'records' }>;
  /** Number of each record that the invocation has, in order, and of what could not be read behind them. */
  readonly numbers: readonly string[];
}

export function isKinesisEvent(event: unknown): event is KinesisEvent {
  const first = (event as { readonly Records?: readonly { readonly eventSource?: string }[] } | null)?.Records?.[0];
  return first?.eventSource === 'aws:kinesis';
}

/** @throws SluiceError `SUBTASK_UNKNOWN` for a shard that the job has not heard of yet, `MALFORMED_RECORD` when the first record cannot be read */
export async function kinesisParts(
  deployed: Pick<DeployedStage, 'ports' | 'plan' | 'settings'>,
  { Records: records }: KinesisEvent,
): Promise<readonly KinesisPart[]> {
  const stage = deployed.settings.stage ?? 0;
  const source = sourceOf(deployed.plan.stages[stage]);
  if (source?.readRecord === undefined) {
    throw new SluiceError('BIND_UNFIT', {
      message: `stage ${stage} reads no stream, and was given records of ${records[0]?.eventSourceARN}`,
      next: 'fix-the-command',
      advice: 'the mapping belongs to another stage; deploy the stack again',
    });
  }
  const parts: KinesisPart[] = [];
  for (const [shard, own] of Map.groupBy(records, shardOf)) {
    const ordinal = await ordinalOf(deployed.ports, stage, shard);
    const { subtask } = splitOwner(stage, ordinal, {});
    const { events, numbers } = readEvents(source, own.map(delivered));
    const reread = () => readEvents(source, own.map(delivered)).events;
    if (events.length > 0)
      parts.push({ numbers, invocation: { kind: 'records', subtask, split: ordinal, records: events, reread, isLast: false } });
  }
  return parts;
}

export function shardOf({ eventID }: Pick<KinesisRecord, 'eventID'>): string {
  return eventID.slice(0, eventID.indexOf(':'));
}

const ordinals = new WeakMap<object, Map<string, number>>();

async function ordinalOf(ports: Pick<InvocationPorts, 'items'>, stage: number, shard: string): Promise<number> {
  const known = ordinals.get(ports) ?? new Map<string, number>();
  ordinals.set(ports, known);
  const name = `${stage} ${shard}`;
  if (!known.has(name)) for (const [ordinal, { id }] of await knownSplits(ports, stage)) known.set(`${stage} ${id}`, ordinal);
  const ordinal = known.get(name);
  if (ordinal !== undefined) return ordinal;
  throw new SluiceError('SUBTASK_UNKNOWN', {
    message: `shard ${shard} of stage ${stage} is not known to the job yet`,
    next: 'retry-invocation',
    advice: 'a shard that others gave way to is known when they have been read to their ends; its records wait in the stream',
  });
}

function delivered({ kinesis }: KinesisRecord): DeliveredRecord {
  return { number: kinesis.sequenceNumber, data: Buffer.from(kinesis.data, 'base64') };
}

/** Pure. */
export function kinesisAnswerOf(answered: readonly { readonly part: KinesisPart; readonly answer: Answer | undefined }[]): KinesisAnswer {
  const open = answered.flatMap(({ part, answer }) => {
    const { records } = part.invocation;
    const from = answer === undefined || answer.kind === 'refused' ? 0 : answer.kind === 'done' ? records.length : answer.count;
    const number = part.numbers[from];
    return number === undefined ? [] : [number];
  });
  const lowest = lowestOf(open);
  return { batchItemFailures: lowest === undefined ? [] : [{ itemIdentifier: lowest }] };
}

/** Pure: numbers are of any length, and no order of texts. */
export function lowestOf(numbers: readonly string[]): string | undefined {
  return numbers.reduce<string | undefined>((low, number) => (low === undefined || BigInt(number) < BigInt(low) ? number : low), undefined);
}
