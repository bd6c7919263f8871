// A table, a bucket and a queue of their own for one test.
import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { CreateQueueCommand } from '@aws-sdk/client-sqs';
import { inject } from 'vitest';
import { type AwsClients, createClients } from '../../lib/adapters/aws/clients.ts';

export interface Place {
  readonly table: string;
  readonly bucket: string;
  readonly queue: string;
}

/**
 * Clients of the emulator that this run has started.
 * @param requestMs  for one request; an emulator on a busy machine may take its time
 */
export function emulatorClients(requestMs?: number): AwsClients {
  const { endpoint, variables } = inject('emulator');
  Object.assign(process.env, variables);
  return createClients({ endpoint, ...(requestMs === undefined ? {} : { requestMs }) });
}

let places = 0;

export async function createPlace({ dynamodb, s3, sqs }: AwsClients, o: { readonly visibilitySeconds: number }): Promise<Place> {
  const name = `sluice-${process.pid}-${++places}`;
  await dynamodb.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'p', KeyType: 'HASH' },
        { AttributeName: 's', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'p', AttributeType: 'S' },
        { AttributeName: 's', AttributeType: 'S' },
      ],
    }),
  );
  await s3.send(new CreateBucketCommand({ Bucket: name }));
  const { QueueUrl: queue = '' } = await sqs.send(
    new CreateQueueCommand({
      QueueName: `${name}.fifo`,
      Attributes: { FifoQueue: 'true', VisibilityTimeout: String(o.visibilitySeconds), MessageRetentionPeriod: '1209600' },
    }),
  );
  return { table: name, bucket: name, queue };
}
