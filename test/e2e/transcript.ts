// Every command for deployed jobs, called one after the other on an emulator, and what each printed: the text of docs/aws-transcript.md. What happens in
// between (records that are sent, a checkpoint that is waited for) is told by a line of its own.
import { CreateTableCommand, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { CreateQueueCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { openAwsPorts } from '../../lib/adapters/aws/aws-ports.ts';
import { systemRandom } from '../../lib/adapters/embedded/system-clock.ts';
import { functionCaller } from '../../lib/cli/aws/call-function.ts';
import { type DeployedJob, readStack } from '../../lib/cli/aws/stack.ts';
import { newestCompletedOf, readExistingJob } from '../../lib/invocation/coordinator/read-job.ts';
import type { Cloud } from './cloud.ts';
import { eventually } from './cloud.ts';

const file = 'examples/clicks/job.ts';
const stack = 'sluice-clicks';
/** Where `npm run emulator` listens, so that the text does not depend on a port that was free. */
const usualEndpoint = 'http://127.0.0.1:4566';
const users = 4;
/** A queue that people use hides messages for 180 s; here one that fails is to come again sooner. */
const hiddenSeconds = '10';
const here = { endpoint: undefined };

async function deployedJob(): Promise<DeployedJob> {
  return (await readStack(stack, here))[0]!;
}

class Transcript {
  readonly #cloud: Cloud;
  readonly #parts: string[] = [];
  #queue = '';
  #sent = 0;

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
  }

  get text(): string {
    return this.#parts.join('\n').replaceAll(this.#cloud.endpoint, usualEndpoint);
  }

  /** A heading and why. */
  tell(title: string, text: string): void {
    this.#parts.push(`\n## ${title}\n\n${text}\n`);
  }

  /** @returns what it printed */
  async sluice(...words: readonly string[]): Promise<string> {
    const { code, out, err } = await this.#cloud.run('node', ['lib/cli/main.ts', ...words, '--endpoint', this.#cloud.endpoint]);
    const said = code === 0 ? out : `${ownLines(err)}# exit code ${code}\n`;
    this.#parts.push(`\`\`\`console\n$ sluice ${words.map(quoted).join(' ')} --endpoint ${usualEndpoint}\n${said}\`\`\``);
    return out;
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

  /** Sends messages, and waits until each was counted. */
  async send(n: number): Promise<void> {
    for (let from = 0; from < n; from += 10) {
      const bodies = Array.from({ length: Math.min(10, n - from) }, () => {
        const user = `u${this.#sent % users}`;
        return { user, body: JSON.stringify({ user, url: `/${this.#sent++}` }) };
      });
      await this.#sendAll(bodies);
    }
    await eventually(`${this.#sent} clicks are counted`, async () => ((await this.#counted()) === this.#sent ? true : undefined));
  }

  async #counted(): Promise<number> {
    const { Items: rows = [] } = await new DynamoDBClient({}).send(new ScanCommand({ TableName: 'totals', ConsistentRead: true }));
    return rows.reduce((sum, row) => sum + Number(row.clicks?.N), 0);
  }

  async #sendAll(bodies: readonly { readonly user: string; readonly body: string }[]): Promise<void> {
    const entries = bodies.map(({ user, body }, i) => ({
      ...{ Id: String(i), MessageBody: body, MessageGroupId: user, MessageDeduplicationId: `${this.#sent}-${i}` },
    }));
    await new SQSClient({}).send(new SendMessageBatchCommand({ QueueUrl: this.#queue, Entries: entries }));
  }

  /** One message that is no click; it is handed out until the job has given it up. */
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

  /** Lets pulses come sooner than the schedule would, until there is a checkpoint above. */
  async checkpoint(): Promise<void> {
    const { table, bucket, queues, stateMachine } = await deployedJob();
    const ports = openAwsPorts({ table, bucket, queues, random: systemRandom });
    const newest = async (): Promise<number> => newestCompletedOf((await readExistingJob(ports)).item);
    const before = await newest();
    await eventually(`a checkpoint above ${before}`, async () => {
      await new SFNClient({}).send(new StartExecutionCommand({ stateMachineArn: stateMachine }));
      return (await newest()) > before ? true : undefined;
    });
    ports.close();
  }
}

function stateOf(user: string): readonly string[] {
  return ['state', 'get', 'clicks', '--operator', 'count', '--state', 'clicks', '--key', user];
}

/** Lines of ours: what the CDK tells of its progress is its own. */
function ownLines(err: string): string {
  const lines = err.split('\n').filter((line) => /^(sluice: | {2}(because|next): )/.test(line));
  return lines.map((line) => `${line}\n`).join('');
}

function quoted(word: string): string {
  return /^[\w./=:@-]+$/.test(word) ? word : `'${word}'`;
}

/**
 * Runs everything.
 * @param note  the text so far, after each part
 * @returns the text
 */
export async function transcribe(cloud: Cloud, note: (text: string) => void = () => undefined): Promise<string> {
  const t = new Transcript(cloud);
  await t.makeTargets();
  for (const part of [deployAndLook, pauseAndRestore, lettersAndTransactions, endAndTakeUp]) {
    await part(t, ['--stack', stack]);
    note(t.text);
  }
  return t.text;
}

type On = readonly ['--stack', string];
const bind = ['--bind', 'clicks=clicks.fifo', '--bind', 'totals=totals'] as const;

async function deployAndLook(t: Transcript, on: On): Promise<void> {
  t.tell('A stack is made', 'The queue `clicks.fifo` and the table `totals` are there. What is wrong is refused before anything changes.');
  await t.sluice('deploy', file, '--bind', 'clicks=clicks.fifo');
  await t.sluice('deploy', file, ...bind);
  t.tell('What it does', '100 clicks of four users were sent, and a checkpoint was waited for.');
  await t.send(100);
  await t.checkpoint();
  await t.sluice('status', ...on);
  await t.sluice('checkpoints', 'list', 'clicks', ...on);
  await t.sluice('checkpoints', 'show', 'clicks', ...on);
  await t.sluice(...stateOf('u1'), ...on);
  await t.sluice(...stateOf('nobody'), ...on);
}

async function pauseAndRestore(t: Transcript, on: On): Promise<void> {
  t.tell('It stands still, and goes on', 'A paused job takes no input; a removal is refused while the job works.');
  await t.sluice('pause', 'clicks', ...on);
  await t.sluice('status', ...on);
  await t.sluice('resume', 'clicks', ...on);
  await t.sluice('destroy', file, '--yes');
  t.tell(
    'It goes back to a checkpoint',
    '40 clicks more were sent. What came after the checkpoint is counted again from what the job has kept.',
  );
  await t.send(40);
  await t.sluice('restore', 'clicks', ...on);
  await t.send(20);
  await t.sluice(...stateOf('u1'), ...on);
}

async function lettersAndTransactions(t: Transcript, on: On): Promise<void> {
  t.tell('A record that cannot be processed', 'A message that is no JSON was sent. It is parked, and nothing behind it waits.');
  await t.sendDamaged();
  await t.sluice('dead-letters', 'list', 'clicks', ...on);
  await t.sluice('dead-letters', 'show', 'clicks', ...on);
  await t.sluice('dead-letters', 'redrive', 'clicks', '--all', ...on);
  t.tell('What is promised to sinks', 'The sink of this job writes row by row, so that nothing is ever promised.');
  await t.sluice('transactions', 'list', 'clicks', ...on);
  await t.sluice('transactions', 'commit', 'clicks', '--all', ...on);
}

async function endAndTakeUp(t: Transcript, on: On): Promise<void> {
  t.tell('It ends, and its stack goes', 'The state stays, and a new stack takes it up.');
  await t.checkpoint();
  await t.sluice('cancel', 'clicks', ...on);
  const said = await t.sluice('destroy', file, '--yes');
  const [, table = '', bucket = ''] = /^ {2}table +(\S+)\n {2}bucket +(\S+)$/m.exec(said) ?? [];
  await t.sluice('status', ...on);
  await t.sluice('deploy', file, ...bind, '--table', table, '--bucket', bucket);
  await t.sluice('restore', 'clicks', ...on);
  await t.send(20);
  await t.sluice(...stateOf('u1'), ...on);
  t.tell('Nothing is left', 'State goes only when that is said.');
  await t.sluice('cancel', 'clicks', ...on);
  await t.sluice('destroy', file, '--delete-state', '--yes');
}
