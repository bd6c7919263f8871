// A topic as a source: its mapping, and what both the mapping and the functions may do.
//   T1  The mapping names its consumer group after the job, so that one that is made anew goes on where the old one was.
//   T2  No failure destination: with one the mapping would give records up after ten tries. Records that fail are the job's to park.
//   T3  Only a mapping with pollers of its own is told which partitions are taken how far; the function learns by its target which sort it has.
//   T4  The mapping logs in as the functions do, which read the topic for restores: what they cannot do is refused here.

import { Annotations, Fn } from 'aws-cdk-lib';
import {
  type CfnEventSourceMapping,
  EventSourceMapping,
  type EventSourceMappingOptions,
  SourceAccessConfigurationType,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { type TopicAuth, topicAuths } from '../adapters/kafka/login.ts';
import { SluiceError } from '../core/errors.ts';
import { topicTimeoutSecondsMax } from './defaults.ts';
import type { JobFunction } from './job-function.ts';
import { answered } from './nag.ts';
import { allow } from './permissions.ts';
import type { KafkaTopic, SourceProps } from './props.ts';
import type { Allowed } from './targets.ts';

export interface TopicMapping {
  readonly job: string;
  /** That the topic is bound under. */
  readonly name: string;
  readonly topic: KafkaTopic;
  readonly fn: JobFunction;
  readonly props: SourceProps;
  readonly timeoutSeconds: number;
  readonly gathering: Pick<EventSourceMappingOptions, 'batchSize' | 'maxBatchingWindow'>;
  readonly isInVpc: boolean;
}

export function createTopicMapping(scope: Construct, o: TopicMapping): EventSourceMapping {
  const { topic, name, fn, timeoutSeconds, job, gathering } = o;
  if (timeoutSeconds > topicTimeoutSecondsMax)
    throw unsafe(
      name,
      `its function may take ${timeoutSeconds} s, and the mapping of a topic waits for ${topicTimeoutSecondsMax} s at most`,
    );
  if (o.props.maxConcurrency !== undefined)
    throw unsafe(name, 'sources.maxConcurrency is of queues; give pollers: { min, max } with the topic');
  if (!o.isInVpc) warnOfNetwork(scope, name);
  allowMapping(fn, o);
  const { pollers, clusterArn, bootstrapServers } = topic;
  const access = accessOf(topic);
  const mapping = new EventSourceMapping(scope, 'Mapping', {
    target: fn.lambda,
    ...(clusterArn === undefined ? { kafkaBootstrapServers: [...bootstrapServers] } : { eventSourceArn: clusterArn }),
    kafkaTopic: topic.topic,
    kafkaConsumerGroupId: groupOf(job, name, topic),
    ...(access.length === 0 ? {} : { sourceAccessConfigurations: access }),
    startingPosition: StartingPosition.TRIM_HORIZON,
    ...gathering,
    ...(pollers === undefined
      ? {}
      : { provisionedPollerConfig: { minimumPollers: pollers.min, maximumPollers: pollers.max }, reportBatchItemFailures: true }),
  });
  if (pollers !== undefined) {
    const made = mapping.node.defaultChild as CfnEventSourceMapping;
    made.maximumRetryAttempts = -1;
    made.maximumRecordAgeInSeconds = -1;
  }
  return mapping;
}

function groupOf(job: string, name: string, { consumerGroup }: KafkaTopic): string {
  return consumerGroup ?? `sluice-${job}-${name}`.slice(0, 200);
}

const accessTypes: Readonly<Partial<Record<TopicAuth, SourceAccessConfigurationType>>> = {
  'scram-512': SourceAccessConfigurationType.SASL_SCRAM_512_AUTH,
  'scram-256': SourceAccessConfigurationType.SASL_SCRAM_256_AUTH,
  plain: SourceAccessConfigurationType.BASIC_AUTH,
};

function accessOf({ auth, secret, subnetIds = [], securityGroupIds = [] }: KafkaTopic) {
  const type = accessTypes[auth];
  return [
    ...(type === undefined || secret === undefined ? [] : [{ type, uri: secret.secretArn }]),
    ...subnetIds.map((id) => ({ type: SourceAccessConfigurationType.VPC_SUBNET, uri: `subnet:${id}` })),
    ...securityGroupIds.map((id) => ({ type: SourceAccessConfigurationType.VPC_SECURITY_GROUP, uri: `security_group:${id}` })),
  ];
}

/** What functions that read the topic do: those of its stage and the pulse. The secret grants itself. */
export function topicReads({ auth, clusterArn, topic }: KafkaTopic): readonly Allowed[] {
  if (auth !== 'iam' || clusterArn === undefined) return [];
  const actions = ['DescribeTopic', 'DescribeTopicDynamicConfiguration', 'ReadData'].map((a) => `kafka-cluster:${a}`);
  return [
    { actions: ['kafka-cluster:Connect'], resources: [clusterArn] },
    { actions, resources: [`${within(clusterArn, 'topic')}/${topic}`] },
  ];
}

/** What a mapping does in the name of its function besides: finding the brokers, a way to them, and its group. */
function allowMapping({ role }: JobFunction, { job, name, topic }: TopicMapping): void {
  const { auth, clusterArn, subnetIds = [] } = topic;
  if (clusterArn !== undefined) {
    const scram = auth.startsWith('scram') ? ['kafka:ListScramSecrets'] : [];
    allow(role, [
      { actions: ['kafka:DescribeCluster', 'kafka:DescribeClusterV2', 'kafka:GetBootstrapBrokers', ...scram], resources: [clusterArn] },
    ]);
  }
  if (clusterArn !== undefined && auth === 'iam')
    allow(role, [
      {
        actions: ['kafka-cluster:AlterGroup', 'kafka-cluster:DescribeGroup'],
        resources: [`${within(clusterArn, 'group')}/${groupOf(job, name, topic)}`],
      },
      { actions: ['kafka-cluster:DescribeClusterDynamicConfiguration'], resources: [clusterArn] },
    ]);
  if (clusterArn === undefined && subnetIds.length === 0) return;
  const actions = ['CreateNetworkInterface', 'DeleteNetworkInterface'];
  const looks = ['DescribeNetworkInterfaces', 'DescribeSecurityGroups', 'DescribeSubnets', 'DescribeVpcs'];
  allow(role, [{ actions: [...actions, ...looks].map((a) => `ec2:${a}`), resources: ['*'] }]);
  answered(role, {
    'AwsSolutions-IAM5[Resource::*]': 'Lambda makes network interfaces in the name of the role, and they have no name before.',
  });
}

/** The topics or groups of a cluster: its ARN with another word in front of its name. */
function within(clusterArn: string, kind: 'topic' | 'group'): string {
  return Fn.join(`:${kind}/`, Fn.split(':cluster/', clusterArn, 2));
}

function warnOfNetwork(scope: Construct, name: string): void {
  Annotations.of(scope).addWarningV2(
    'sluice:topic-network',
    `the functions are in no VPC: make sure that they reach the brokers of '${name}', which the start of the job and every restore read`,
  );
}

const bootstrapServer = /^[^\s,:]+:\d{1,5}$/;

/** @throws SluiceError `DEPLOYMENT_UNSAFE` */
export function checkTopic(name: string, topic: KafkaTopic): void {
  const { auth, secret, clusterArn, pollers, bootstrapServers, consumerGroup, subnetIds = [], securityGroupIds = [] } = topic;
  if (!/^[\w.-]{1,249}$/.test(topic.topic)) throw unsafe(name, `'${topic.topic}' is no name of a topic`);
  if (!topicAuths.includes(auth))
    throw unsafe(
      name,
      `auth '${String(auth)}' is none of ${topicAuths.join(', ')}; with certificates of clients the functions cannot read a topic`,
    );
  const wrong = bootstrapServers.find((server) => !bootstrapServer.test(server));
  if (bootstrapServers.length === 0 || wrong !== undefined)
    throw unsafe(name, `bootstrapServers are 'host:port', at least one, and not '${wrong ?? ''}'`);
  if (accessTypes[auth] !== undefined && secret === undefined)
    throw unsafe(name, `auth '${auth}' needs a secret with username and password`);
  if (accessTypes[auth] === undefined && secret !== undefined) throw unsafe(name, `auth '${auth}' has no use for a secret`);
  if (auth === 'iam' && clusterArn === undefined) throw unsafe(name, "auth 'iam' is of MSK: give the clusterArn");
  if (auth === 'plain' && clusterArn !== undefined) throw unsafe(name, "auth 'plain' is not of MSK: take 'scram-512'");
  if (clusterArn !== undefined && subnetIds.length + securityGroupIds.length > 0)
    throw unsafe(name, 'subnetIds and securityGroupIds are of brokers of your own; a mapping takes those of the MSK cluster');
  if (consumerGroup !== undefined && !/^[\w\-/*:+=.@]{1,200}$/.test(consumerGroup))
    throw unsafe(name, `'${consumerGroup}' is no name of a consumer group`);
  if (pollers !== undefined && !(pollers.min >= 1 && pollers.min <= 200 && pollers.max >= pollers.min && pollers.max <= 2_000))
    throw unsafe(name, `pollers are ${pollers.min} to ${pollers.max}; min is 1 to 200, max from there to 2,000`);
}

function unsafe(name: string, why: string): SluiceError {
  return new SluiceError('DEPLOYMENT_UNSAFE', { message: `topic '${name}': ${why}`, next: 'fix-the-job', name });
}
