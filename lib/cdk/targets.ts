// What stands behind a name: how the functions are told of it, and what they may do with it. Exact actions, on that one thing.

import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { BindingKind } from '../api/binding.ts';
import { SluiceError } from '../core/errors.ts';
import { nameOfKind } from '../core/kinds.ts';
import type { BindTarget, BucketLike, KafkaTopic, StreamLike, TableLike } from './props.ts';
import { checkTopic, topicReads } from './topics.ts';

export type Target =
  | { readonly kind: 'kinesis'; readonly isFifo: false; readonly stream: StreamLike }
  | { readonly kind: 'sqs'; readonly isFifo: boolean; readonly queue: IQueue }
  | { readonly kind: 'dynamodb'; readonly isFifo: false; readonly table: TableLike }
  | { readonly kind: 's3'; readonly isFifo: false; readonly bucket: BucketLike; readonly prefix: string }
  | { readonly kind: 'kafka'; readonly isFifo: false; readonly topic: KafkaTopic };

/** Actions on resources. */
export interface Allowed {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

/** What a function may do with a target, and which key that takes. */
export interface Access {
  readonly allowed: readonly Allowed[];
  readonly key: IKey | undefined;
  readonly keyActions: readonly string[];
}

export const keyReads = ['kms:Decrypt'] as const;
export const keyWrites = ['kms:Decrypt', 'kms:GenerateDataKey'] as const;

/**
 * @param name  that it is bound under
 * @throws SluiceError `BIND_UNFIT`, `DEPLOYMENT_UNSAFE` for a topic that could not be read
 */
export function targetOf(name: string, given: BindTarget): Target {
  if (typeof given === 'object' && given !== null) {
    if ('streamArn' in given) return { kind: 'kinesis', isFifo: false, stream: given };
    if ('queueArn' in given) return { kind: 'sqs', isFifo: given.fifo, queue: given };
    if ('tableArn' in given) return { kind: 'dynamodb', isFifo: false, table: given };
    if ('bucketArn' in given) return { kind: 's3', isFifo: false, bucket: given, prefix: '' };
    if ('topic' in given) {
      checkTopic(name, given);
      return { kind: 'kafka', isFifo: false, topic: given };
    }
    if ('bucket' in given) return { kind: 's3', isFifo: false, bucket: given.bucket, prefix: given.prefix };
  }
  throw new SluiceError('BIND_UNFIT', {
    message: `'${name}' is bound to ${nameOfKind(given)}; it can be bound to a stream, a queue, a table, a bucket, { bucket, prefix }, or { topic, bootstrapServers, auth }`,
    next: 'fix-the-job',
    name,
  });
}

/** As the functions read it (docs/decisions/007). */
export function spelled(target: Target): Readonly<Record<string, unknown>> {
  switch (target.kind) {
    case 'kinesis':
      return { kind: target.kind, stream: target.stream.streamArn };
    case 'sqs':
      return { kind: target.kind, queue: target.queue.queueUrl, fifo: target.isFifo };
    case 'dynamodb':
      return { kind: target.kind, table: target.table.tableName };
    case 's3':
      return { kind: target.kind, bucket: target.bucket.bucketName, prefix: target.prefix };
    case 'kafka':
      return spelledTopic(target.topic);
  }
}

function spelledTopic({ topic, bootstrapServers, auth, secret, pollers }: KafkaTopic): Readonly<Record<string, unknown>> {
  return {
    ...{ kind: 'kafka', bootstrap: bootstrapServers.join(','), topic, auth },
    ...(secret === undefined ? {} : { secret: secret.secretArn }),
    ...(pollers === undefined ? {} : { reportsFailures: true }),
  };
}

/** What its mapping asks for in the name of the function, and what replays, owners of shards and answers ask for. */
export function sourceAccess(target: Target, kind: BindingKind): Access {
  if (target.kind === 'kinesis') {
    const { streamArn, encryptionKey: key } = target.stream;
    return { allowed: [{ actions: streamReads, resources: [streamArn] }], key, keyActions: keyReads };
  }
  if (target.kind === 'sqs') {
    const { queueArn, encryptionMasterKey: key } = target.queue;
    return { allowed: [{ actions: queueReads, resources: [queueArn] }], key, keyActions: keyReads };
  }
  if (target.kind === 'kafka') return { allowed: topicReads(target.topic), key: undefined, keyActions: keyReads };
  throw new Error(`a source of kind ${kind} has no mapping`); // bindings.ts has refused it
}

export const streamReads: readonly string[] = [
  'DescribeStream',
  'DescribeStreamSummary',
  'GetRecords',
  'GetShardIterator',
  'ListShards',
].map((a) => `kinesis:${a}`);

export const queueReads: readonly string[] = ['ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility', 'GetQueueAttributes'].map(
  (a) => `sqs:${a}`,
);

export function sinkAccess(target: Target): Access {
  switch (target.kind) {
    case 'kinesis': {
      const { streamArn, encryptionKey: key } = target.stream;
      const actions = ['kinesis:PutRecord', 'kinesis:PutRecords'];
      return { allowed: [{ actions, resources: [streamArn] }], key, keyActions: keyWrites };
    }
    case 'sqs': {
      const { queueArn, encryptionMasterKey: key } = target.queue;
      return { allowed: [{ actions: ['sqs:SendMessage'], resources: [queueArn] }], key, keyActions: keyWrites };
    }
    case 'dynamodb':
      return {
        allowed: [{ actions: tableActions, resources: [target.table.tableArn] }],
        key: target.table.encryptionKey,
        keyActions: keyWrites,
      };
    case 's3':
      return bucketAccess(target.bucket, target.prefix, ['s3:AbortMultipartUpload', 's3:ListMultipartUploadParts']);
    case 'kafka':
      throw new Error('no sink writes to a topic'); // bindings.ts has refused it
  }
}

/** Of a row and of state alike: reads that are strong, writes with conditions, transactions of them, and batches of single statements. */
export const tableActions: readonly string[] = [
  'GetItem',
  'BatchGetItem',
  'Query',
  'PutItem',
  'UpdateItem',
  'DeleteItem',
  'ConditionCheckItem',
  'PartiQLSelect',
  'PartiQLInsert',
  'PartiQLUpdate',
  'PartiQLDelete',
].map((a) => `dynamodb:${a}`);

/** Without the right to list, an object that is not there is an access that is denied. */
export function bucketAccess(bucket: BucketLike, prefix: string, more: readonly string[]): Access {
  return {
    allowed: [
      { actions: ['s3:GetObject', 's3:PutObject', 's3:DeleteObject', ...more], resources: [bucket.arnForObjects(`${prefix}*`)] },
      { actions: ['s3:ListBucket'], resources: [bucket.bucketArn] },
    ],
    key: bucket.encryptionKey,
    keyActions: keyWrites,
  };
}
