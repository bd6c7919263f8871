// The queue in front of a stage: first in, first out, the group is the target subtask. Its settings are part of the protocol, so none is for choosing.
//   Q1  Nothing takes a message away but the subtask that committed it: no redrive policy, and the longest retention there is. A message that
//       fails holds back its own group only.
//   Q2  The queue hides a message for longer than the function may take, so two environments seldom work on one.
//   Q3  Throughput is counted for each group, not for the queue.

import { Duration, type RemovalPolicy } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { exchangeRetentionDays, exchangeVisibilitySeconds } from './defaults.ts';
import { answered } from './nag.ts';

export function createExchange(scope: Construct, o: { readonly removalPolicy: RemovalPolicy; readonly key: IKey | undefined }): Queue {
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
