// A job whose stages send to each other by Kinesis: the streams, who reads and writes them, what is watched, and what is refused.
import { RemovalPolicy } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Key } from 'aws-cdk-lib/aws-kms';
import type { SluiceJobProps } from 'sluice/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { allowed, createStack, type Deployed, deployClicks, nagFindings, resourceOf, resourcesOf } from './support.ts';

let clicks: Deployed;
beforeAll(() => {
  clicks = deployClicks({ exchange: 'kinesis' });
});

const streamsOf = ({ template }: Deployed) => resourcesOf(template, 'AWS::Kinesis::Stream', 'ClicksStage');
const variablesOf = ({ template }: Deployed, fn: string): Readonly<Record<string, unknown>> =>
  (resourceOf(template, 'AWS::Lambda::Function', fn).Environment as { readonly Variables: Record<string, unknown> }).Variables;
const mayOf = ({ template }: Deployed, role: string, on: string): readonly string[] =>
  allowed(template, role)
    .filter(([, resource]) => resource.includes(on))
    .map(([action]) => action)
    .sort();

describe('streams', () => {
  test('there is one for each stage behind another, and no queue: a shard for each subtask, encrypted, kept for a week and when the stack goes', () => {
    expect([...streamsOf(clicks)].map(([id, { ShardCount: shards }]) => [id, shards])).toEqual([
      ['ClicksStagecountExchangeStreamF93E4902', 2],
      ['ClicksStagetotalsExchangeStreamB0A88076', 1],
    ]);
    for (const stream of streamsOf(clicks).values()) {
      expect(stream).toMatchObject({
        RetentionPeriodHours: 168,
        StreamModeDetails: { StreamMode: 'PROVISIONED' },
        StreamEncryption: { EncryptionType: 'KMS', KeyId: 'alias/aws/kinesis' },
      });
    }
    clicks.template.resourceCountIs('AWS::SQS::Queue', 0);
    const own = Object.entries(clicks.template.findResources('AWS::Kinesis::Stream')).filter(([id]) => id.startsWith('Clicks'));
    expect(own.map(([, { DeletionPolicy: policy }]) => policy)).toEqual(['Retain', 'Retain']);
    const gone = deployClicks({ exchange: 'kinesis', removalPolicy: RemovalPolicy.DESTROY }).template.findResources('AWS::Kinesis::Stream');
    expect(Object.entries(gone).flatMap(([id, { DeletionPolicy: policy }]) => (id.startsWith('Clicks') ? [policy] : []))).toEqual([
      'Delete',
      'Delete',
    ]);
  });

  test('have as many shards as they are given, at most one for each subtask, or as many as AWS counts', () => {
    const shardsOf = (exchange: NonNullable<SluiceJobProps['exchange']>) =>
      [...streamsOf(deployClicks({ exchange })).values()].map(({ ShardCount: shards }) => shards);
    expect(shardsOf({ shards: 1 })).toEqual([1, 1]);
    expect(shardsOf({ shards: 50 })).toEqual([2, 1]);
    const onDemand = deployClicks({ exchange: { shards: 'on-demand', retentionHours: 24 } });
    for (const stream of streamsOf(onDemand).values()) {
      expect(stream).toMatchObject({ RetentionPeriodHours: 24, StreamModeDetails: { StreamMode: 'ON_DEMAND' } });
      expect(stream).not.toHaveProperty('ShardCount');
    }
  });

  test('take the key of the job, which who sends and who reads may use', () => {
    const { stack } = createStack();
    const given = deployClicks({
      exchange: 'kinesis',
      encryptionKey: Key.fromKeyArn(stack, 'Key', 'arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'),
    });
    for (const stream of streamsOf(given).values())
      expect(stream).toMatchObject({
        StreamEncryption: { EncryptionType: 'KMS', KeyId: 'arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab' },
      });
    for (const role of ['ClicksStageclicksUnits', 'ClicksStagecountUnits', 'ClicksPulse'])
      expect(mayOf(given, role, ':key/1234abcd-12ab-34cd-56ef-1234567890ab'), role).toEqual(
        expect.arrayContaining(['kms:Decrypt', 'kms:GenerateDataKey']),
      );
  });
});

test('a mapping reads a shard by one invocation at a time from its first record on, and gives nothing up', () => {
  const mapping = resourceOf(clicks.template, 'AWS::Lambda::EventSourceMapping', 'ClicksStagecountExchangeStreamMapping');
  expect(mapping).toMatchObject({
    EventSourceArn: { 'Fn::GetAtt': ['ClicksStagecountExchangeStreamF93E4902', 'Arn'] },
    StartingPosition: 'TRIM_HORIZON',
    ParallelizationFactor: 1,
    BatchSize: 100,
    MaximumBatchingWindowInSeconds: 1,
    MaximumRetryAttempts: -1,
    MaximumRecordAgeInSeconds: -1,
    BisectBatchOnFunctionError: false,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
  });
  for (const name of ['Enabled', 'DestinationConfig', 'FilterCriteria', 'ScalingConfig']) expect(mapping).not.toHaveProperty(name);
});

test('functions and outputs are told of the stream and how many subtasks it is for, and the command line reads that', () => {
  const told = JSON.stringify(variablesOf(clicks, 'ClicksStageclicksUnits').SLUICE_QUEUES).replaceAll('\\', '');
  expect(told).toMatch(/"1":\{"stream":".*ClicksStagecountExchangeStreamF93E4902.*","targets":2\}/);
  expect(told).toMatch(/"2":\{"stream":".*ClicksStagetotalsExchangeStreamB0A88076.*","targets":1\}/);
  const { Value: output } = clicks.template.findOutputs('ClicksSluiceQueues').ClicksSluiceQueues as { readonly Value: unknown };
  expect(JSON.stringify(output).replaceAll('\\', '')).toMatch(/"targets":2/);
});

