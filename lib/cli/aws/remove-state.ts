// Removes where the state of a job lies. What is gone already is no error, so that it can be done again.

import { clientSettings } from '../../adapters/aws/client-settings.ts';
import { type AwsClients, closeClients, createClients } from '../../adapters/aws/clients.ts';
import { nameOf } from '../../adapters/aws/errors.ts';
import { queuesIn, streamsIn } from '../../adapters/aws/exchange-place.ts';
import { type AwsPlace, asked, loadClient } from './sdk.ts';
import type { DeployedJob } from './stack.ts';

type Stores = Pick<DeployedJob, 'table' | 'bucket' | 'queues'>;

/** @param say  each thing that is gone */
export async function removeState(stores: Stores, place: AwsPlace, say: (line: string) => void): Promise<void> {
  const clients = createClients({ endpoint: place.endpoint });
  try {
    await removeTable(clients, stores.table, place); // first: without it no function of the job does anything
    say(`table ${stores.table} is deleted`);
    for (const url of Object.values(queuesIn(stores.queues))) {
      await removeQueue(clients, url, place);
      say(`queue ${url} is deleted`);
    }
    for (const { stream } of Object.values(streamsIn(stores.queues))) {
      await removeStream(stream, place);
      say(`stream ${stream} is deleted`);
    }
    await removeBucket(clients, stores.bucket, place);
    say(`bucket ${stores.bucket} is deleted`);
  } finally {
    closeClients(clients);
  }
}

const gone: readonly string[] = [
  'ResourceNotFoundException',
  'QueueDoesNotExist',
  'AWS.SimpleQueueService.NonExistentQueue',
  'NoSuchBucket',
];

async function unlessGone<T>(what: string, place: AwsPlace, request: () => Promise<T>): Promise<T | undefined> {
  return await asked(what, place, async () => {
    try {
      return await request();
    } catch (error) {
      if (gone.includes(nameOf(error))) return undefined;
      throw error;
    }
  });
}

async function removeTable({ dynamodb }: AwsClients, table: string, place: AwsPlace): Promise<void> {
  const sdk = await loadClient('@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb'));
  const unprotect = new sdk.UpdateTableCommand({ TableName: table, DeletionProtectionEnabled: false });
  await unlessGone(`dynamodb:UpdateTable on ${table}`, place, () => dynamodb.send(unprotect));
  await unlessGone(`dynamodb:DeleteTable on ${table}`, place, () => dynamodb.send(new sdk.DeleteTableCommand({ TableName: table })));
}

async function removeQueue({ sqs }: AwsClients, url: string, place: AwsPlace): Promise<void> {
  const sdk = await loadClient('@aws-sdk/client-sqs', () => import('@aws-sdk/client-sqs'));
  await unlessGone(`sqs:DeleteQueue on ${url}`, place, () => sqs.send(new sdk.DeleteQueueCommand({ QueueUrl: url })));
}

async function removeStream(arn: string, place: AwsPlace): Promise<void> {
  const sdk = await loadClient('@aws-sdk/client-kinesis', () => import('@aws-sdk/client-kinesis'));
  const client = new sdk.KinesisClient(clientSettings({ endpoint: place.endpoint }));
  const remove = new sdk.DeleteStreamCommand({ StreamARN: arn, EnforceConsumerDeletion: true });
  try {
    await unlessGone(`kinesis:DeleteStream on ${arn}`, place, () => client.send(remove));
  } finally {
    client.destroy();
  }
}

/** A bucket is deleted only when it is empty, of older versions too. */
async function removeBucket({ s3 }: AwsClients, bucket: string, place: AwsPlace): Promise<void> {
  const sdk = await loadClient('@aws-sdk/client-s3', () => import('@aws-sdk/client-s3'));
  for (;;) {
    const list = new sdk.ListObjectVersionsCommand({ Bucket: bucket });
    const page = await unlessGone(`s3:ListBucketVersions on ${bucket}`, place, () => s3.send(list));
    if (page === undefined) return;
    const objects = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].map(({ Key, VersionId }) => ({ Key, VersionId }));
    if (objects.length === 0) break;
    const remove = new sdk.DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: objects, Quiet: true } });
    await unlessGone(`s3:DeleteObjectVersion on ${bucket}`, place, () => s3.send(remove));
  }
  await unlessGone(`s3:DeleteBucket on ${bucket}`, place, () => s3.send(new sdk.DeleteBucketCommand({ Bucket: bucket })));
}
