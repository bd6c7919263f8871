// The custom resource around deploy-check.ts: gathers the facts, and tells CloudFormation what was decided. It always tells something, because a
// deployment that hears nothing waits for an hour.
//   R1  A rollback is never refused. What it goes back to is what ran before, and the job has it still; but a stream may have been split since, or a
//       table be unreadable, and a stack that can go neither on nor back has to be freed by hand.

import { setTimeout as sleep } from 'node:timers/promises';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DescribeStreamSummaryCommand, KinesisClient } from '@aws-sdk/client-kinesis';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { clientSettings } from '../adapters/aws/clients.ts';
import { DynamoItems } from '../adapters/aws/dynamo-items.ts';
import { type Home, readHome } from '../adapters/aws/home.ts';
import { systemRandom } from '../adapters/embedded/system-clock.ts';
import { describeError } from '../core/errors.ts';
import { readJob } from '../invocation/coordinator/read-job.ts';
import { type DeploymentFacts, decideDeployment } from './deploy-check.ts';

/** Properties of the resource; CloudFormation makes texts of everything. */
export interface CheckProperties {
  readonly Job: string;
  readonly Table: string;
  readonly PlanHash: string;
  /** JSON of `{ id, name, inputs, parallelism }[]`. */
  readonly Stages: string;
  /** JSON of `{ arn, name, reserved? }[]`. */
  readonly Streams: string;
  readonly Reserved: string;
  /** JSON of `{ name, topic }[]`. Absent in templates of older versions, as are those below. */
  readonly Topics?: string;
  readonly Exchange?: string;
  readonly ExchangeShards?: string;
}

export interface CheckRequest {
  readonly RequestType: 'Create' | 'Update' | 'Delete';
  readonly ResponseURL: string;
  readonly StackId: string;
  readonly RequestId: string;
  readonly LogicalResourceId: string;
  readonly ResourceProperties: CheckProperties;
  readonly OldResourceProperties?: Partial<CheckProperties>;
}

/** What the check asks the account. */
export interface CheckQuestions {
  item(table: string): Promise<DeploymentFacts['item']>;
  home(table: string): Promise<Home | undefined>;
  openShards(arn: string): Promise<number | undefined>;
  account(): Promise<DeploymentFacts['account']>;
  /** Whether the stack goes back to what it was; false where that cannot be found out. */
  isRollback(stack: string): Promise<boolean>;
}

/** @returns why not, in one line; `undefined`: go on */
export async function refusalOf(request: CheckRequest, ask: CheckQuestions): Promise<string | undefined> {
  if (request.RequestType === 'Delete') return undefined;
  try {
    await check(request, ask);
    return undefined;
  } catch (error) {
    if (request.RequestType === 'Update' && (await ask.isRollback(request.StackId))) return undefined; // R1
    return describeError(error).replaceAll('\n', ';');
  }
}

/** @throws SluiceError of `decideDeployment`, and what the account could not be asked for */
async function check(request: CheckRequest, ask: CheckQuestions): Promise<void> {
  const { Table: table, PlanHash: hash, Stages: stages, Streams: streams, Topics: topics, Reserved: reserved } = request.ResourceProperties;
  type Told = { readonly id: number; readonly name: string; readonly inputs: number; readonly parallelism: number };
  type Stream = { readonly arn: string; readonly name: string; readonly reserved?: number };
  const plan = {
    hash,
    stages: (JSON.parse(stages) as Told[]).map((stage) => ({ ...stage, inputs: Array.from({ length: stage.inputs }) })),
  };
  const known = (JSON.parse(streams) as Stream[]).map(async ({ arn, name, reserved: of }) => ({
    name,
    arn,
    shards: await ask.openShards(arn),
    reserved: of,
  }));
  const home = await ask.home(table);
  decideDeployment({
    item: await ask.item(table),
    hasRead: home?.streams,
    exchange: exchangeOf(request.ResourceProperties, home),
    plan,
    streams: await Promise.all(known),
    topics: topics === undefined ? undefined : (JSON.parse(topics) as NonNullable<DeploymentFacts['topics']>),
    account: await ask.account(),
    reserves: Number(reserved) - Number(request.OldResourceProperties?.Reserved ?? 0),
  });
}

function exchangeOf(
  { Exchange: wanted, ExchangeShards: shards = '0' }: CheckProperties,
  home: Home | undefined,
): DeploymentFacts['exchange'] {
  if (wanted !== 'sqs' && wanted !== 'kinesis') return undefined;
  return { wanted, shards: Number(shards), has: home?.exchange ?? 'sqs' }; // there was nothing else when jobs did not note it
}

/** The handler of `functions/check.ts`. */
export async function answerCheck(request: CheckRequest): Promise<void> {
  const refusal = await refusalOf(request, questions());
  if (refusal !== undefined) console.log(refusal);
  const response = await fetch(request.ResponseURL, {
    method: 'PUT',
    body: JSON.stringify({
      Status: refusal === undefined ? 'SUCCESS' : 'FAILED',
      ...(refusal === undefined ? {} : { Reason: refusal }),
      PhysicalResourceId: `sluice-${request.ResourceProperties.Job}`,
      StackId: request.StackId,
      RequestId: request.RequestId,
      LogicalResourceId: request.LogicalResourceId,
    }),
  });
  if (!response.ok) throw new Error(`CloudFormation took the answer with status ${response.status}`);
}

function questions(): CheckQuestions {
  const settings = clientSettings();
  const dynamodb = new DynamoDBClient(settings);
  const kinesis = new KinesisClient(settings);
  const lambda = new LambdaClient(settings);
  const cloudformation = new CloudFormationClient(settings);
  const itemsOf = (table: string): DynamoItems => new DynamoItems({ client: dynamodb, table }, systemRandom);
  return {
    item: async (table) => (await granted(() => readJob({ items: itemsOf(table) })))?.item,
    home: (table) => granted(() => readHome(itemsOf(table))),
    openShards: async (arn) => {
      const { StreamDescriptionSummary: of } = await granted(() => kinesis.send(new DescribeStreamSummaryCommand({ StreamARN: arn })));
      return of?.OpenShardCount;
    },
    account: async () => {
      try {
        const { AccountLimit: of } = await lambda.send(new GetAccountSettingsCommand({}));
        const { ConcurrentExecutions: limit, UnreservedConcurrentExecutions: unreserved } = of ?? {};
        return limit === undefined || unreserved === undefined ? undefined : { limit, unreserved };
      } catch (error) {
        console.log(`the limits of the account are not known: ${error}`); // V3
        return undefined;
      }
    },
    isRollback: async (stack) => {
      try {
        const { Stacks: [found] = [] } = await cloudformation.send(new DescribeStacksCommand({ StackName: stack }));
        return found?.StackStatus === 'UPDATE_ROLLBACK_IN_PROGRESS';
      } catch (error) {
        console.log(`whether this is a rollback is not known: ${error}`);
        return false;
      }
    },
  };
}

const grantTriesMax = 8;
const grantPauseMs = 2_500;

/** A role that was made a moment ago is known everywhere only some seconds later. */
async function granted<T>(request: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await request();
    } catch (error) {
      if (tries === grantTriesMax || !/AccessDenied|not authorized|STORE_/.test(`${(error as { code?: unknown }).code} ${error}`))
        throw error;
      await sleep(grantPauseMs);
    }
  }
}
