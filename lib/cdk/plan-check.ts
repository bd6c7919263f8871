// What is asked before anything of a deployment changes: a custom resource that everything but the stores depends on. It reads the job's record in
// the table, and fails the deployment when the job runs another plan, or when an account could not run what is about to be made.

import { CustomResource, Duration, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ExchangeKind } from '../adapters/aws/exchange-place.ts';
import type { Plan } from '../graph/plan.ts';
import { codeOf } from './bundles.ts';
import { checkTimeoutSeconds, serviceMemoryMb } from './defaults.ts';
import { type FunctionSurroundings, JobFunction } from './job-function.ts';
import { answered } from './nag.ts';
import { allow, allowKey } from './permissions.ts';
import type { TableLike } from './props.ts';
import { keyReads } from './targets.ts';

/** A stream whose shards each need an environment of the stage that reads them. */
export interface StreamToCheck {
  readonly arn: string;
  readonly name: string;
  /** Environments reserved for the stage; absent: what the account has. */
  readonly reserved: number | undefined;
}

export interface PlanCheckProps {
  readonly plan: Plan;
  readonly table: TableLike;
  readonly surroundings: FunctionSurroundings;
  readonly streams: readonly StreamToCheck[];
  /** Topics that the job reads, by their names in it. */
  readonly topics: readonly { readonly name: string; readonly topic: string }[];
  /** Environments that the stack reserves in all. */
  readonly reserved: number;
  /** What carries records from stage to stage; a job that was started keeps it. */
  readonly exchange: ExchangeKind;
  /** Shards of all exchanges, which each need an environment too. */
  readonly exchangeShards: number;
}

export function createPlanCheck(scope: Construct, p: PlanCheckProps): readonly Construct[] {
  const { plan, table, surroundings, streams, topics, reserved } = p;
  const fn = new JobFunction(scope, 'Check', {
    surroundings,
    description: `Sluice ${plan.job}: may this be deployed?`,
    code: codeOf('check', undefined),
    environment: {},
    memoryMb: serviceMemoryMb,
    timeoutSeconds: checkTimeoutSeconds,
  });
  allow(fn.role, [{ actions: ['dynamodb:GetItem'], resources: [table.tableArn] }]);
  allowKey(fn.role, table.encryptionKey, keyReads);
  if (streams.length > 0) allow(fn.role, [{ actions: ['kinesis:DescribeStreamSummary'], resources: streams.map(({ arn }) => arn) }]);
  allow(fn.role, [{ actions: ['cloudformation:DescribeStacks'], resources: [Stack.of(scope).stackId] }]);
  allow(fn.role, [{ actions: ['lambda:GetAccountSettings'], resources: ['*'] }]);
  answered(fn.role, { 'AwsSolutions-IAM5[Resource::*]': 'The limits of an account are no resource that could be named.' });

  const shape = plan.stages.map(({ id, name, inputs, parallelism }) => ({ id, name, inputs: inputs.length, parallelism }));
  const resource = new CustomResource(scope, 'MayDeploy', {
    resourceType: 'Custom::SluiceMayDeploy',
    serviceToken: fn.arn,
    serviceTimeout: Duration.minutes(2),
    properties: {
      Job: plan.job,
      Table: table.tableName,
      PlanHash: plan.hash,
      Stages: JSON.stringify(shape),
      Streams: Stack.of(scope).toJsonString(
        streams.map(({ arn, name, reserved: of }) => ({ arn, name, ...(of === undefined ? {} : { reserved: of }) })),
      ),
      Topics: Stack.of(scope).toJsonString(topics),
      Reserved: String(reserved),
      Exchange: p.exchange,
      ExchangeShards: String(p.exchangeShards),
    },
  });
  return [fn, resource];
}
