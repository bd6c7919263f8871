// What goes wrong between a command and a deployed job: each is one line that says what is wrong with which stack, job, address or permission.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeCloud } from '../../support/fake-cloud.ts';
import { type Ended, resultOf, stackTrace, workplace } from '../support.ts';
import { begunItem, outputsOf, storeItem } from './deployed.ts';

let cloud: FakeCloud;
beforeEach(async () => {
  cloud = await FakeCloud.start();
});
afterEach(() => cloud.stop());

async function sluice(...words: readonly string[]): Promise<Ended> {
  const own = { AWS_ACCESS_KEY_ID: 'reader', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'us-east-1' };
  return await workplace().start([...words, '--endpoint', cloud.endpoint], own).ended;
}

function expectRefusal(ended: Ended, code: number, says: RegExp): void {
  expect(ended.stderr).toMatch(says);
  expect(ended.stderr).not.toMatch(stackTrace);
  expect(ended.code).toBe(code);
}

describe('a stack', () => {
  test('that is not there is told with where it was looked for', async () => {
    const ended = await sluice('status', '--stack', 'nobody');
    expectRefusal(ended, 2, new RegExp(`^sluice: STACK_UNKNOWN: there is no stack nobody at ${cloud.endpoint}`));
  });

  test('without a job has nothing to show, and holds no job of any name', async () => {
    cloud.stacks.set('Empty', { outputs: { BucketName: 'a' } });
    expect((await sluice('status', '--stack', 'Empty')).stdout).toBe('stack Empty holds no job\n');
    expectRefusal(await sluice('pause', 'clicks', '--stack', 'Empty'), 2, /STACK_WITHOUT_JOB: stack Empty holds no job clicks\n/);
  });

  test('that an older version made is told with what it lacks', async () => {
    cloud.stacks.set('Old', { outputs: { ClicksSluiceJob: 'clicks', ClicksSluiceTable: 't' } });
    expectRefusal(await sluice('status', '--stack', 'Old'), 2, /STACK_WITHOUT_JOB: stack Old has no output ClicksSluiceBucket/);
  });

  test('with several jobs tells all of them, or the one that is named', async () => {
    cloud.stacks.set('Two', { outputs: { ...outputsOf('Clicks', 'clicks', 'one'), ...outputsOf('Other', 'orders', 'two') } });
    storeItem(cloud, 'one', await begunItem());
    storeItem(cloud, 'two', await begunItem({ job: 'orders', status: 'failed', failure: 'a value is too large' }));
    const all = await sluice('status', '--stack', 'Two');
    expect(all.stdout.split('\n').map((line) => line.split(/\s+/).slice(0, 2).join(' '))).toEqual([
      'job state',
      'clicks running',
      'orders failed',
      'orders failed:',
      '',
    ]);
    const { jobs } = resultOf(await sluice('status', 'orders', '--stack', 'Two', '--json'));
    expect(jobs).toMatchObject([{ job: 'orders', state: 'failed', failure: 'a value is too large' }]);
    expectRefusal(await sluice('pause', 'order', '--stack', 'Two'), 2, /holds no job order; did you mean orders\?/);
    expectRefusal(await sluice('pause', 'nobody', '--stack', 'Two'), 2, /holds no job nobody; it holds clicks, orders/);
  });
});

test('an address where nobody answers is told with what was asked of it', async () => {
  const ended = await workplace().sluice('status', '--stack', 'Two', '--endpoint', 'http://127.0.0.1:1');
  expectRefusal(ended, 2, /ENDPOINT_UNREACHABLE: cloudformation:DescribeStacks on stack Two: nobody answers at http:\/\/127\.0\.0\.1:1\n/);
});

describe('a restore', () => {
  beforeEach(async () => {
    cloud.stacks.set('Clicks', { outputs: outputsOf('Clicks', 'clicks', 'one') });
    const kept = {
      checkpoint: 7,
      generation: 0,
      begunMs: 0,
      completedMs: 1,
      trigger: 'periodic',
      owners: [],
      metadata: 'm',
      bytes: 0,
    } as const;
    storeItem(cloud, 'one', await begunItem({ begun: 7, completed: [kept] }));
  });

  test('to a checkpoint that has expired says which command shows those that are kept, and asks for nothing', async () => {
    const ended = await sluice('restore', 'clicks', '3', '--stack', 'Clicks');
    expectRefusal(
      ended,
      2,
      /CHECKPOINT_NOT_FOUND: clicks has kept no checkpoint 3\n {2}next: `sluice checkpoints list clicks --stack Clicks`/,
    );
    expect(cloud.asked.filter((what) => /Update|Put|Invoke/.test(what))).toEqual([]);
  });

  test('to what is no checkpoint is told', async () => {
    expectRefusal(await sluice('restore', 'clicks', 'yesterday', '--stack', 'Clicks'), 2, /'yesterday' is no number of a checkpoint/);
  });
});

describe('a permission that is missing is told with the action and what it was on, by', () => {
  beforeEach(async () => {
    cloud.stacks.set('Clicks', { outputs: outputsOf('Clicks', 'clicks', 'one') });
    storeItem(cloud, 'one', await begunItem());
    cloud.functions.set('one-query', () => ({ state: 'done', value: 3 }));
  });

  const get = ['state', 'get', 'clicks', '--operator', 'count', '--state', 'clicks', '--key', 'u1', '--stack', 'Clicks'] as const;

  test.each([
    ['cloudformation:DescribeStacks', ['status', '--stack', 'Clicks'], /cloudformation:DescribeStacks on stack Clicks: AccessDenied/],
    ['dynamodb:GetItem', ['status', '--stack', 'Clicks'], /dynamodb:GetItem in table one: .*on resource: \S+table\/one/],
    ['dynamodb:UpdateItem', ['pause', 'clicks', '--stack', 'Clicks'], /dynamodb:UpdateItem in table one: .*on resource: \S+table\/one/],
    ['lambda:InvokeFunction', get, /lambda:InvokeFunction on one-query: .*on resource: \S+function:one-query/],
  ] as const)('%s', async (action, words, says) => {
    cloud.denied.add(action);
    const ended = await sluice(...words);
    expectRefusal(ended, 2, says);
    expect(ended.stderr).toMatch(/^sluice: STORE_FORBIDDEN: .*\n(?: {2}because: .*\n)? {2}next: grant /);
  });

  test('nothing else: with all of them the command does its work', async () => {
    expect(await sluice(...get)).toMatchObject({ code: 0, stdout: '3\n' });
  });

  test('a function that is gone is told as missing', async () => {
    cloud.functions.clear();
    expectRefusal(await sluice(...get), 1, /STORE_MISSING: lambda:InvokeFunction on one-query/);
  });

  test('what a function throws keeps its code', async () => {
    cloud.functions.set('one-query', () => {
      throw new Error('STATE_UNKNOWN: count has no state clickz');
    });
    expectRefusal(await sluice(...get), 1, /STATE_UNKNOWN: one-query: count has no state clickz/);
  });
});
