// queues.ts answers requests to SQS FIFO queues: a strict fake of the exchange for each queue, in the service's words.

import type {
  ChangeMessageVisibilityBatchCommandInput,
  DeleteMessageBatchCommandInput,
  ReceiveMessageCommandInput,
  SendMessageBatchCommandInput,
} from '@aws-sdk/client-sqs';
import { FakeService } from '../../../lib/testing/invocation/index.ts';

export interface QueueAnswer {
  readonly output: Readonly<Record<string, unknown>>;
  readonly items: number;
  readonly bytes: number;
}

const visibilityMs = 45_000;
const dedupMs = 300_000;

export class Queues {
  readonly #now: () => number;
  readonly #queues = new Map<string, FakeService['exchange']>();

  constructor(now: () => number) {
    this.#now = now;
  }

  execute(command: string, input: object): QueueAnswer {
    const queue = this.#of((input as { readonly QueueUrl?: string }).QueueUrl ?? '');
    switch (command) {
      case 'SendMessageBatch': {
        const { Entries: entries = [] } = input as SendMessageBatchCommandInput;
        const messages = entries.map((e) => ({
          group: e.MessageGroupId ?? '',
          id: e.MessageDeduplicationId ?? '',
          bytes: Buffer.from(e.MessageBody ?? '', 'latin1'),
        }));
        queue.send(messages);
        const bytes = messages.reduce((sum, message) => sum + message.bytes.length, 0);
        return { output: { Successful: entries.map(({ Id }) => ({ Id })), Failed: [] }, items: entries.length, bytes };
      }
      case 'ReceiveMessage': {
        const { MaxNumberOfMessages: max = 1 } = input as ReceiveMessageCommandInput;
        const messages = queue.receive({ max }).map(({ group, bytes, receipt, receives }) => ({
          Attributes: { MessageGroupId: group, ApproximateReceiveCount: String(receives) },
          Body: Buffer.from(bytes).toString('latin1'),
          ReceiptHandle: receipt,
        }));
        return { output: { Messages: messages }, items: messages.length, bytes: messages.reduce((sum, m) => sum + m.Body.length, 0) };
      }
      case 'DeleteMessageBatch': {
        const { Entries: entries = [] } = input as DeleteMessageBatchCommandInput;
        queue.settle(entries.map(({ ReceiptHandle: receipt = '' }) => receipt));
        return { output: { Successful: entries, Failed: [] }, items: entries.length, bytes: 0 };
      }
      case 'ChangeMessageVisibilityBatch': {
        const { Entries: entries = [] } = input as ChangeMessageVisibilityBatchCommandInput;
        for (const { ReceiptHandle: receipt = '', VisibilityTimeout: seconds = 0 } of entries)
          queue.release({ receipts: [receipt], delayMs: seconds * 1_000 });
        return { output: { Successful: entries, Failed: [] }, items: entries.length, bytes: 0 };
      }
      default:
        throw new Error(`the stand-in of the queue does not know ${command}`);
    }
  }

  #of(url: string): FakeService['exchange'] {
    const queue = this.#queues.get(url) ?? new FakeService({ now: this.#now, visibilityMs: () => visibilityMs, dedupMs }).exchange;
    this.#queues.set(url, queue);
    return queue;
  }
}
