import {
  type BatchResultErrorEntry,
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { SluiceError } from '../../core/errors.ts';
import type { Delivery, Exchange, OutgoingMessage } from '../../invocation/ports.ts';
import { checkMessages, checkReceive } from '../../invocation/request-limits.ts';
import { afterPart, errorOf, errorOfPart, meaningOf, nameOf } from './errors.ts';
import { stageOfGroup } from './layout.ts';
import { sendInOrder } from './send-in-order.ts';

/**
 * The exchange as FIFO queues, one for each stage that is sent to.
 *   X1  A batch is accepted in parts (send-in-order.ts).
 *   X2  A queue counts text: bytes travel as base64, for which `sendBytesMax` leaves room.
 *   X3  A receipt names its queue.
 */
export class SqsExchange implements Exchange {
  readonly #client: SQSClient;
  readonly #queues: Readonly<Record<string, string>>;

  /** @param queues  stage (its index in the plan) → URL */
  constructor(client: SQSClient, queues: Readonly<Record<string, string>>) {
    this.#client = client;
    this.#queues = queues;
  }

  async send(messages: readonly OutgoingMessage[]): Promise<{ readonly left: readonly number[] }> {
    checkMessages(messages);
    return await sendInOrder(messages, (indexes) => this.#sendSome(messages, indexes));
  }

  async #sendSome(messages: readonly OutgoingMessage[], indexes: readonly number[]): Promise<readonly number[]> {
    const url = this.#urlOf(stageOfGroup(messages[indexes[0]!]!.group));
    const command = new SendMessageBatchCommand({
      QueueUrl: url,
      Entries: indexes.map((i) => {
        const { group, id, bytes } = messages[i]!;
        return { Id: String(i), MessageGroupId: group, MessageDeduplicationId: id, MessageBody: bodyOf(bytes) };
      }),
    });
    const { Failed: failed = [], Successful: sent = [] } = await this.#ask('SendMessage', url, () => this.#client.send(command));
    for (const one of failed) this.#throwIfOurs(one, url);
    // One of which nothing was said is sent again, as the one that it is.
    const ids = new Set(sent.map(({ Id: id }) => Number(id)));
    return indexes.filter((i) => !ids.has(i));
  }

  async receive({ max }: { readonly max: number }): Promise<readonly Delivery[]> {
    checkReceive(max);
    for (const [stage, url] of Object.entries(this.#queues)) {
      const command = new ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: max,
        MessageSystemAttributeNames: ['MessageGroupId', 'ApproximateReceiveCount'],
      });
      const { Messages: messages = [] } = await this.#ask('ReceiveMessage', url, () => this.#client.send(command));
      if (messages.length > 0) return messages.map((message) => deliveryOf(stage, message));
    }
    return [];
  }

  async settle(receipts: readonly string[]): Promise<void> {
    await this.#each(receipts, async (url, own) => {
      const command = new DeleteMessageBatchCommand({
        QueueUrl: url,
        Entries: own.map((handle, i) => ({ Id: String(i), ReceiptHandle: handle })),
      });
      const { Failed: failed = [] } = await this.#ask('DeleteMessage', url, () => this.#client.send(command));
      // A receipt that is too old may do nothing; anything else would leave a message that the caller takes for settled.
      const undone = failed.filter(({ Code: code = '' }) => !isStale(code));
      if (undone.length === 0) return;
      const error = this.#undone('DeleteMessage', url, undone);
      throw undone.length < own.length ? afterPart(error) : error;
    });
  }

  async release(p: { readonly receipts: readonly string[]; readonly delayMs: number }): Promise<void> {
    const seconds = Math.ceil(p.delayMs / 1_000);
    await this.#each(p.receipts, async (url, own) => {
      const command = new ChangeMessageVisibilityBatchCommand({
        QueueUrl: url,
        Entries: own.map((handle, i) => ({ Id: String(i), ReceiptHandle: handle, VisibilityTimeout: seconds })),
      });
      // What is not released comes again by itself, only later.
      await this.#ask('ChangeMessageVisibility', url, () => this.#client.send(command));
    });
  }

  async #each(receipts: readonly string[], request: (url: string, own: readonly string[]) => Promise<void>): Promise<void> {
    let done = 0;
    for (const [url, own] of this.#byQueue(receipts)) {
      try {
        await request(url, own);
      } catch (error) {
        throw done > 0 ? afterPart(error) : error;
      }
      done++;
    }
  }

  /** Receipts of at most ten messages each, by queue; what is no receipt is left out. */
  *#byQueue(receipts: readonly string[]): Generator<readonly [string, readonly string[]]> {
    const byStage = Map.groupBy(receipts, (receipt) => receipt.slice(0, Math.max(0, receipt.indexOf(receiptMark))));
    for (const [stage, own] of byStage) {
      const url = this.#queues[stage];
      if (url === undefined) continue;
      const handles = [...new Set(own.map((receipt) => receipt.slice(stage.length + receiptMark.length)))];
      for (let from = 0; from < handles.length; from += batchMax) yield [url, handles.slice(from, from + batchMax)];
    }
  }

  #urlOf(stage: string): string {
    const url = this.#queues[stage];
    if (url !== undefined) return url;
    throw new SluiceError('SUBTASK_UNKNOWN', {
      message: `stage ${stage} has no exchange queue; there are queues of ${Object.keys(this.#queues).join(', ') || 'none'}`,
      next: 'report-a-bug',
    });
  }

  #throwIfOurs({ Code: code = '', Message: message }: BatchResultErrorEntry, url: string): void {
    const meaning = meaningOf(code);
    if (meaning === 'nothing' || meaning === 'unknown') return;
    throw errorOfPart({ code, message }, `sqs:SendMessage to ${url}`);
  }

  #undone(action: string, url: string, failed: readonly BatchResultErrorEntry[]): Error {
    const { Code: code = 'InternalError', Message: message } = failed[0]!;
    return errorOfPart({ code, message }, `sqs:${action} of ${failed.length} messages of ${url}`);
  }

  async #ask<T>(action: string, url: string, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      throw errorOf(error, `sqs:${action} at ${url}${nameOf(error) === 'QueueDoesNotExist' ? ', which does not exist' : ''}`);
    }
  }
}

const receiptMark = ' ';
const batchMax = 10;

function isStale(code: string): boolean {
  return code === 'ReceiptHandleIsInvalid' || code === 'InvalidParameterValue' || code === 'InvalidReceiptHandle';
}

/** A queue takes no empty body; no base64 begins with a full stop. */
const emptyBody = '.';

export function bodyOf(bytes: Uint8Array): string {
  return bytes.length === 0 ? emptyBody : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

export function bytesOfBody(body: string): Uint8Array {
  return body === emptyBody ? new Uint8Array(0) : Buffer.from(body, 'base64');
}

function deliveryOf(stage: string, message: Message): Delivery {
  const { Attributes: attributes = {}, Body: body = '', ReceiptHandle: handle = '' } = message;
  return {
    group: attributes.MessageGroupId ?? '',
    bytes: bytesOfBody(body),
    receipt: `${stage}${receiptMark}${handle}`,
    receives: Number(attributes.ApproximateReceiveCount ?? 1),
  };
}
