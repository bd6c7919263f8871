// Every setting of a deployment on which nothing lost and nothing twice depends, or which somebody would pay for. A template says them all.
import { RemovalPolicy } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { SluiceJob } from 'sluice/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { allowed, createStack, type Deployed, deployClicks, deployOrders, resourceOf, resourcesOf, streamIn, totalsIn } from './support.ts';

let clicks: Deployed;
beforeAll(() => {
  clicks = deployClicks();
});

describe('stores', () => {
  test('the table is on demand, can be brought back to any second, and is protected from deletion', () => {
    clicks.template.hasResource('AWS::DynamoDB::Table', {
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
      Properties: {
        KeySchema: [
          { AttributeName: 'p', KeyType: 'HASH' },
          { AttributeName: 's', KeyType: 'RANGE' },
        ],
        BillingMode: 'PAY_PER_REQUEST',
        DeletionProtectionEnabled: true,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        TimeToLiveSpecification: { AttributeName: 'e', Enabled: true },
      },
    });
  });

  test('the bucket is private, takes TLS alone, stays, and no rule of it touches an object that is there', () => {
    clicks.template.hasResource('AWS::S3::Bucket', {
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
      Properties: {
        PublicAccessBlockConfiguration: {
          BlockPublicAcls: true,
          BlockPublicPolicy: true,
          IgnorePublicAcls: true,
          RestrictPublicBuckets: true,
        },
        VersioningConfiguration: { Status: 'Enabled' },
      },
    });
    const { LifecycleConfiguration: life } = resourceOf(clicks.template, 'AWS::S3::Bucket', '');
    const rules = (life as { readonly Rules: readonly Record<string, unknown>[] }).Rules;
    const acting = rules.flatMap((rule) => Object.keys(rule).filter((key) => !['Id', 'Status'].includes(key)));
    expect(acting).toEqual(['ExpiredObjectDeleteMarker', 'NoncurrentVersionExpiration', 'AbortIncompleteMultipartUpload']);
    clicks.template.hasResourceProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } })]),
      },
    });
  });

  test('state goes with the stack only when that is said', () => {
    const { template } = deployClicks({ removalPolicy: RemovalPolicy.DESTROY });
    const isOfJob = (id: string): boolean => id.startsWith('Clicks');
    const policies = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::SQS::Queue'].flatMap((type) =>
      Object.entries(template.findResources(type)).flatMap(([id, resource]) => (isOfJob(id) ? [resource.DeletionPolicy] : [])),
    );
    expect(policies).toEqual(['Delete', 'Delete', 'Delete', 'Delete']);
    expect(resourceOf(template, 'AWS::DynamoDB::Table', 'ClicksTable')).toMatchObject({ DeletionProtectionEnabled: false });
  });
});

describe('exchange queues', () => {
  test('there is one for each stage that reads one, with the settings that the protocol was proved with', () => {
    const queues = resourcesOf(clicks.template, 'AWS::SQS::Queue', 'ClicksStage');
    expect(queues.size).toBe(2);
    for (const queue of queues.values()) {
      expect(queue).toMatchObject({
        FifoQueue: true,
        ContentBasedDeduplication: false,
        DeduplicationScope: 'messageGroup',
        FifoThroughputLimit: 'perMessageGroupId',
        MessageRetentionPeriod: 1_209_600,
        VisibilityTimeout: 45,
      });
      expect(queue).not.toHaveProperty('RedrivePolicy');
    }
    for (const { DeletionPolicy: policy } of Object.values(clicks.template.findResources('AWS::SQS::Queue'))) expect(policy).toBe('Retain');
  });

  test('their functions end before the queue shows a message again, whatever time-out the job was given', () => {
    const { template } = deployClicks({ timeoutSeconds: 120 });
    const timeout = (id: string): unknown => resourceOf(template, 'AWS::Lambda::Function', id).Timeout;
    expect(timeout('ClicksStageclicksUnits')).toBe(120);
    expect([timeout('ClicksStagecountUnits'), timeout('ClicksStagecountControl'), timeout('ClicksStagetotalsUnits')]).toEqual([30, 30, 30]);
  });
});

