// The clicks example as a stack on the emulator: a FIFO queue in, keyed state behind an exchange, rows of a table out. What the table holds is held
// against a count of what was sent, whatever was delivered twice, redeployed, restored or paused on the way.
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { GetEventSourceMappingCommand, InvokeCommand, LambdaClient, ListEventSourceMappingsCommand } from '@aws-sdk/client-lambda';
import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readStack } from '../../lib/cli/aws/stack.ts';
import { Cloud, eventually } from './cloud.ts';

const stack = 'SluiceEndToEnd';
const users = 7;

let cloud: Cloud;
let queue = '';
let table = '';
let mappings: readonly string[] = [];
let stateMachine = '';
let sqs: SQSClient;
let dynamodb: DynamoDBClient;
let lambda: LambdaClient;
const sent = new Map<string, number>();
let messages = 0;

beforeAll(async () => {
  cloud = await Cloud.start();
  [sqs, dynamodb, lambda] = [new SQSClient({}), new DynamoDBClient({}), new LambdaClient({})];
});

afterAll(async () => {
  await cloud?.stop();
});

function expectDone({ code, out, err }: { readonly code: number; readonly out: string; readonly err: string }): void {
  expect(code, `${out}\n${err}`).toBe(0);
}

function count(user: string): void {
  sent.set(user, (sent.get(user) ?? 0) + 1);
}

async function send(n: number): Promise<void> {
  for (let from = 0; from < n; from += 10) {
    const entries = Array.from({ length: Math.min(10, n - from) }, (_, i) => {
      const user = `u${messages % users}`;
      count(user);
      const id = `m${messages++}`;
      return { Id: String(i), MessageBody: JSON.stringify({ user, url: `/${id}` }), MessageGroupId: user, MessageDeduplicationId: id };
    });
    const { Failed: failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue, Entries: entries }));
    expect(failed).toEqual([]);
  }
}

async function totals(): Promise<Map<string, number>> {
  const { Items: rows = [] } = await dynamodb.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
  return new Map(rows.map((row) => [row.user?.S ?? '', Number(row.clicks?.N)]));
}

const inOrder = (counts: ReadonlyMap<string, number>) => [...counts].sort(([a], [b]) => (a < b ? -1 : 1));

async function expectTotals(): Promise<void> {
  const wanted = JSON.stringify(inOrder(sent));
  await eventually(`the table says ${wanted}`, async () => (JSON.stringify(inOrder(await totals())) === wanted ? true : undefined));
}

/** Starts executions of the state machine until a new checkpoint is there, as the schedule would. */
async function checkpoint(above: number): Promise<number> {
  const sfn = new SFNClient({});
  return await eventually(`a checkpoint above ${above} completes`, async () => {
    await sfn.send(new StartExecutionCommand({ stateMachineArn: stateMachine }));
    const { checkpoints } = await cloud.sluice(stack, 'checkpoints', 'list', 'clicks');
    const last = (checkpoints as readonly { readonly checkpoint: number }[]).at(-1)?.checkpoint ?? 0;
    return last > above ? last : undefined;
  });
}

test('a stack is deployed, and its first pulse makes the job', async () => {
  expectDone(await cloud.cdk('deploy', 'clicks.ts'));
  const [deployed] = await readStack(stack, { endpoint: undefined });
  expect(deployed?.job).toBe('clicks');
  mappings = deployed!.mappings;
  stateMachine = deployed!.stateMachine;
  const outputs = await cloud.must('node', ['--input-type=module', '-e', outputsScript]);
  const bind = JSON.parse(outputs.out) as { readonly clicks: { readonly queue: string }; readonly totals: { readonly table: string } };
  queue = bind.clicks.queue;
  table = bind.totals.table;
  await eventually('the job runs', async () => {
    await lambda.send(new InvokeCommand({ FunctionName: deployed!.pulse, Payload: Buffer.from('{}') }));
    const { jobs } = await cloud.sluice(stack, 'status');
    return (jobs as readonly { readonly state: string }[])[0]?.state === 'running' ? true : undefined;
  });
});

