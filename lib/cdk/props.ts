// What a user of the construct says. Everything has a default but the job and what its names are bound to.

import type { RemovalPolicy } from 'aws-cdk-lib';
import type { IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Architecture } from 'aws-cdk-lib/aws-lambda';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IConstruct } from 'constructs';
import type { TopicAuth } from '../adapters/kafka/login.ts';

/** What is asked of a table, made or imported. CDK's own interfaces say less exactly which of their properties may be absent. */
export interface TableLike extends IConstruct {
  readonly tableArn: string;
  readonly tableName: string;
  readonly encryptionKey?: IKey | undefined;
}

export interface StreamLike extends IConstruct {
  readonly streamArn: string;
  readonly streamName: string;
  readonly encryptionKey?: IKey | undefined;
}

export interface BucketLike extends IConstruct {
  readonly bucketArn: string;
  readonly bucketName: string;
  readonly encryptionKey?: IKey | undefined;
  arnForObjects(keyPattern: string): string;
}

export interface SecretLike {
  readonly secretArn: string;
  grantRead(grantee: IGrantable): unknown;
}

/** A folder of a bucket. */
export interface BucketFolder {
  readonly bucket: BucketLike;
  /** Such as `clicks/`. */
  readonly prefix: string;
}

/** A topic of an MSK cluster, or of brokers of one's own. */
export interface KafkaTopic {
  readonly topic: string;
  /** Some of the brokers, `host:port`: the start of a job and each restore read the topic themselves, because a mapping cannot go back. */
  readonly bootstrapServers: readonly string[];
  /** How mapping and functions log in; `none` is without TLS too. `iam` is of MSK, `plain` is not. */
  readonly auth: TopicAuth;
  /** For `scram-512`, `scram-256` and `plain`: a JSON object with `username` and `password`. */
  readonly secret?: SecretLike;
  /** Of an MSK cluster, its ARN. */
  readonly clusterArn?: string;
  /** Of brokers of one's own in a VPC: where the mapping reaches them. */
  readonly subnetIds?: readonly string[];
  readonly securityGroupIds?: readonly string[];
  /** Default `sluice-` and the names of the job and of the source. */
  readonly consumerGroup?: string;
  /** Pollers of the mapping's own, at a price by the hour: only then it gives out again no more of a batch than what was not taken. */
  readonly pollers?: { readonly min: number; readonly max: number };
}

/** What a name of a job can be bound to: made in this app, or imported by its ARN. */
export type BindTarget = StreamLike | IQueue | TableLike | BucketLike | BucketFolder | KafkaTopic;

/** How the mapping of one source gathers records. */
export interface SourceProps {
  /** Records in an invocation. Default 1,000 of a stream or a topic, 100 of a standard queue, 10 of a FIFO queue, which is also its most. */
  readonly batchSize?: number;
  /** How long it waits for a batch to fill, s. Default 1; a FIFO queue has none. */
  readonly batchingWindowSeconds?: number;
  /** Invocations at a time, of a queue. Default its lanes, 2 to 1,000. */
  readonly maxConcurrency?: number;
  /** Open shards of a stream that is imported, where the check of concurrency is to be made before anything is deployed. */
  readonly shards?: number;
}

/** Kinesis streams between stages. */
export interface StreamExchangeProps {
  /**
   * Shards of each. Default one for each subtask of the stage that it leads to, which is also the most; neighbours share one where there are fewer.
   * `on-demand`: AWS counts them, at another price.
   */
  readonly shards?: number | 'on-demand';
  /** 24 to 8,760. Default 168: a message that was dropped is a gap, which only a restore mends. Above 24 a shard has a second price by the hour. */
  readonly retentionHours?: number;
}

export interface SluiceJobProps {
  /** Path of the module that exports the job as its default, from the working directory. */
  readonly entry: string;
  /** Every name that the job's sources and sinks have, and what stands behind it. */
  readonly bind?: Readonly<Record<string, BindTarget>>;
  /** Parameters of the job, as `--name value` gives them to `sluice run`. */
  readonly params?: Readonly<Record<string, string>>;
  /** Settings, under the names of `sluice.yaml`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** By the name that a source is bound under. */
  readonly sources?: Readonly<Record<string, SourceProps>>;

  /**
   * What carries records from stage to stage. `sqs` (default): FIFO queues, cents while idle. `kinesis`, or its settings: streams, for throughput that
   * lasts, with a price by the hour. A job that was started keeps the one that it has.
   */
  readonly exchange?: 'sqs' | 'kinesis' | StreamExchangeProps;

  /** A table with the keys `p` and `s`, both strings, and time to live on `e`, in place of one made here: after a restore of it, say. */
  readonly table?: TableLike;
  /** In place of one made here. */
  readonly bucket?: BucketLike;
  /**
   * What becomes of table, bucket and exchanges when they leave the stack. Default `RETAIN`: they stay, and the table is protected from deletion.
   * `DESTROY` deletes the state with them.
   */
  readonly removalPolicy?: RemovalPolicy;
  /** Encrypts table, bucket, exchanges and the variables of functions. Default: keys that AWS owns. */
  readonly encryptionKey?: IKey;

  /** Of the functions of stages, MB. Default 1,024. */
  readonly memoryMb?: number;
  /** Of stages, s. Default 30, and at most that behind a queue of ours, which shows a message again after 45. Queues bound as sources must hide messages for six times as long. */
  readonly timeoutSeconds?: number;
  /** Reserved for each stage that reads a source. Default: none, so that it shares what the account has. */
  readonly reservedConcurrency?: number;
  /** Reserved for the control function of each stage, default 5; `false` for an account that has too few to reserve any. */
  readonly controlConcurrency?: number | false;
  /** Default arm64, which costs a fifth less. */
  readonly architecture?: Architecture;
  readonly vpc?: IVpc;
  readonly vpcSubnets?: SubnetSelection;
  readonly securityGroups?: readonly ISecurityGroup[];
  /** Variable → secret; the variable holds its ARN, and the functions may read it. */
  readonly secrets?: Readonly<Record<string, SecretLike>>;
  /** Further variables of the functions that run the job. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Traces of the functions and the coordinator by X-Ray. Default false. */
  readonly tracing?: boolean;

  /** `express` (default) costs a start a minute; `standard` shows each execution in the console, and is billed by transition. */
  readonly coordinator?: 'express' | 'standard';

  /** Default 14 days. */
  readonly logRetention?: RetentionDays;
  /** Default true. Each alarm has a price of its own. */
  readonly alarms?: boolean;
  /** Told of every alarm, and of its end. */
  readonly alarmActions?: readonly IAlarmAction[];
  /** Default false: a dashboard has a price of its own. */
  readonly dashboard?: boolean;
  /** Of everything that is made here, besides `sluice:job`. */
  readonly tags?: Readonly<Record<string, string>>;
}