describe('mappings', () => {
  test('a shard is read by one invocation at a time, and no record is ever given up', () => {
    expect(resourceOf(clicks.template, 'AWS::Lambda::EventSourceMapping', 'ClicksStageclicks')).toMatchObject({
      ParallelizationFactor: 1,
      BatchSize: 1_000,
      MaximumBatchingWindowInSeconds: 1,
      MaximumRetryAttempts: -1,
      MaximumRecordAgeInSeconds: -1,
      BisectBatchOnFunctionError: false,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      StartingPosition: 'TRIM_HORIZON',
    });
  });

  test('an exchange is read by as many invocations at once as its stage has subtasks', () => {
    expect(resourceOf(clicks.template, 'AWS::Lambda::EventSourceMapping', 'ClicksStagecount')).toMatchObject({
      BatchSize: 10,
      ScalingConfig: { MaximumConcurrency: 2 },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });

  test('none says whether it is enabled, because a paused job has to stay paused through a deployment', () => {
    const mappings = resourcesOf(clicks.template, 'AWS::Lambda::EventSourceMapping');
    expect(mappings.size).toBe(3);
    for (const mapping of mappings.values()) {
      expect(mapping).not.toHaveProperty('Enabled');
      expect(mapping).not.toHaveProperty('DestinationConfig');
    }
  });

  test('a queue is read by as many invocations at once as the source has lanes; a FIFO one without a window', () => {
    const fifo = resourceOf(deployOrders().template, 'AWS::Lambda::EventSourceMapping', 'OrdersJobStageorders');
    expect(fifo).toMatchObject({
      BatchSize: 10,
      ScalingConfig: { MaximumConcurrency: 2 },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
    expect(fifo).not.toHaveProperty('MaximumBatchingWindowInSeconds');
    const standard = deployOrders(
      { fifo: false },
      { params: { order: 'standard' }, sources: { orders: { batchSize: 500, maxConcurrency: 7 } } },
    );
    expect(resourceOf(standard.template, 'AWS::Lambda::EventSourceMapping', 'OrdersJobStageorders')).toMatchObject({
      BatchSize: 500,
      MaximumBatchingWindowInSeconds: 1,
      ScalingConfig: { MaximumConcurrency: 7 },
    });
  });
});

describe('functions', () => {
  test('control calls have environments of their own, and a stage shares what the account has unless told', () => {
    for (const [id, { ReservedConcurrentExecutions: reserved }] of resourcesOf(clicks.template, 'AWS::Lambda::Function'))
      expect([id, reserved]).toEqual([id, id.includes('Control') ? 5 : undefined]);
    const { template } = deployClicks({ controlConcurrency: false, reservedConcurrency: 4 });
    const reserved = [...resourcesOf(template, 'AWS::Lambda::Function')].filter(([, f]) => f.ReservedConcurrentExecutions !== undefined);
    expect(reserved.map(([id, f]) => [id.replace(/Function.*/, ''), f.ReservedConcurrentExecutions])).toEqual([
      ['ClicksStageclicksUnits', 4],
    ]);
  });

  test('each is told its job, its stores, its plan and what its names are bound to', () => {
    const { Environment: environment } = resourceOf(clicks.template, 'AWS::Lambda::Function', 'ClicksStagecountControl');
    const { Variables: variables } = environment as { readonly Variables: Record<string, unknown> };
    expect(variables).toMatchObject({
      SLUICE_JOB: 'clicks',
      SLUICE_STAGE: '1',
      SLUICE_PLAN_HASH: clicks.job.planHash,
      SLUICE_PARAMS: '{}',
      SLUICE_SET: '{}',
    });
    expect(Object.keys(variables)).toEqual(expect.arrayContaining(['SLUICE_TABLE', 'SLUICE_BUCKET', 'SLUICE_QUEUES', 'SLUICE_BIND']));
    expect(Object.keys(variables)).not.toContain('SLUICE_CONTROLS');
    const pulse = resourceOf(clicks.template, 'AWS::Lambda::Function', 'ClicksPulse').Environment as typeof environment & {
      readonly Variables: object;
    };
    expect(Object.keys(pulse.Variables)).toEqual(expect.arrayContaining(['SLUICE_CONTROLS', 'SLUICE_MAPPINGS']));
  });

  test('their logs are kept for two weeks', () => {
    const groups = [...resourcesOf(clicks.template, 'AWS::Logs::LogGroup').values()];
    expect(groups.length).toBeGreaterThan(9);
    expect(new Set(groups.map(({ RetentionInDays: days }) => days))).toEqual(new Set([14]));
  });

  test('architecture, tracing, memory, tags and variables of the user reach them', () => {
    const { stack } = createStack();
    new SluiceJob(stack, 'Clicks', {
      entry: 'test/cdk/jobs/clicks.ts',
      bind: { clicks: streamIn(stack), totals: totalsIn(stack) },
      architecture: Architecture.X86_64,
      tracing: true,
      memoryMb: 2_048,
      tags: { team: 'web' },
      environment: { LEVEL: 'debug' },
      secrets: { TOKEN: new Secret(stack, 'Secret') },
      params: { from: '/shop' },
      settings: { 'execution.checkpointing.timeout': '5 min' },
    });
    const template = Template.fromStack(stack);
    expect(resourceOf(template, 'AWS::Lambda::Function', 'ClicksStagecountUnits')).toMatchObject({
      Architectures: ['x86_64'],
      TracingConfig: { Mode: 'Active' },
      MemorySize: 2_048,
      Tags: [
        { Key: 'sluice:job', Value: 'clicks' },
        { Key: 'team', Value: 'web' },
      ],
      Environment: {
        Variables: {
          LEVEL: 'debug',
          SLUICE_PARAMS: '{"from":"/shop"}',
          SLUICE_SET: '{"execution.checkpointing.timeout":"5 min"}',
          TOKEN: { Ref: expect.any(String) },
        },
      },
    });
    expect(allowed(template, 'ClicksStagecountUnits').map(([action]) => action)).toContain('secretsmanager:GetSecretValue');
    template.hasResourceProperties('AWS::StepFunctions::StateMachine', { TracingConfiguration: { Enabled: true } });
  });
});

describe('coordinator', () => {
  test('a pulse begins each minute, is express, and every step of it has a time-out', () => {
    clicks.template.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: { RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 } },
    });
    const machine = resourceOf(clicks.template, 'AWS::StepFunctions::StateMachine', '');
    expect(machine).toMatchObject({ StateMachineType: 'EXPRESS', TracingConfiguration: { Enabled: false } });
    const { TimeoutSeconds: whole, States: states } = JSON.parse(machine.DefinitionString as string) as {
      readonly TimeoutSeconds: number;
      readonly States: Record<string, { readonly Type: string; readonly TimeoutSeconds?: number; readonly ResultSelector?: object }>;
    };
    expect(whole).toBeLessThan(300);
    const tasks = Object.values(states).filter(({ Type: type }) => type === 'Task');
    expect(tasks.map(({ TimeoutSeconds: timeout }) => timeout)).toEqual([60]);
    expect(tasks[0]!.ResultSelector, 'what a pulse answers stays two small fields').toEqual({
      'next.$': '$.Payload.next',
      'waitSeconds.$': '$.Payload.waitSeconds',
    });
  });

  test('it is standard for who wants to see each execution', () => {
    const { template } = deployClicks({ coordinator: 'standard' });
    template.hasResourceProperties('AWS::StepFunctions::StateMachine', { StateMachineType: 'STANDARD' });
  });
});

describe('what is watched', () => {
  test('there is an alarm for input that waits, checkpoints that do not complete, parked records, conflicts and missing pulses', () => {
    const names = [...resourcesOf(clicks.template, 'AWS::CloudWatch::Alarm').keys()].map((id) => id.slice('ClicksAlarms'.length, -8));
    expect(names).toEqual([
      'IteratorAgeclicks',
      'QueueAgecount',
      'QueueAgetotals',
      'CommitConflictsclicks',
      'CommitConflictscount',
      'CommitConflictstotals',
      'JobFailed',
      'DeadLetters',
      'CheckpointAge',
      'PulseFailed',
      'PulseMissing',
    ]);
    clicks.template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      Namespace: 'Sluice',
      MetricName: 'DeadLetters',
      Dimensions: [{ Name: 'Job', Value: 'clicks' }],
      Threshold: 0,
      ComparisonOperator: 'GreaterThanThreshold',
    });
    for (const MetricName of ['ExecutionsStarted', 'CheckpointAge'])
      clicks.template.hasResourceProperties('AWS::CloudWatch::Alarm', { MetricName, TreatMissingData: 'breaching' });
  });

  test('what is billed for looking on is left out, or added, when that is said', () => {
    clicks.template.resourceCountIs('AWS::CloudWatch::Dashboard', 0);
    const { template } = deployClicks({ alarms: false, dashboard: true });
    template.resourceCountIs('AWS::CloudWatch::Alarm', 0);
    template.resourceCountIs('AWS::CloudWatch::Dashboard', 1);
  });
});

