// What carries records to a stage: a queue, or a stream. Its settings are part of the protocol, so few are for choosing.
//   Q1  Nothing takes a message away but the subtask that committed it: a queue has no redrive policy, and the longest retention there is. A message
//       that fails holds back its own group only. From a stream nobody takes anything, so its retention is for choosing: it is paid by the hour.
//   Q2  The queue hides a message for longer than the function may take, so two environments seldom work on one.
//   Q3  Throughput is counted for each group of a queue, and for each shard of a stream; a shard more than there are subtasks would get nothing.
//   Q4  Each stage has one of its own: in one stream of two stages, the second would hold up the first that it waits for.

import { Duration, type RemovalPolicy } from 'aws-cdk-lib';
import { Stream, StreamEncryption, StreamMode } from 'aws-cdk-lib/aws-kinesis';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { ExchangePlace } from '../adapters/aws/exchange-place.ts';
import { SluiceError } from '../core/errors.ts';
import {
  exchangeRetentionDays,
  exchangeStreamHours,
  exchangeVisibilitySeconds,
  onDemandShards,
  streamHoursMax,
  streamHoursMin,
} from './defaults.ts';
import { answered } from './nag.ts';
import type { SluiceJobProps } from './props.ts';
import { type Access, keyReads, keyWrites, queueReads, streamReads } from './targets.ts';

export type StageExchange =
  | { readonly kind: 'sqs'; readonly queue: Queue }
  | {
      readonly kind: 'kinesis';
      readonly stream: Stream;
      /** Subtasks that its messages are for. */
      readonly targets: number;
      /** At first, where AWS counts them. */
      readonly shards: number;
    };

/** How all exchanges of a job are made. */
export type ExchangeStyle =
  | { readonly kind: 'sqs' }
  | { readonly kind: 'kinesis'; readonly shards: number | 'on-demand' | undefined; readonly retentionHours: number };

/** Pure. @throws SluiceError `DEPLOYMENT_UNSAFE` */
export function exchangeStyle(given: SluiceJobProps['exchange'] = 'sqs'): ExchangeStyle {
  if (given === 'sqs') return { kind: 'sqs' };
  if (given !== 'kinesis' && typeof given !== 'object') {
    throw unsafe(`exchange is '${String(given)}'; it is 'sqs', 'kinesis', or { shards, retentionHours } of streams`);
  }
  const { shards, retentionHours = exchangeStreamHours, ...others } = given === 'kinesis' ? {} : given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw unsafe(`exchange has '${unknown}', and knows shards and retentionHours`);
  if (shards !== undefined && shards !== 'on-demand' && !(Number.isInteger(shards) && shards >= 1)) {
    throw unsafe(`exchange.shards is ${shards}; it is a whole number from 1 on, or 'on-demand'`);
  }
  if (!(Number.isInteger(retentionHours) && retentionHours >= streamHoursMin && retentionHours <= streamHoursMax)) {
    throw unsafe(`exchange.retentionHours is ${retentionHours}; it is a whole number from ${streamHoursMin} to ${streamHoursMax}`);
  }
  return { kind: 'kinesis', shards, retentionHours };
}

interface ExchangeProps {
  readonly style: ExchangeStyle;
  /** Of the stage. */
  readonly parallelism: number;
  readonly removalPolicy: RemovalPolicy;
  readonly key: IKey | undefined;
}

export function createExchange(scope: Construct, { style, ...o }: ExchangeProps): StageExchange {
  return style.kind === 'sqs' ? { kind: 'sqs', queue: createQueue(scope, o) } : createStream(scope, { ...o, ...style });
}

function createQueue(scope: Construct, o: Omit<ExchangeProps, 'style'>): Queue {
  const queue = new Queue(scope, 'Exchange', {
    fifo: true,
    contentBasedDeduplication: false,
    deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
    fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
    visibilityTimeout: Duration.seconds(exchangeVisibilitySeconds),
    retentionPeriod: Duration.days(exchangeRetentionDays),
    enforceSSL: true,
    removalPolicy: o.removalPolicy,
    ...(o.key === undefined
      ? { encryption: QueueEncryption.SQS_MANAGED }
      : { encryption: QueueEncryption.KMS, encryptionMasterKey: o.key }),
  });
  answered(queue, {
    'AwsSolutions-SQS3':
      'A dead-letter queue would take a message out of its order, and the receiver would wait for it for ever; records that fail are parked in the state of the job.',
  });
  return queue;
}

function createStream(
  scope: Construct,
  o: Omit<ExchangeProps, 'style'> & Omit<Extract<ExchangeStyle, { kind: 'kinesis' }>, 'kind'>,
): StageExchange {
  const { shards: wanted = o.parallelism, parallelism: targets } = o;
  const isOnDemand = wanted === 'on-demand';
  const shards = isOnDemand ? onDemandShards : Math.min(wanted, targets);
  // Another id than a queue's: a resource cannot change its type.
  const stream = new Stream(scope, 'ExchangeStream', {
    ...(isOnDemand ? { streamMode: StreamMode.ON_DEMAND } : { streamMode: StreamMode.PROVISIONED, shardCount: shards }),
    retentionPeriod: Duration.hours(o.retentionHours),
    removalPolicy: o.removalPolicy,
    ...(o.key === undefined ? { encryption: StreamEncryption.MANAGED } : { encryption: StreamEncryption.KMS, encryptionKey: o.key }),
  });
  return { kind: 'kinesis', stream, targets, shards };
}

/** As functions and commands are told of it. */
export function placeOf(exchange: StageExchange): ExchangePlace {
  if (exchange.kind === 'sqs') return exchange.queue.queueUrl;
  return { stream: exchange.stream.streamArn, targets: exchange.targets };
}

export function sendingAccess(exchange: StageExchange): Access {
  if (exchange.kind === 'sqs') {
    const { queueArn, encryptionMasterKey: key } = exchange.queue;
    return { allowed: [{ actions: ['sqs:SendMessage'], resources: [queueArn] }], key, keyActions: keyWrites };
  }
  const { streamArn, encryptionKey: key } = exchange.stream;
  return { allowed: [{ actions: ['kinesis:PutRecords'], resources: [streamArn] }], key, keyActions: keyWrites };
}

/** What its mapping asks for in the name of the function, which looks ahead in a shard as well. */
export function receivingAccess(exchange: StageExchange): Access {
  if (exchange.kind === 'sqs') {
    const { queueArn, encryptionMasterKey: key } = exchange.queue;
    return { allowed: [{ actions: queueReads, resources: [queueArn] }], key, keyActions: keyReads };
  }
  const { streamArn, encryptionKey: key } = exchange.stream;
  return { allowed: [{ actions: streamReads, resources: [streamArn] }], key, keyActions: keyReads };
}

function unsafe(message: string): SluiceError {
  return new SluiceError('DEPLOYMENT_UNSAFE', { message, next: 'fix-the-job' });
}
