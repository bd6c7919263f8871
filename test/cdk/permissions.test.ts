// What each role may do: these actions, on these things, and nothing else. An action that the code comes to need is added here on purpose.
import { Template } from 'aws-cdk-lib/assertions';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Stream } from 'aws-cdk-lib/aws-kinesis';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { SluiceJob } from 'sluice/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { allowed, createStack, type Deployed, deployClicks, nagFindings, resourceOf, resourcesOf } from './support.ts';

let clicks: Deployed;
beforeAll(() => {
  clicks = deployClicks();
});

/** Services whose actions a role has, each with the first letters of what they are on. */
function told(deployed: Deployed, role: string): Readonly<Record<string, readonly string[]>> {
  const named: Record<string, Set<string>> = {};
  for (const [action, resource] of allowed(deployed.template, role)) {
    const on = /"(?:Ref|Fn::GetAtt)":\[?"(\w+?)[0-9A-F]{8}"/.exec(resource.replace('"AWS::Partition"', ''))?.[1] ?? resource;
    named[on] ??= new Set();
    named[on].add(action);
  }
  return Object.fromEntries(Object.entries(named).map(([on, actions]) => [on, [...actions].sort()]));
}

const table = [
  'BatchGetItem',
  'ConditionCheckItem',
  'DeleteItem',
  'GetItem',
  'PartiQLDelete',
  'PartiQLInsert',
  'PartiQLSelect',
  'PartiQLUpdate',
  'PutItem',
  'Query',
  'UpdateItem',
].map((a) => `dynamodb:${a}`);
const bucket = ['s3:DeleteObject', 's3:GetObject', 's3:ListBucket', 's3:PutObject'];
const log = ['logs:CreateLogStream', 'logs:PutLogEvents'];
const stream = ['DescribeStream', 'DescribeStreamSummary', 'GetRecords', 'GetShardIterator', 'ListShards'].map((a) => `kinesis:${a}`);
const received = ['ChangeMessageVisibility', 'DeleteMessage', 'GetQueueAttributes', 'ReceiveMessage'].map((a) => `sqs:${a}`);

describe('roles', () => {
  test('a stage that reads a stream reads it and sends to the stage behind it', () => {
    expect(told(clicks, 'ClicksStageclicksUnits')).toEqual({
      ClicksStageclicksUnitsLog: log,
      ClicksStagecountExchange: ['sqs:SendMessage'],
      ClicksTable: table,
      ClicksBucket: bucket,
      Stream: stream,
    });
  });

  test('a stage between two exchanges takes from one and sends to the other', () => {
    expect(told(clicks, 'ClicksStagecountUnits')).toEqual({
      ClicksStagecountUnitsLog: log,
      ClicksStagecountExchange: received,
      ClicksStagetotalsExchange: ['sqs:SendMessage'],
      ClicksTable: table,
      ClicksBucket: bucket,
    });
  });

  test('a stage with a sink writes to what that is bound to, and its control function takes no messages', () => {
    expect(told(clicks, 'ClicksStagetotalsControl')).toEqual({
      ClicksStagetotalsControlLog: log,
      ClicksTable: table,
      ClicksBucket: bucket,
      Totals: table,
    });
  });

  test('the pulse calls the control functions and switches the mappings of this job, and of no other', () => {
    const pulse = told(clicks, 'ClicksPulse');
    expect(Object.keys(pulse).sort()).toEqual(
      [
        'ClicksBucket',
        'ClicksPulseLog',
        'ClicksStageclicksControlFunction',
        'ClicksStageclicksMapping',
        'ClicksStagecountControlFunction',
        'ClicksStagecountExchange',
        'ClicksStagecountExchangeMapping',
        'ClicksStagetotalsControlFunction',
        'ClicksStagetotalsExchange',
        'ClicksStagetotalsExchangeMapping',
        'ClicksTable',
        'Stream',
        'Totals',
      ].sort(),
    );
    expect(pulse.ClicksTable, 'it alone removes rings that are over').toEqual([...table, 'dynamodb:BatchWriteItem'].sort());
    expect(pulse.ClicksStagecountControlFunction).toEqual(['lambda:InvokeFunction']);
    expect(pulse.ClicksStagecountExchange, 'it says for a shard that was split who follows').toEqual(['sqs:SendMessage']);
    expect(pulse.ClicksStageclicksMapping).toEqual(['lambda:GetEventSourceMapping', 'lambda:UpdateEventSourceMapping']);
  });

  test('the check reads the job’s record, and the schedule and the machine start one thing each', () => {
    expect(told(clicks, 'ClicksCheck')).toEqual({
      ClicksCheckLog: log,
      ClicksTable: ['dynamodb:GetItem'],
      Stream: ['kinesis:DescribeStreamSummary'],
      '{"Ref":"AWS::StackId"}': ['cloudformation:DescribeStacks'],
      '*': ['lambda:GetAccountSettings'],
    });
    expect(told(clicks, 'ClicksSchedule')).toEqual({ ClicksCoordinator: ['states:StartExecution'] });
    expect(told(clicks, 'ClicksCoordinator').ClicksPulseFunction).toEqual(['lambda:InvokeFunction']);
  });

  test('none has a policy of AWS or an action with a wildcard', () => {
    for (const { ManagedPolicyArns: managed } of resourcesOf(clicks.template, 'AWS::IAM::Role').values()) expect(managed).toBeUndefined();
    expect(allowed(clicks.template, '').filter(([action]) => action.includes('*'))).toEqual([]);
  });
});

describe('cdk-nag', () => {
  test('finds nothing that is not answered with a reason', () => {
    for (const deployed of [deployClicks(), deployClicks({ tracing: true, dashboard: true, coordinator: 'standard' })]) {
      expect(nagFindings(deployed)).toEqual([]);
    }
  });
});

describe('what is there already', () => {
  test('streams, queues, tables and buckets are bound by their ARNs, and the job gets no more on them than on its own', () => {
    const { stack, app } = createStack();
    const arn = (service: string, what: string): string => `arn:aws:${service}:eu-west-1:111122223333:${what}`;
    const job = new SluiceJob(stack, 'Clicks', {
      entry: 'test/cdk/jobs/clicks.ts',
      bind: {
        clicks: Stream.fromStreamArn(stack, 'S', arn('kinesis', 'stream/clicks')),
        totals: Table.fromTableArn(stack, 'T', arn('dynamodb', 'table/totals')),
      },
    });
    const template = Template.fromStack(stack);
    const deployed = { app, stack, job, template };
    expect(told(deployed, 'ClicksStagetotalsUnits')[arn('dynamodb', 'table/totals')]).toEqual(table);
    expect(told(deployed, 'ClicksStageclicksUnits')[arn('kinesis', 'stream/clicks')]).toEqual(stream);
    expect(resourceOf(template, 'AWS::Lambda::EventSourceMapping', 'ClicksStageclicks')).toMatchObject({
      EventSourceArn: arn('kinesis', 'stream/clicks'),
    });
    template.resourceCountIs('AWS::Kinesis::Stream', 0);
  });

  test('a table and a bucket that were restored take the place of new ones', () => {
    const { stack } = createStack();
    new SluiceJob(stack, 'Orders', {
      entry: 'test/cdk/jobs/orders.ts',
      bind: {
        orders: Queue.fromQueueArn(stack, 'Q', 'arn:aws:sqs:eu-west-1:111122223333:orders.fifo'),
        totals: { bucket: Bucket.fromBucketName(stack, 'Out', 'out'), prefix: 'totals/' },
      },
      table: Table.fromTableName(stack, 'Restored', 'restored'),
      bucket: Bucket.fromBucketName(stack, 'Old', 'old'),
    });
    const template = Template.fromStack(stack);
    template.resourceCountIs('AWS::DynamoDB::Table', 0);
    template.resourceCountIs('AWS::S3::Bucket', 0);
    const { Environment: environment } = resourceOf(template, 'AWS::Lambda::Function', 'OrdersPulse');
    expect(environment).toMatchObject({ Variables: { SLUICE_TABLE: 'restored', SLUICE_BUCKET: 'old' } });
    const written = allowed(template, 'OrdersStagecountUnits').filter(([action]) => action === 's3:AbortMultipartUpload');
    expect(written.map(([, resource]) => resource)).toEqual([expect.stringContaining(':s3:::out/totals/*')]);
  });
});
