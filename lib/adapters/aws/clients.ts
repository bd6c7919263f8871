// The AWS clients of the runtime, made in one place because none of their defaults can stay: without time-outs a request hangs longer than its
// function lives, and retries inside the client hide an uncertain outcome.
//   C1  Every request ends within `requestMs`, and giving up does not mean that it did not happen: such an error is `unknown`.
//   C2  The client itself tries once. Were its second try throttled after a first one that got no answer, it would say that nothing happened. Who
//       asks again, how often and with which meaning is lib/invocation/patience.ts.
//   C3  Endpoint, Region and credentials are the SDK's own affair, so that `AWS_ENDPOINT_URL` is all that an emulator needs.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type ClientOptions, clientSettings } from './client-settings.ts';

export { type ClientOptions, type ClientSettings, clientSettings, requestMsDefault } from './client-settings.ts';

export interface AwsClients {
  readonly dynamodb: DynamoDBClient;
  readonly s3: S3Client;
  readonly sqs: SQSClient;
}

export function createClients(o: ClientOptions = {}): AwsClients {
  const settings = clientSettings(o);
  // An emulator's address has no room for the name of a bucket in front of it.
  const isEmulated = o.endpoint !== undefined || process.env.AWS_ENDPOINT_URL !== undefined;
  return {
    dynamodb: new DynamoDBClient(settings),
    s3: new S3Client({ ...settings, ...(isEmulated ? { forcePathStyle: true } : {}) }),
    sqs: new SQSClient({ ...settings, useQueueUrlAsEndpoint: false }),
  };
}

export function closeClients({ dynamodb, s3, sqs }: AwsClients): void {
  dynamodb.destroy();
  s3.destroy();
  sqs.destroy();
}
