import { createHash } from 'node:crypto';
import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { AppendedRow, NotTaken, QueueTarget } from '../../../api/targets.ts';
import { errorOf, meaningOf } from '../errors.ts';

/** An SQS queue that rows are sent to. A FIFO queue drops what it got under the same id in the last five minutes. */
export class SqsQueue implements QueueTarget {
  readonly isFifo: boolean;
  readonly #client: SQSClient;
  readonly #url: string;

  constructor(client: SQSClient, { url, isFifo }: { readonly url: string; readonly isFifo: boolean }) {
    this.#client = client;
    this.#url = url;
    this.isFifo = isFifo;
  }

  async send(rows: readonly AppendedRow[]): Promise<readonly NotTaken[]> {
    const entries = rows.map(({ id, key, body }, at) => ({
      Id: String(at),
      MessageBody: body,
      ...(this.isFifo ? { MessageGroupId: groupOf(key), MessageDeduplicationId: id } : {}),
    }));
    try {
      const answer = await this.#client.send(new SendMessageBatchCommand({ QueueUrl: this.#url, Entries: entries }));
      const sent = new Set(answer.Successful?.map(({ Id: id }) => id));
      const failures = new Map(answer.Failed?.map((one) => [one.Id, one]));
      return entries.flatMap(({ Id: id }, at): readonly NotTaken[] => {
        const failed = failures.get(id);
        if (failed === undefined) return sent.has(id) ? [] : [{ at, reason: 'nothing was said of it', isFinal: false }];
        const meaning = meaningOf(failed.Code ?? '');
        return [{ at, reason: `${failed.Code}: ${failed.Message ?? ''}`, isFinal: meaning !== 'nothing' && meaning !== 'unknown' }];
      });
    } catch (error) {
      throw errorOf(error, `sqs:SendMessage to ${this.#url}`);
    }
  }
}

/** Letters, digits and punctuation of ASCII, at most 128 (SQS API reference, SendMessage). */
const group = /^[!-~]{1,128}$/;

/** Pure: the message group of a key. One that SQS would refuse is named by its hash, so that its rows are in order all the same. */
export function groupOf(key: string): string {
  return group.test(key) ? key : createHash('sha256').update(key).digest('hex');
}