test('behind a stream the time-out is what the job was given, since nothing is shown again', () => {
  const { template } = deployClicks({ exchange: 'kinesis', timeoutSeconds: 120 });
  expect(resourceOf(template, 'AWS::Lambda::Function', 'ClicksStagecountUnits').Timeout).toBe(120);
});

describe('roles', () => {
  const puts = ['kinesis:PutRecords'];
  const reads = ['DescribeStream', 'DescribeStreamSummary', 'GetRecords', 'GetShardIterator', 'ListShards'].map((a) => `kinesis:${a}`);
  const rows: readonly (readonly [role: string, stream: string, may: readonly string[]])[] = [
    ['ClicksStageclicksUnits', 'ClicksStagecountExchangeStream', puts],
    ['ClicksStageclicksControl', 'ClicksStagecountExchangeStream', puts],
    ['ClicksStageclicksUnits', 'ClicksStagetotalsExchangeStream', []],
    ['ClicksStagecountUnits', 'ClicksStagecountExchangeStream', reads],
    ['ClicksStagecountControl', 'ClicksStagecountExchangeStream', []],
    ['ClicksStagecountUnits', 'ClicksStagetotalsExchangeStream', puts],
    ['ClicksStagetotalsUnits', 'ClicksStagetotalsExchangeStream', reads],
    ['ClicksPulse', 'ClicksStagecountExchangeStream', puts],
    ['ClicksQuery', 'ClicksStagetotalsExchangeStream', puts],
  ];
  test.each(rows)('%s may do with %s: %j', (role, stream, may) => {
    expect(mayOf(clicks, role, `"${stream}`).filter((action) => action.startsWith('kinesis:'))).toEqual(may);
  });

  test('cdk-nag finds nothing that is not answered with a reason', () => {
    for (const deployed of [deployClicks({ exchange: 'kinesis', dashboard: true }), deployClicks({ exchange: { shards: 'on-demand' } })]) {
      expect(nagFindings(deployed)).toEqual([]);
    }
  });
});

test('alarms watch how old the oldest message of a stream is, and none a queue that is not there', () => {
  const names = [...resourcesOf(clicks.template, 'AWS::CloudWatch::Alarm').keys()].map((id) => id.slice('ClicksAlarms'.length, -8));
  expect(names.slice(0, 3)).toEqual(['IteratorAgeclicks', 'IteratorAgeExchangecount', 'IteratorAgeExchangetotals']);
  expect(names.filter((name) => name.startsWith('QueueAge'))).toEqual([]);
  expect(resourceOf(clicks.template, 'AWS::CloudWatch::Alarm', 'ClicksAlarmsIteratorAgeExchangecount')).toMatchObject({
    MetricName: 'IteratorAge',
    Threshold: 600_000,
    Dimensions: [{ Name: 'FunctionName', Value: { Ref: expect.stringMatching(/^ClicksStagecountUnits/) } }],
  });
});

test('the check before a deployment is told what the exchange is, and how many environments its shards take', () => {
  const properties = (deployed: Deployed) => resourceOf(deployed.template, 'Custom::SluiceMayDeploy', '');
  expect(properties(clicks)).toMatchObject({ Exchange: 'kinesis', ExchangeShards: '3' });
  expect(properties(deployClicks())).toMatchObject({ Exchange: 'sqs', ExchangeShards: '0' });
  expect(properties(deployClicks({ exchange: { shards: 'on-demand' } }))).toMatchObject({ Exchange: 'kinesis', ExchangeShards: '8' });
});

test('logical ids of what holds state are frozen', () => {
  const stateful = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::Kinesis::Stream', 'AWS::Lambda::EventSourceMapping'];
  const template = Template.fromStack(clicks.stack);
  expect(stateful.flatMap((type) => Object.keys(template.findResources(type, Match.anyValue())))).toMatchInlineSnapshot(`
    [
      "Totals8BD25B11",
      "ClicksTable0661CCFB",
      "ClicksBucketEC8518D9",
      "Stream790BDEE4",
      "ClicksStagecountExchangeStreamF93E4902",
      "ClicksStagetotalsExchangeStreamB0A88076",
      "ClicksStageclicksMapping00BA8824",
      "ClicksStagecountExchangeStreamMappingDBCF5173",
      "ClicksStagetotalsExchangeStreamMapping35A51720",
    ]
  `);
});

describe('refused', () => {
  const wrong: readonly (readonly [exchange: unknown, says: string])[] = [
    ['kafka', "exchange is 'kafka'; it is 'sqs', 'kinesis', or { shards, retentionHours } of streams"],
    [{ shards: 0 }, "exchange.shards is 0; it is a whole number from 1 on, or 'on-demand'"],
    [{ shards: 1.5 }, 'exchange.shards is 1.5; it is'],
    [{ retentionHours: 12 }, 'exchange.retentionHours is 12; it is a whole number from 24 to 8760'],
    [{ retention: 24 }, "exchange has 'retention', and knows shards and retentionHours"],
  ];
  test.each(wrong)('%j', (exchange, says) => {
    expect(() => deployClicks({ exchange: exchange as never })).toThrow(
      expect.objectContaining({ code: 'DEPLOYMENT_UNSAFE', message: expect.stringContaining(says) }),
    );
  });
});