const outputsScript = `
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
const { Stacks } = await new CloudFormationClient({}).send(new DescribeStacksCommand({ StackName: '${stack}' }));
console.log(Stacks[0].Outputs.find(({ OutputKey }) => OutputKey.endsWith('SluiceBind')).OutputValue);
`;

test('each message counts once', async () => {
  await send(210);
  await expectTotals();
});

test('an event that is delivered three times, twice of them at once, counts once', async () => {
  const { EventSourceMappings: all = [] } = await lambda.send(new ListEventSourceMappingsCommand({}));
  const stage = all.find(({ EventSourceArn: arn }) => arn?.endsWith(queue.split('/').at(-1) ?? '?'))?.FunctionArn;
  const event = {
    Records: Array.from({ length: 10 }, (_, i) => ({
      messageId: `by-hand-${i}`,
      receiptHandle: `by-hand-${i}`,
      body: JSON.stringify({ user: 'by-hand', url: `/${i}` }),
      attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: String(Date.now()),
        SequenceNumber: String(i + 1).padStart(20, '0'),
        MessageGroupId: 'by-hand',
      },
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:by-hand.fifo',
    })),
  };
  for (let i = 0; i < 10; i++) count('by-hand');
  const deliver = async () => {
    const answer = await lambda.send(new InvokeCommand({ FunctionName: stage, Payload: Buffer.from(JSON.stringify(event)) }));
    return { error: answer.FunctionError, said: Buffer.from(answer.Payload ?? []).toString() };
  };
  await Promise.all([deliver(), deliver()]);
  expect(await deliver()).toEqual({ error: undefined, said: expect.stringMatching(/"batchItemFailures": ?\[\]/) });
  await expectTotals();
});

test('a checkpoint completes, and the live state of a key is what was counted', async () => {
  expect(await checkpoint(0)).toBeGreaterThan(0);
  const { value } = await cloud.sluice(stack, 'state', 'get', 'clicks', '--operator', 'count', '--state', 'clicks', '--key', 'u1');
  expect(value).toBe(sent.get('u1'));
});

test('new code with the same plan is deployed in the middle of the stream, and nothing is lost', async () => {
  await send(70);
  const deploying = cloud.cdk('deploy', 'clicks.ts', { MEMORY: '640' });
  await send(140);
  expectDone(await deploying);
  await send(70);
  await expectTotals();
});

test('a job with another plan is refused before anything changes', async () => {
  const { code, out, err } = await cloud.cdk('deploy', 'clicks.ts', { ENTRY: './other-plan.ts' });
  expect(code).not.toBe(0);
  expect(`${out}${err}`).toMatch(/PLAN_CHANGED|another plan/);
  await send(70);
  await expectTotals();
});

test('a restore takes the job back, and what came since is counted again from kept input', async () => {
  const restored = await cloud.sluice(stack, 'restore', 'clicks');
  expect(restored).toMatchObject({ state: 'running', generation: 1 });
  await send(70);
  await expectTotals();
  const { value } = await cloud.sluice(stack, 'state', 'get', 'clicks', '--operator', 'count', '--state', 'clicks', '--key', 'u2');
  expect(value).toBe(sent.get('u2'));
});

test('a paused job takes no input, and goes on from where it stood', async () => {
  const before = inOrder(await totals());
  expect(await cloud.sluice(stack, 'pause', 'clicks')).toMatchObject({ state: 'paused' });
  const stateOf = async (uuid: string) => (await lambda.send(new GetEventSourceMappingCommand({ UUID: uuid }))).State;
  for (const uuid of mappings) expect(await stateOf(uuid)).toMatch(/^Disabl/);
  await send(70);
  expect(inOrder(await totals())).toEqual(before);
  expect(await cloud.sluice(stack, 'resume', 'clicks')).toMatchObject({ state: 'running' });
  await expectTotals();
});

test('a cancelled job ends, and its stack goes', async () => {
  expect(await cloud.sluice(stack, 'cancel', 'clicks')).toMatchObject({ state: 'cancelled' });
  expectDone(await cloud.cdk('destroy', 'clicks.ts'));
  await expect(readStack(stack, { endpoint: undefined })).rejects.toThrow(/no stack/);
});