describe('a key of one’s own', () => {
  test('encrypts table, bucket, queues and variables, and the functions may use it', () => {
    const { stack } = createStack();
    const bind = { clicks: streamIn(stack), totals: totalsIn(stack) };
    new SluiceJob(stack, 'Clicks', {
      entry: 'test/cdk/jobs/clicks.ts',
      bind,
      encryptionKey: new Key(stack, 'Key', { enableKeyRotation: true }),
    });
    const template = Template.fromStack(stack);
    const key = { 'Fn::GetAtt': [Match.stringLikeRegexp('^Key'), 'Arn'] };
    template.hasResourceProperties('AWS::DynamoDB::Table', { SSESpecification: { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: key } });
    template.hasResourceProperties('AWS::S3::Bucket', {
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          { BucketKeyEnabled: true, ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: key } },
        ],
      },
    });
    for (const queue of resourcesOf(template, 'AWS::SQS::Queue', 'Clicks').values()) expect(queue).toHaveProperty('KmsMasterKeyId');
    for (const fn of resourcesOf(template, 'AWS::Lambda::Function', 'Clicks').values()) expect(fn).toHaveProperty('KmsKeyArn');
    for (const role of ['ClicksStageclicksUnits', 'ClicksStagecountUnits', 'ClicksStagetotalsControl', 'ClicksPulse', 'ClicksQuery']) {
      const actions = allowed(template, role).map(([action]) => action);
      expect(actions, role).toEqual(expect.arrayContaining(['kms:Decrypt', 'kms:GenerateDataKey']));
    }
  });
});
