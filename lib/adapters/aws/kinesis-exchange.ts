import { type KinesisClient, PutRecordsCommand, type PutRecordsResultEntry } from '@aws-sdk/client-kinesis';
import { SluiceError } from '../../core/errors.ts';
import type { Delivery, Exchange, OutgoingMessage } from '../../invocation/ports.ts';
import { checkMessages } from '../../invocation/request-limits.ts';
import { errorOf, errorOfPart, meaningOf } from './errors.ts';
import type { StreamPlace } from './exchange-place.ts';
import { stageOfGroup } from './layout.ts';
import { sendInOrder } from './send-in-order.ts';

/**
 * The exchange as Kinesis streams, one for each stage that is sent to: in one stream of several, what a stage waits for could lie behind what the next
 * one does not take.
 *   X1  A batch is accepted in parts, in any order, inside an answer that is a success (send-in-order.ts). What was not accepted is left from the first
 *       message of its target on, and none behind it was sent.
 *   X2  Where a target's messages lie follows from its number alone, so whoever sends puts them into one shard. Targets are spread evenly over the
 *       hash keys: as many shards as targets give each its own, fewer are shared by neighbours, and a shard that is split or merged keeps them together.
 *   X3  A stream knows no ids. What is sent again lies in it again, and the target drops it by its number.
 *   X4  The bounds of a request (500 records, 5 MiB, 1 MiB each) are above those that the port has for all exchanges.
 *   X5  A mapping hands out what a stream holds, and nothing is ever taken out of it.
 */
export class KinesisExchange implements Exchange {
  readonly #client: KinesisClient;
  readonly #streams: Readonly<Record<string, StreamPlace>>;

  /** @param streams  stage (its index in the plan) → stream */
  constructor(client: KinesisClient, streams: Readonly<Record<string, StreamPlace>>) {
    this.#client = client;
    this.#streams = streams;
  }

  async send(messages: readonly OutgoingMessage[]): Promise<{ readonly left: readonly number[] }> {
    checkMessages(messages);
    return await sendInOrder(messages, (indexes) => this.#sendSome(messages, indexes));
  }

  receive(): Promise<readonly Delivery[]> {
    return Promise.reject(handedOut());
  }

  settle(): Promise<void> {
    return Promise.reject(handedOut());
  }

  release(): Promise<void> {
    return Promise.reject(handedOut());
  }

  async #sendSome(messages: readonly OutgoingMessage[], indexes: readonly number[]): Promise<readonly number[]> {
    const { stream, targets } = this.#placeOf(stageOfGroup(messages[indexes[0]!]!.group));
    const records = indexes.map((i) => {
      const { group, bytes } = messages[i]!;
      const hashKey = hashKeyOf(group, targets);
      return { PartitionKey: group, Data: bytes, ...(hashKey === undefined ? {} : { ExplicitHashKey: hashKey }) };
    });
    const what = `kinesis:PutRecords to ${stream}`;
    let answers: readonly PutRecordsResultEntry[];
    try {
      ({ Records: answers = [] } = await this.#client.send(new PutRecordsCommand({ StreamARN: stream, Records: records })));
    } catch (error) {
      throw errorOf(error, what);
    }
    return leftOf(answers, what, indexes.length).map((at) => indexes[at]!);
  }

  #placeOf(stage: string): StreamPlace {
    const place = this.#streams[stage];
    if (place !== undefined) return place;
    throw new SluiceError('SUBTASK_UNKNOWN', {
      message: `stage ${stage} has no exchange stream; there are streams of ${Object.keys(this.#streams).join(', ') || 'none'}`,
      next: 'report-a-bug',
    });
  }
}

/**
 * Pure: which records of a request, by their places in it, have to be sent again. One of which nothing was said is among them.
 * @throws SluiceError of an error that sending again would not mend
 */
export function leftOf(answers: readonly PutRecordsResultEntry[], what: string, count: number): readonly number[] {
  const left: number[] = [];
  for (let at = 0; at < count; at++) {
    const { ErrorCode: code, ErrorMessage: message, SequenceNumber: number } = answers[at] ?? {};
    if (code === undefined || code === null) {
      if (number === undefined || number === null) left.push(at);
      continue;
    }
    const meaning = meaningOf(code);
    if (meaning !== 'nothing' && meaning !== 'unknown') throw errorOfPart({ code, message: message ?? undefined }, what);
    left.push(at);
  }
  return left;
}

const hashKeys = 2n ** 128n;

/** Pure: the middle of a target's part of all hash keys. @returns `undefined`: the group is no subtask of a stage that is sent to */
export function hashKeyOf(group: string, targets: number): string | undefined {
  const index = /^\d+-(\d+)$/.exec(group)?.[1];
  if (index === undefined || Number(index) >= targets) return undefined;
  return String(((2n * BigInt(index) + 1n) * hashKeys) / (2n * BigInt(targets)));
}

function handedOut(): SluiceError {
  return new SluiceError('INTERNAL', { message: 'what a stream holds is handed out by its mapping', next: 'report-a-bug' });
}
