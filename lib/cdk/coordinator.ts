// The coordinator: a state machine whose execution is a pulse. A pulse moves whatever is pending one step on and says whether and when it wants to be
// called again; all truth is in conditional writes of the job's record, so an execution that dies, or runs beside another, does no harm.
//   N1  Every minute a schedule starts an execution. A job that wants steps in between has the execution wait and call again until the next one has
//       begun, which the pulse sees, or for four minutes.
//   N2  Payloads are a few words: an execution carries no state of the job.
//   N3  Each step has a time-out. A step that fails ends the execution; the next minute begins another.

import { Aws, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { type CfnRole, Effect, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import { DefinitionBody, LogLevel, StateMachine, StateMachineType } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import { executionTimeoutSeconds, pulseTimeoutSeconds, pulseTriesMax } from './defaults.ts';
import type { JobFunction } from './job-function.ts';
import { answered } from './nag.ts';
import { prefixOf } from './outputs.ts';
import { allow, roleOf } from './permissions.ts';

export interface CoordinatorProps {
  readonly job: string;
  readonly pulse: JobFunction;
  readonly type: 'express' | 'standard';
  readonly tracing: boolean;
  readonly logRetention: RetentionDays;
}

/** In the language of Step Functions; `${Pulse}` and `${Partition}` are put in by CloudFormation. */
export function definition(): Readonly<Record<string, unknown>> {
  return {
    Comment: 'One execution is a pulse of the job; it repeats itself until its successor has begun.',
    StartAt: 'Pulse',
    TimeoutSeconds: executionTimeoutSeconds,
    States: {
      Pulse: {
        Type: 'Task',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's own.
        Resource: 'arn:${Partition}:states:::lambda:invoke',
        Parameters: {
          // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's own.
          FunctionName: '${Pulse}',
          Payload: { 'execution.$': '$$.Execution.Id', 'startedAt.$': '$$.Execution.StartTime' },
        },
        ResultSelector: { 'next.$': '$.Payload.next', 'waitSeconds.$': '$.Payload.waitSeconds' },
        TimeoutSeconds: pulseTimeoutSeconds,
        Retry: [
          {
            ErrorEquals: [
              'Lambda.ServiceException',
              'Lambda.AWSLambdaException',
              'Lambda.SdkClientException',
              'Lambda.TooManyRequestsException',
            ],
            IntervalSeconds: 2,
            BackoffRate: 2,
            MaxAttempts: pulseTriesMax,
          },
        ],
        Next: 'Again?',
      },
      'Again?': { Type: 'Choice', Choices: [{ Variable: '$.next', StringEquals: 'again', Next: 'Wait' }], Default: 'Done' },
      Wait: { Type: 'Wait', SecondsPath: '$.waitSeconds', Next: 'Pulse' },
      Done: { Type: 'Succeed' },
    },
  };
}

export function createCoordinator(scope: Construct, p: CoordinatorProps): StateMachine {
  const role = roleOf(scope, 'CoordinatorRole', 'states.amazonaws.com', `Sluice ${p.job}: calls the pulse`);
  allow(role, [{ actions: ['lambda:InvokeFunction'], resources: [p.pulse.arn] }]);
  // Step Functions writes a policy for each log group that is not named like this, and an account has room for ten.
  const log = new LogGroup(scope, 'CoordinatorLog', {
    logGroupName: `/aws/vendedlogs/states/${Stack.of(scope).stackName}-${prefixOf(scope)}`,
    retention: p.logRetention,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const machine = new StateMachine(scope, 'Coordinator', {
    stateMachineType: p.type === 'express' ? StateMachineType.EXPRESS : StateMachineType.STANDARD,
    definitionBody: DefinitionBody.fromString(JSON.stringify(definition())),
    definitionSubstitutions: { Pulse: p.pulse.arn, Partition: Aws.PARTITION },
    role,
    tracingEnabled: p.tracing,
    logs: { destination: log, level: LogLevel.ERROR, includeExecutionData: false },
    comment: `Sluice ${p.job}: pulses`,
  });
  answered(role, { 'AwsSolutions-IAM5[Resource::*]': 'Delivery of logs, and traces, have no resource that could be named.' });
  answered(machine, {
    'AwsSolutions-SF1':
      'An execution a minute that did its work is no news; those that failed are logged, and the pulse writes a log of its own.',
    'AwsSolutions-SF2': 'Tracing is an option of the construct, because it is billed.',
  });
  createSchedule(scope, p.job, machine);
  return machine;
}

/** A pulse that the schedule could not start is not made up for: the next one does the same. */
function createSchedule(scope: Construct, job: string, machine: StateMachine): void {
  const role = new Role(scope, 'ScheduleRole', {
    assumedBy: new ServicePrincipal('scheduler.amazonaws.com', { conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } } }),
    description: `Sluice ${job}: starts pulses`,
  });
  role.addToPolicy(new PolicyStatement({ effect: Effect.ALLOW, actions: ['states:StartExecution'], resources: [machine.stateMachineArn] }));
  const schedule = new CfnSchedule(scope, 'Schedule', {
    description: `Sluice ${job}: a pulse each minute`,
    scheduleExpression: 'rate(1 minute)',
    flexibleTimeWindow: { mode: 'OFF' },
    target: {
      arn: machine.stateMachineArn,
      roleArn: role.roleArn,
      input: '{}',
      retryPolicy: { maximumEventAgeInSeconds: Duration.minutes(1).toSeconds(), maximumRetryAttempts: 0 },
    },
  });
  // A schedule that is made before its role may do anything is refused or fails at first.
  schedule.node.addDependency(role.node.tryFindChild('DefaultPolicy') ?? (role.node.defaultChild as CfnRole));
}
