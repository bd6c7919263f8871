// The clicks example on an emulator, for the transcript: what is sent to it, and when it has done what is waited for.
import { CreateTableCommand, DynamoDBClient, ListTablesCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { ListBucketsCommand, S3Client } from '@aws-sdk/client-s3';
import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { CreateQueueCommand, ListQueuesCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { openAwsPorts } from '../../lib/adapters/aws/aws-ports.ts';
import { systemRandom } from '../../lib/adapters/embedded/system-clock.ts';
import { functionCaller } from '../../lib/cli/aws/call-function.ts';
import { type DeployedJob, readStack } from '../../lib/cli/aws/stack.ts';
import { newestCompletedOf, readExistingJob } from '../../lib/invocation/coordinator/read-job.ts';
import type { Cloud, Ended } from './cloud.ts';
import { eventually } from './cloud.ts';
import { normalised, type Scene, stack } from './transcript.ts';

const users = 4;
/** A queue that people use hides messages for 180 s; here one that fails is to come again sooner. */
const hiddenSeconds = '10';
const here = { endpoint: undefined };

async function deployedJob(): Promise<DeployedJob> {
  return (await readStack(stack, here))[0]!;
}

export class ClicksScene implements Scene {
  readonly #cloud: Cloud;
  /** What a normalised name stands for. */
  readonly #names = new Map<string, string>();
  #queue = '';
  #clicks = 0;
  #messages = 0;

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
  }

  async sluice(words: readonly string[]): Promise<Ended> {
    const own = words.map((word) => this.#names.get(word) ?? word);
    const ended = await this.#cloud.run('node', ['lib/cli/main.ts', ...own, '--endpoint', this.#cloud.endpoint]);
    for (const word of ended.out.split(/\s+/)) this.#names.set(normalised(word), word);
    return ended;
  }

  async makeTargets(): Promise<void> {
    const attributes = { FifoQueue: 'true', VisibilityTimeout: hiddenSeconds, MessageRetentionPeriod: '345600' };
    const made = await new SQSClient({}).send(new CreateQueueCommand({ QueueName: 'clicks.fifo', Attributes: attributes }));
    this.#queue = made.QueueUrl ?? '';
    await new DynamoDBClient({}).send(
      new CreateTableCommand({
        TableName: 'totals',
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [{ AttributeName: 'user', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'user', AttributeType: 'S' }],
      }),
    );
  }

  async send(clicks: number): Promise<void> {
    for (let from = 0; from < clicks; from += 10) {
      const bodies = Array.from({ length: Math.min(10, clicks - from) }, () => {
        const user = `u${this.#clicks % users}`;
        return { user, body: JSON.stringify({ user, url: `/${this.#clicks++}` }) };
      });
      await this.#sendAll(bodies);
    }
    await eventually(`${this.#clicks} clicks are counted`, async () => ((await this.#counted()) === this.#clicks ? true : undefined));
  }

  async #counted(): Promise<number> {
    const { Items: rows = [] } = await new DynamoDBClient({}).send(new ScanCommand({ TableName: 'totals', ConsistentRead: true }));
    return rows.reduce((sum, row) => sum + Number(row.clicks?.N), 0);
  }

  async #sendAll(bodies: readonly { readonly user: string; readonly body: string }[]): Promise<void> {
    const entries = bodies.map(({ user, body }, i) => ({
      ...{ Id: String(i), MessageBody: body, MessageGroupId: user, MessageDeduplicationId: String(this.#messages++) },
    }));
    await new SQSClient({}).send(new SendMessageBatchCommand({ QueueUrl: this.#queue, Entries: entries }));
  }

  async sendDamaged(): Promise<void> {
    await this.#sendAll([{ user: 'u9', body: '{"user": "u9", "url' }]);
    const { query } = await deployedJob();
    const functions = await functionCaller(here);
    await eventually('the message is parked', async () => {
      const { letters } = (await functions.call(query, { command: 'dead-letters list' })) as { readonly letters: readonly unknown[] };
      return letters.length > 0 ? true : undefined;
    });
    functions.close();
  }

  /** Lets pulses come sooner than the schedule would. */
  async checkpoint(): Promise<void> {
    const { table, bucket, queues, stateMachine } = await deployedJob();
    const ports = openAwsPorts({ table, bucket, queues, random: systemRandom });
    await eventually('a checkpoint completes', async () => {
      await new SFNClient({}).send(new StartExecutionCommand({ stateMachineArn: stateMachine }));
      return newestCompletedOf((await readExistingJob(ports)).item) > 0 ? true : undefined;
    });
    ports.close();
  }

  /** The exchange of the first stack is left, as `sluice destroy` said: nobody needs it any more. */
  async expectNothingLeft(): Promise<void> {
    const { TableNames: tables = [] } = await new DynamoDBClient({}).send(new ListTablesCommand({}));
    const { Buckets: buckets = [] } = await new S3Client({ forcePathStyle: true }).send(new ListBucketsCommand({}));
    const { QueueUrls: queues = [] } = await new SQSClient({}).send(new ListQueuesCommand({}));
    const left = [...tables, ...buckets.map(({ Name: name = '' }) => name)].filter((name) => name.startsWith(stack));
    if (left.length > 0 || queues.filter((url) => url.includes(stack)).length > 1)
      throw new Error(`there is left: ${[...left, ...queues].join(', ')}`);
  }
}
