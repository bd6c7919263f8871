// What `sluice deploy` and `sluice destroy` refuse. Each is told before CloudFormation, the tables or the functions were asked to change anything; what
// they do when nothing is wrong is held by test/e2e.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeCloud } from '../../support/fake-cloud.ts';
import { type Ended, resultOf, stackTrace, workplace } from '../support.ts';
import { begunItem, outputsOf, storeItem } from './deployed.ts';

const jobText = readFileSync(join(import.meta.dirname, '../../../examples/clicks/job.ts'), 'utf8');
const files = { 'job.ts': jobText, 'other.ts': jobText.replace("uid('count')", "uid('counted')") };

let cloud: FakeCloud;
beforeEach(async () => {
  cloud = await FakeCloud.start();
});
afterEach(() => cloud.stop());

function sluice(...words: readonly string[]): Promise<Ended> {
  const own = { AWS_ACCESS_KEY_ID: '000000000000', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'us-east-1' };
  return workplace(files).start([...words, '--endpoint', cloud.endpoint], own).ended;
}

const bound = ['--bind', 'clicks=clicks.fifo', '--bind', 'totals=totals'] as const;

/** Only looked at, never written or called. */
function expectNothingChanged(): void {
  expect(cloud.asked.filter((what) => !/^(cloudformation:DescribeStacks|dynamodb:GetItem) /.test(what))).toEqual([]);
}

function expectRefusal(ended: Ended, code: number, says: RegExp): void {
  expect(ended.stderr).toMatch(says);
  expect(ended.stderr).not.toMatch(stackTrace);
  expect(ended.code).toBe(code);
  expectNothingChanged();
}

async function putClicks(stack: string, more: Readonly<Record<string, string>>, status: 'running' | 'paused' = 'running'): Promise<void> {
  cloud.stacks.set(stack, { outputs: { ...outputsOf('Job', 'clicks', 'one'), ...more } });
  storeItem(cloud, 'one', await begunItem({ status }));
}

