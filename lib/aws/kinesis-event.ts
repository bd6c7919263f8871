// An event of a Kinesis mapping: records of one shard, in order. Pure, but for the reading of records, which is the source's.
//   K1  The position of a record is its sequence number, a decimal text of up to 129 digits, compared as a number. Numbers are not dense, so that how
//       many records came before is the subtask's to know: an event says only where each of its records ends.
//   K2  The answer names the lowest number that is not committed; everything from there comes again.

import { SluiceError } from '../core/errors.ts';
import type { Answer, EventRecord, Invocation } from '../invocation/invocation.ts';
import type { Deployed } from './deployed.ts';

export interface KinesisRecord {
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
  readonly invocation: Invocation;
  /** Number of each record that the invocation has, in order. */
  readonly numbers: readonly string[];
}

export function isKinesisEvent(event: unknown): event is KinesisEvent {
  const first = (event as { readonly Records?: readonly { readonly eventSource?: string }[] } | null)?.Records?.[0];
  return first?.eventSource === 'aws:kinesis';
}

export async function kinesisParts(_deployed: Deployed, { Records: records }: KinesisEvent): Promise<readonly KinesisPart[]> {
  throw new SluiceError('FEATURE_NOT_AVAILABLE', {
    message: `records of ${records[0]?.eventSourceARN ?? 'a stream'} are not read by this version`,
    next: 'fix-the-job',
  });
}

/** Pure. */
export function kinesisAnswerOf(answered: readonly { readonly part: KinesisPart; readonly answer: Answer | undefined }[]): KinesisAnswer {
  const open = answered.flatMap(({ part, answer }) => {
    const from = answer === undefined || answer.kind === 'refused' ? 0 : answer.kind === 'done' ? part.numbers.length : answer.count;
    const number = part.numbers[from];
    return number === undefined ? [] : [number];
  });
  const lowest = open.reduce<string | undefined>(
    (low, number) => (low === undefined || BigInt(number) < BigInt(low) ? number : low),
    undefined,
  );
  return { batchItemFailures: lowest === undefined ? [] : [{ itemIdentifier: lowest }] };
}

export type { EventRecord };
