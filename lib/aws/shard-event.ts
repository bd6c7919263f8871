// An event of the mapping of an exchange that is a stream: messages out of one shard. Pure, but for looking ahead.
//   S1  Neighbouring subtasks may share a shard. Each part of an event is a unit of its own subtask, and the answer names the lowest number that is
//       not committed. What a neighbour has committed behind it comes again, and is dropped by its channel's number.
//   S2  A part that waits for another one of the same shard would wait for ever. None does: a message is taken whatever barriers wait for (it is held
//       in its subtask's entry), and what it follows was sent before it, into the same shard.
//   S3  Sent before is not always in front: of what was put in quick succession a stream keeps no exact order. around-gap.ts is about that.
//   S4  What is no message of the job is passed over, because nobody can take it out of a shard. Were it one, the next message of its channel
//       would be refused for the gap.

import { Buffer } from 'node:buffer';
import type { StreamTarget } from '../api/targets.ts';
import { SluiceError } from '../core/errors.ts';
import type { Answer, Invocation } from '../invocation/invocation.ts';
import { decodeMessage } from '../invocation/message-codec.ts';
import type { Waiting } from './around-gap.ts';
import { type KinesisAnswer, type KinesisEvent, type KinesisRecord, lowestOf, shardOf } from './kinesis-event.ts';

export interface ShardPart {
  readonly invocation: Extract<Invocation, { readonly kind: 'messages' }>;
  /** Number of each message, in order. */
  readonly numbers: readonly string[];
}

export interface ShardParts {
  readonly parts: readonly ShardPart[];
  /** Records that are no messages for this stage. */
  readonly foreign: readonly KinesisRecord[];
}

export function shardParts(stage: number, { Records: records }: KinesisEvent): ShardParts {
  const isOurs = ({ kinesis }: KinesisRecord): boolean => targetOfKey.exec(kinesis.partitionKey)?.[1] === String(stage);
  const byTarget = Map.groupBy(records.filter(isOurs), ({ kinesis }) => kinesis.partitionKey);
  return {
    parts: [...byTarget].map(([subtask, own]) => ({
      numbers: own.map(({ kinesis }) => kinesis.sequenceNumber),
      // A stream does not count how often it hands a record out, so nothing is said of that.
      invocation: { kind: 'messages', subtask, messages: own.map(({ kinesis }) => Buffer.from(kinesis.data, 'base64')) },
    })),
    foreign: records.filter((record) => !isOurs(record)),
  };
}

/** Stage and index of a subtask that is sent to. */
const targetOfKey = /^(\d+)-\d+$/;

/** What of a part is not committed. `undefined`: nobody knows, the call failed. */
export function waitingOf({ invocation, numbers }: ShardPart, answer: Answer | undefined): readonly Waiting[] {
  const count = answer === undefined ? 0 : takenOf(answer, numbers.length);
  return numbers.slice(count).map((number, i) => ({ number, bytes: invocation.messages[count + i]! }));
}

/** How many of so many messages an answer says are committed. */
export function takenOf(answer: Answer, count: number): number {
  if (answer.kind === 'done') return count;
  return answer.kind === 'partial' ? answer.count : 0;
}

export function stopsAtGap(answer: Answer | undefined): boolean {
  return answer !== undefined && answer.kind !== 'done' && answer.why === 'gap';
}

/** @param open  numbers of all messages that are not committed */
export function shardAnswerOf(open: readonly string[]): KinesisAnswer {
  const lowest = lowestOf(open);
  return { batchItemFailures: lowest === undefined ? [] : [{ itemIdentifier: lowest }] };
}

const aheadRecordsMax = 1_000;
const aheadPagesMax = 3;

/** Messages for a subtask that lie behind an event in its shard: the next few, as far as they are known now. */
export async function lookAhead(stream: StreamTarget, { Records: records }: KinesisEvent, subtask: string): Promise<readonly Uint8Array[]> {
  const last = records.at(-1)!;
  const after = last.kinesis.sequenceNumber;
  const found: Uint8Array[] = [];
  let cursor: string | undefined = await stream.begin(shardOf(last), after);
  for (let pages = 0; pages < aheadPagesMax && cursor !== undefined; pages++) {
    const page = await stream.read(cursor, aheadRecordsMax);
    if (page === 'expired') break;
    for (const { sequence, data } of page.records) if (sequence !== after && data !== undefined && isFor(data, subtask)) found.push(data);
    cursor = page.next;
  }
  return found;
}

function isFor(data: Uint8Array, subtask: string): boolean {
  try {
    return decodeMessage(data).target === subtask;
  } catch {
    return false; // whoever has to take it says what is wrong with it
  }
}

export function notOurs({ eventSourceARN: arn, eventID: id, kinesis }: KinesisRecord): SluiceError {
  return new SluiceError('SUBTASK_UNKNOWN', {
    message: `record ${id} of ${arn} has the partition key '${kinesis.partitionKey}', which is no subtask of this stage; it is passed over`,
    next: 'fix-the-command',
    advice: 'nothing but the job may put records into the stream of an exchange',
  });
}

export function behindGap(subtask: string, number: string): SluiceError {
  return new SluiceError('INPUT_NOT_TAKEN', {
    message: `subtask ${subtask} was given message ${number} before the one that it follows, which is not close behind it either; it comes again`,
    next: 'retry-invocation',
    advice:
      'while a shard is split or merged its records may come first; if this goes on, the stream has dropped a message, and a restore is needed',
    subtask,
  });
}