describe('a deployment is refused', () => {
  test.each([
    [
      'a name of the job that is bound to nothing',
      ['--bind', 'clicks=clicks.fifo'],
      2,
      /BIND_MISSING: the job's sink 'totals' is bound to nothing\n {2}next: say --bind/,
    ],
    ['a name that the job does not have', [...bound, '--bind', 'total=x'], 2, /BIND_UNKNOWN: .*'total'.*did you mean 'totals'\?/],
    [
      'what is of another kind than the job needs',
      ['--bind', 'clicks=arn:aws:kinesis:us-east-1:1:stream/s', '--bind', 'totals=totals'],
      1,
      /BIND_UNFIT: the job's source 'clicks' is an SQS queue, and it is bound to a Kinesis stream/,
    ],
    ['a queue of the other order', ['--bind', 'clicks=clicks', '--bind', 'totals=totals'], 1, /BIND_UNFIT: .*written for a FIFO queue/],
    ['what names nothing', ['--bind', 'clicks=a b', '--bind', 'totals=totals'], 2, /BIND_UNFIT: --bind clicks=a b: this is no name/],
    ['a target without its text', ['--bind', 'clicks='], 2, /--bind clicks= has no target; write --bind name=NAME\|ARN/],
    ['a parameter that the job does not read', [...bound, '--limit', '3'], 2, /neither `sluice deploy` nor the job reads --limit/],
    ['a setting that does not exist', [...bound, '--set', 'parallelism=2'], 2, /SETTING_UNKNOWN/],
    [
      'an exchange that is neither of the two',
      [...bound, '--exchange', 'kafka'],
      2,
      /COMMAND_LINE_INVALID: --exchange is 'kafka'; it is sqs, .*, or kinesis, for streams/,
    ],
  ] as const)('for %s', async (_, words, code, says) => {
    expectRefusal(await sluice('deploy', 'job.ts', ...words), code, says);
  });

  test('where its stack was not made by this command, since all else in it would go', async () => {
    cloud.stacks.set('Shop', { outputs: { BucketName: 'orders' } });
    expectRefusal(
      await sluice('deploy', 'job.ts', '--stack', 'Shop', ...bound),
      2,
      /STACK_FOREIGN: stack Shop was not made by `sluice deploy`.*nothing was changed/,
    );
    await putClicks('Shop', {});
    expectRefusal(await sluice('deploy', 'job.ts', '--stack', 'Shop', ...bound), 2, /STACK_FOREIGN: .*though it holds clicks/);
  });

  test('where its stack holds another job', async () => {
    cloud.stacks.set('sluice-clicks', { outputs: { ...outputsOf('Job', 'orders', 'two'), SluiceApp: 'orders' } });
    expectRefusal(
      await sluice('deploy', 'job.ts', ...bound),
      2,
      /STACK_FOREIGN: stack sluice-clicks holds the job orders, and this file is the job clicks/,
    );
  });

  test('where the job runs another plan', async () => {
    await putClicks('sluice-clicks', { SluiceApp: 'clicks' });
    expectRefusal(await sluice('deploy', 'other.ts', ...bound), 1, /PLAN_CHANGED: job clicks runs the plan .*nothing was changed/);
  });

  test('where the job was started with another exchange, in which its messages are', async () => {
    await putClicks('sluice-clicks', { SluiceApp: 'clicks' });
    expectRefusal(
      await sluice('deploy', 'job.ts', ...bound, '--exchange', 'kinesis'),
      2,
      /DEPLOYMENT_UNSAFE: job clicks was started with exchange 'sqs', .*'kinesis'.*nothing was changed\n {2}next: say --exchange sqs/,
    );
    const streams = { JobSluiceQueues: JSON.stringify({ 1: { stream: 'arn:aws:kinesis:us-east-1:1:stream/s', targets: 1 } }) };
    await putClicks('sluice-clicks', { SluiceApp: 'clicks', ...streams });
    expectRefusal(
      await sluice('deploy', 'job.ts', ...bound),
      2,
      /started with exchange 'kinesis', .*'sqs'.*\n {2}next: say --exchange kinesis/,
    );
  });

  test('where the record of the job may not be read', async () => {
    await putClicks('sluice-clicks', { SluiceApp: 'clicks' });
    cloud.denied.add('dynamodb:GetItem');
    expectRefusal(await sluice('deploy', 'job.ts', ...bound), 2, /STORE_FORBIDDEN: dynamodb:GetItem in table one/);
  });
});

describe('a removal is refused', () => {
  test('while the job works, with what would end it', async () => {
    await putClicks('sluice-clicks', { SluiceApp: 'clicks' });
    const ended = await sluice('destroy', 'job.ts', '--yes');
    expectRefusal(
      ended,
      2,
      /JOB_NOT_IN_STATE: clicks is running, .*nothing was changed\n {2}next: `sluice cancel clicks --stack sluice-clicks`/,
    );
  });

  test('where nobody can be asked, unless it is said that nobody has to be', async () => {
    await putClicks('sluice-clicks', { SluiceApp: 'clicks' }, 'paused');
    expectRefusal(
      await sluice('destroy', 'job.ts', '--delete-state'),
      2,
      /asks before it removes anything, and nobody can answer here; say --yes/,
    );
  });

  test('of a stack that was not made by this command', async () => {
    await putClicks('Shop', {}, 'paused');
    expectRefusal(await sluice('destroy', 'job.ts', '--stack', 'Shop', '--yes'), 2, /STACK_FOREIGN: /);
  });

  test('of a stack that is not there', async () => {
    expectRefusal(await sluice('destroy', 'job.ts', '--yes'), 2, /STACK_UNKNOWN: there is no stack sluice-clicks/);
  });
});

test('a refusal is one object with --json, and standard error stays empty', async () => {
  await putClicks('sluice-clicks', { SluiceApp: 'clicks' });
  const ended = await sluice('destroy', 'job.ts', '--yes', '--json');
  expect(resultOf(ended)).toMatchObject({ state: 'failed', error: { code: 'JOB_NOT_IN_STATE' } });
  expect(ended.stderr).toBe('');
});
