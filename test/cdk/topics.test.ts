// A job that reads a topic: the mapping, what it and the functions may do, ids, alarms, and what is refused because restores could not read it.
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { type IVpc, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { type KafkaTopic, SluiceJob, type SluiceJobProps } from 'sluice/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { allowed, createStack, type Deployed, nagFindings, resourceOf, resourcesOf, totalsIn } from './support.ts';

const cluster = 'arn:aws:kafka:eu-west-1:111122223333:cluster/clicks/0a1b2c3d-1';
const msk: KafkaTopic = {
  topic: 'page.views',
  clusterArn: cluster,
  bootstrapServers: ['b-1.clicks.kafka.eu-west-1.amazonaws.com:9098', 'b-2.clicks.kafka.eu-west-1.amazonaws.com:9098'],
  auth: 'iam',
};

function deployViews(
  topic: Partial<KafkaTopic> | ((stack: Deployed['stack']) => KafkaTopic) = {},
  props: Partial<SluiceJobProps> = {},
): Deployed {
  const { app, stack } = createStack();
  const views = typeof topic === 'function' ? topic(stack) : { ...msk, ...topic };
  const job = new SluiceJob(stack, 'Views', { entry: 'test/cdk/jobs/views.ts', bind: { views, totals: totalsIn(stack) }, ...props });
  return { app, stack, job, template: Template.fromStack(stack) };
}

const userArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:kafka-user-AbCdEf';
const scram = (stack: Deployed['stack']): KafkaTopic => ({
  topic: 'page.views',
  bootstrapServers: ['kafka.example.com:9096'],
  auth: 'scram-512',
  secret: Secret.fromSecretCompleteArn(stack, 'User', userArn),
  subnetIds: ['subnet-1', 'subnet-2'],
  securityGroupIds: ['sg-1'],
});

let views: Deployed;
beforeAll(() => {
  views = deployViews();
});

const mappingOf = ({ template }: Deployed) => resourceOf(template, 'AWS::Lambda::EventSourceMapping', 'ViewsStageviews');
const mayOf = ({ template }: Deployed, role: string, service: RegExp) =>
  allowed(template, role)
    .filter(([action]) => service.test(action))
    .map(([action, resource]) => `${action} ${resource}`)
    .sort();

describe('the mapping of a topic', () => {
  test('of MSK reads it whole from the beginning in a group of the job, with nothing that would give a record up', () => {
    const mapping = mappingOf(views);
    expect(mapping).toMatchObject({
      EventSourceArn: cluster,
      Topics: ['page.views'],
      AmazonManagedKafkaEventSourceConfig: { ConsumerGroupId: 'sluice-views-views' },
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 1_000,
      MaximumBatchingWindowInSeconds: 1,
    });
    for (const name of [
      'DestinationConfig',
      'MaximumRetryAttempts',
      'FunctionResponseTypes',
      'Enabled',
      'FilterCriteria',
      'ProvisionedPollerConfig',
    ])
      expect(mapping).not.toHaveProperty(name);
  });

  test('with pollers of its own is told which partitions are taken how far, and its function knows', () => {
    const deployed = deployViews(
      { pollers: { min: 1, max: 4 }, consumerGroup: 'views-2' },
      { sources: { views: { batchSize: 50, batchingWindowSeconds: 0 } } },
    );
    expect(mappingOf(deployed)).toMatchObject({
      ProvisionedPollerConfig: { MinimumPollers: 1, MaximumPollers: 4 },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      MaximumRetryAttempts: -1,
      MaximumRecordAgeInSeconds: -1,
      BatchSize: 50,
      AmazonManagedKafkaEventSourceConfig: { ConsumerGroupId: 'views-2' },
    });
    const bindOf = (of: Deployed): string => {
      const { Environment: environment } = resourceOf(of.template, 'AWS::Lambda::Function', 'ViewsStageviewsUnits');
      return JSON.stringify((environment as { readonly Variables: Record<string, unknown> }).Variables.SLUICE_BIND).replaceAll('\\', '');
    };
    expect(bindOf(deployed)).toContain('"reportsFailures":true');
    expect(bindOf(views)).not.toContain('reportsFailures');
    expect(bindOf(views)).toContain('b-1.clicks.kafka.eu-west-1.amazonaws.com:9098,b-2.clicks');
  });

  test('of brokers of one’s own logs in with the secret and goes the way that it was given', () => {
    const deployed = deployViews(scram);
    expect(mappingOf(deployed)).toMatchObject({
      SelfManagedEventSource: { Endpoints: { KafkaBootstrapServers: ['kafka.example.com:9096'] } },
      SelfManagedKafkaEventSourceConfig: { ConsumerGroupId: 'sluice-views-views' },
      SourceAccessConfigurations: [
        { Type: 'SASL_SCRAM_512_AUTH', URI: userArn },
        { Type: 'VPC_SUBNET', URI: 'subnet:subnet-1' },
        { Type: 'VPC_SUBNET', URI: 'subnet:subnet-2' },
        { Type: 'VPC_SECURITY_GROUP', URI: 'security_group:sg-1' },
      ],
    });
    expect(mayOf(deployed, 'ViewsPulse', /^secretsmanager:/).map((line) => line.split(' ')[0])).toEqual([
      'secretsmanager:DescribeSecret',
      'secretsmanager:GetSecretValue',
    ]);
    expect(mayOf(deployed, 'ViewsStageviewsUnits', /^kafka/)).toEqual([]);
  });

  test('is warned of when the functions are in no network that the brokers are known to be in', () => {
    const { stack } = views;
    Annotations.fromStack(stack).hasWarning('*', Match.stringLikeRegexp('make sure that they reach the brokers of .views.'));
    const other = createStack();
    const bind = { views: msk, totals: totalsIn(other.stack) };
    new SluiceJob(other.stack, 'Views', { entry: 'test/cdk/jobs/views.ts', bind, vpc: new Vpc(other.stack, 'Vpc') as IVpc });
    Annotations.fromStack(other.stack).hasNoWarning('*', Match.stringLikeRegexp('brokers'));
  });
});

describe('roles of a job that reads a topic', () => {
  const reads = [
    `kafka-cluster:Connect ${cluster}`,
    'kafka-cluster:DescribeTopic arn:aws:kafka:eu-west-1:111122223333:topic/clicks/0a1b2c3d-1/page.views',
    'kafka-cluster:DescribeTopicDynamicConfiguration arn:aws:kafka:eu-west-1:111122223333:topic/clicks/0a1b2c3d-1/page.views',
    'kafka-cluster:ReadData arn:aws:kafka:eu-west-1:111122223333:topic/clicks/0a1b2c3d-1/page.views',
  ];

  test('the function that the mapping calls reads the topic and moves its group; control and pulse read it', () => {
    const deployed = views;
    const group = 'arn:aws:kafka:eu-west-1:111122223333:group/clicks/0a1b2c3d-1/sluice-views-views';
    expect(mayOf(deployed, 'ViewsStageviewsControl', /^(kafka|ec2)/)).toEqual(reads);
    expect(mayOf(deployed, 'ViewsPulse', /^(kafka|ec2)/)).toEqual(reads);
    expect(mayOf(deployed, 'ViewsStageviewsUnits', /^(kafka|ec2)/)).toEqual(
      [
        ...reads,
        `kafka-cluster:AlterGroup ${group}`,
        `kafka-cluster:DescribeGroup ${group}`,
        `kafka-cluster:DescribeClusterDynamicConfiguration ${cluster}`,
        ...['DescribeCluster', 'DescribeClusterV2', 'GetBootstrapBrokers'].map((a) => `kafka:${a} ${cluster}`),
        ...[
          'CreateNetworkInterface',
          'DeleteNetworkInterface',
          'DescribeNetworkInterfaces',
          'DescribeSecurityGroups',
          'DescribeSubnets',
          'DescribeVpcs',
        ].map((a) => `ec2:${a} *`),
      ].sort(),
    );
    expect(mayOf(deployed, 'ViewsStagecount', /^(kafka|ec2)/)).toEqual([]);
  });

  test('cdk-nag finds nothing that is not answered with a reason', () => {
    for (const deployed of [deployViews({ pollers: { min: 1, max: 2 } }, { dashboard: true }), deployViews(scram)]) {
      expect(nagFindings(deployed)).toEqual([]);
    }
  });
});

test('logical ids of what holds state are frozen', () => {
  const { template } = views;
  const stateful = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::SQS::Queue', 'AWS::Lambda::EventSourceMapping'];
  expect(stateful.flatMap((type) => Object.keys(template.findResources(type, Match.anyValue())))).toMatchInlineSnapshot(`
    [
      "Totals8BD25B11",
      "ViewsTable3452DA9D",
      "ViewsBucket28340D8A",
      "ViewsStagecountExchangeC7185D99",
      "ViewsStageviewsMappingDBE54100",
      "ViewsStagecountExchangeMapping7630DC75",
    ]
  `);
});

test('an alarm watches how far the group is behind', () => {
  const alarms = [...resourcesOf(views.template, 'AWS::CloudWatch::Alarm', 'ViewsAlarmsOffsetLag').values()];
  expect(alarms).toMatchObject([{ MetricName: 'OffsetLag', Threshold: 100_000, EvaluationPeriods: 5, Namespace: 'AWS/Lambda' }]);
});

describe('refused', () => {
  const wrong: readonly (readonly [Partial<KafkaTopic> | ((stack: Deployed['stack']) => KafkaTopic), RegExp, Partial<SluiceJobProps>?])[] =
    [
      [{ topic: 'a topic' }, /topic 'views': 'a topic' is no name of a topic/],
      [{ topic: 'x'.repeat(250) }, /is no name of a topic/],
      [
        { auth: 'mtls' as never },
        /auth 'mtls' is none of none, tls, scram-512, .*; with certificates of clients the functions cannot read a topic/,
      ],
      [{ bootstrapServers: [] }, /bootstrapServers are 'host:port', at least one/],
      [{ bootstrapServers: ['b-1'] }, /and not 'b-1'/],
      [{ auth: 'scram-512' }, /auth 'scram-512' needs a secret/],
      [(stack) => ({ ...msk, secret: new Secret(stack, 'S') }), /auth 'iam' has no use for a secret/],
      [() => ({ topic: 't', bootstrapServers: ['b:1'], auth: 'iam' }), /auth 'iam' is of MSK/],
      [(stack) => ({ ...msk, auth: 'plain', secret: new Secret(stack, 'S') }), /auth 'plain' is not of MSK/],
      [{ subnetIds: ['subnet-1'] }, /are of brokers of your own/],
      [{ consumerGroup: 'a group' }, /is no name of a consumer group/],
      [{ pollers: { min: 3, max: 2 } }, /pollers are 3 to 2/],
      [{}, /its function may take 900 s, and the mapping of a topic waits for 840 s at most/, { timeoutSeconds: 900 }],
      [{}, /sources.maxConcurrency is of queues/, { sources: { views: { maxConcurrency: 2 } } }],
    ];
  test.each(wrong.map((row) => ({ topic: row[0], says: row[1], props: row[2] ?? {} })))('$says', ({ topic, says, props }) => {
    expect(() => deployViews(topic, props)).toThrow(
      expect.objectContaining({ code: 'DEPLOYMENT_UNSAFE', message: expect.stringMatching(says) }),
    );
  });

  test('a topic in the place of a stream', () => {
    const { stack } = createStack();
    const bind = { clicks: msk, totals: totalsIn(stack) };
    expect(() => new SluiceJob(stack, 'Clicks', { entry: 'test/cdk/jobs/clicks.ts', bind })).toThrow(
      /the job's source 'clicks' is a Kinesis stream, and it is bound to a Kafka topic/,
    );
  });
});

test('the check before a deployment is told which topic is read under which name', () => {
  const { template } = deployViews();
  expect(resourceOf(template, 'Custom::SluiceMayDeploy', '')).toMatchObject({ Topics: '[{"name":"views","topic":"page.views"}]' });
});
