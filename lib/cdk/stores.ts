// Where the state of a job lies. Nothing here is ever deleted without being told so, and no rule of the bucket touches an object that something
// may refer to: what goes is what was deleted or replaced days ago, and uploads that nobody finished.

import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { attribute } from '../adapters/aws/layout.ts';
import { noncurrentDays, unfinishedUploadDays } from './defaults.ts';
import { answered } from './nag.ts';
import type { BucketLike, TableLike } from './props.ts';

export interface StoreProps {
  readonly removalPolicy: RemovalPolicy;
  readonly key: IKey | undefined;
}

export function createTable(scope: Construct, { removalPolicy, key }: StoreProps): TableLike {
  return new Table(scope, 'Table', {
    partitionKey: { name: attribute.partition, type: AttributeType.STRING },
    sortKey: { name: attribute.sort, type: AttributeType.STRING },
    timeToLiveAttribute: attribute.expires,
    billingMode: BillingMode.PAY_PER_REQUEST,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    removalPolicy,
    deletionProtection: removalPolicy !== RemovalPolicy.DESTROY,
    ...(key === undefined ? {} : { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey: key }),
  });
}

export function createBucket(scope: Construct, { removalPolicy, key }: StoreProps): BucketLike {
  const bucket = new Bucket(scope, 'Bucket', {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    versioned: true,
    removalPolicy,
    autoDeleteObjects: removalPolicy === RemovalPolicy.DESTROY,
    lifecycleRules: [
      {
        id: 'WhatWasDeletedDaysAgo',
        noncurrentVersionExpiration: Duration.days(noncurrentDays),
        expiredObjectDeleteMarker: true,
      },
      { id: 'UploadsThatNobodyFinished', abortIncompleteMultipartUploadAfter: Duration.days(unfinishedUploadDays) },
    ],
    ...(key === undefined
      ? { encryption: BucketEncryption.S3_MANAGED }
      : { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true }),
  });
  answered(bucket, {
    'AwsSolutions-S1': 'Only the functions of the job read and write it; who wants a log of that gives a bucket of their own that has one.',
  });
  return bucket;
}
