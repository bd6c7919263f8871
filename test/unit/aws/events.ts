// Events as mappings deliver them, with every field that they have.

import type { KinesisEvent } from '../../../lib/aws/kinesis-event.ts';
import type { SqsEvent, SqsRecord } from '../../../lib/aws/sqs-event.ts';

export interface FifoMessage {
  readonly id: string;
  readonly group: string;
  readonly body?: string;
  readonly receives?: number;
  readonly sequence?: string;
}

const fifoArn = 'arn:aws:sqs:us-east-1:123456789012:clicks.fifo';
const standardArn = 'arn:aws:sqs:us-east-1:123456789012:clicks';

export function fifoEvent(messages: readonly FifoMessage[]): SqsEvent {
  const records = messages.map(({ id, group, body = id, receives = 1, sequence }, i) => ({
    messageId: id,
    receiptHandle: `handle-${id}`,
    body,
    attributes: {
      ApproximateReceiveCount: String(receives),
      SentTimestamp: '1573251510774',
      SequenceNumber: sequence ?? String(18_849_496_460_467_696_128n + BigInt(i) * 256n),
      MessageGroupId: group,
      SenderId: 'AIDAIO23YVJENQZJOL4VO',
      MessageDeduplicationId: id,
      ApproximateFirstReceiveTimestamp: '1573251510774',
    },
    messageAttributes: {},
    md5OfBody: 'e4e68fb7bd0e697a0ae8f1bb342846b3',
    eventSource: 'aws:sqs',
    eventSourceARN: fifoArn,
    awsRegion: 'us-east-1',
  }));
  return { Records: records };
}

/** A queue without order; a group there is one for fair shares. */
export function standardEvent(messages: readonly { readonly id: string; readonly group?: string; readonly body?: string }[]): SqsEvent {
  const records = messages.map(({ id, group, body = id }): SqsRecord => {
    const attributes = {
      ApproximateReceiveCount: '1',
      SentTimestamp: '1545082649183',
      SenderId: 'AIDAIENQZJOLO23YVJ4VO',
      ApproximateFirstReceiveTimestamp: '1545082649185',
      ...(group === undefined ? {} : { MessageGroupId: group }),
    };
    return { messageId: id, receiptHandle: `handle-${id}`, body, attributes, eventSource: 'aws:sqs', eventSourceARN: standardArn };
  });
  return { Records: records };
}

export function kinesisEvent(
  shard: string,
  records: readonly { readonly number: string; readonly key?: string; readonly data: string | Uint8Array }[],
): KinesisEvent {
  return {
    Records: records.map(({ number, key = '1', data }) => ({
      kinesis: {
        kinesisSchemaVersion: '1.0',
        partitionKey: key,
        sequenceNumber: number,
        data: Buffer.from(data).toString('base64'),
        approximateArrivalTimestamp: 1_545_084_650.987,
      },
      eventSource: 'aws:kinesis',
      eventVersion: '1.0',
      eventID: `${shard}:${number}`,
      eventName: 'aws:kinesis:record',
      invokeIdentityArn: 'arn:aws:iam::123456789012:role/lambda-role',
      awsRegion: 'us-east-2',
      eventSourceARN: 'arn:aws:kinesis:us-east-2:123456789012:stream/clicks',
    })),
  };
}
