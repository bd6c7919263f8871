// The check that a deployment waits for: what it decides, and that it asks for no more than it needs.
import { describe, expect, test } from 'vitest';
import type { Home } from '../../lib/adapters/aws/home.ts';
import { type DeploymentFacts, decideDeployment } from '../../lib/aws/deploy-check.ts';
import { type CheckRequest, refusalOf } from '../../lib/aws/deploy-check-resource.ts';

const stages = [
  { id: 0, name: 'clicks', inputs: 0, parallelism: 1 },
  { id: 1, name: 'count', inputs: 1, parallelism: 2 },
];
const owner = (stage: number, index: number) => ({ subtask: `${stage}-${index}`, stage, index, splits: [] });
const shard = (ordinal: number) => ({ subtask: `0-s${ordinal}`, stage: 0, index: ordinal, splits: [ordinal] });
const running = { job: 'clicks', planHash: 'a'.repeat(32), owners: [shard(0), shard(1), owner(1, 0), owner(1, 1)] };
const facts: DeploymentFacts = {
  item: running,
  hasRead: { clicks: 'arn' },
  plan: { hash: running.planHash, stages: stages.map((s) => ({ ...s, inputs: Array.from({ length: s.inputs }) })) },
  streams: [{ name: 'clicks', arn: 'arn', shards: 4, reserved: undefined }],
  account: { limit: 1_000, unreserved: 900 },
  reserves: 10,
};

const decide = (o: Partial<DeploymentFacts>) => (): void => decideDeployment({ ...facts, ...o });

describe('a deployment', () => {
  test('goes on when no job was started, and when the job that runs has the same plan', () => {
    expect(decide({ item: undefined })).not.toThrow();
    expect(decide({})).not.toThrow();
  });

  test('is refused for another plan, whatever state the job is in, and says that nothing was changed', () => {
    expect(decide({ plan: { ...facts.plan, hash: 'b'.repeat(32) } })).toThrow(
      `job clicks runs the plan ${'a'.repeat(32)}, and this code makes the plan ${'b'.repeat(32)}; nothing was changed`,
    );
  });

  test('is refused for another parallelism of a keyed stage, because keys would change their owners', () => {
    const wider = facts.plan.stages.map((stage) => ({ ...stage, parallelism: stage.id === 1 ? 3 : stage.parallelism }));
    expect(decide({ plan: { ...facts.plan, stages: wider } })).toThrow(
      /runs count at parallelism 2, and this code at 3; nothing was changed/,
    );
  });

  test('is refused when shards would wait for environments', () => {
    expect(decide({ streams: [{ name: 'clicks', arn: 'arn', shards: 4, reserved: 3 }] })).toThrow(
      /stream clicks has 4 open shards, and 3 environments are reserved/,
    );
    expect(decide({ streams: [{ name: 'clicks', arn: 'arn', shards: 4, reserved: 4 }] })).not.toThrow();
    expect(decide({ streams: [{ name: 'clicks', arn: 'arn', shards: 891, reserved: undefined }] })).toThrow(
      /891 open shards together, and 890 environments/,
    );
  });

  test('is refused when an account could not reserve what is asked for', () => {
    expect(decide({ account: { limit: 1_000, unreserved: 105 } })).toThrow(
      /10 environments are to be reserved, and of 1000 of this account only 105 are free/,
    );
    expect(decide({ account: { limit: 10, unreserved: 10 }, streams: [] })).toThrow(/of 10 of this account only 10 are free/);
    expect(decide({ account: { limit: 10, unreserved: 10 }, reserves: 0 }), 'none is reserved, so four shards fit').not.toThrow();
  });

  test('is refused over the table of a job with another name, or with other stages', () => {
    expect(decide({ item: { ...running, job: 'orders', planHash: 'c'.repeat(32) } })).toThrow(
      /^job orders runs the plan c+, and this code/,
    );
  });

  test('is refused for another stream under the same name: its records would be taken for those that the job has had', () => {
    expect(decide({ hasRead: { clicks: 'arn:of-another' } })).toThrow(
      /^job clicks has read arn:of-another as clicks, and would read arn, .*nothing was changed$/,
    );
    expect(decide({ hasRead: { orders: 'arn:of-another' } })).not.toThrow();
    expect(decide({ hasRead: { clicks: 'arn:of-another' }, item: undefined })).not.toThrow();
  });

  test('is refused for another topic under the same name: records up to the offsets that the job has had would be passed over', () => {
    const topics = [{ name: 'orders', topic: 'orders-2' }];
    expect(decide({ topics, hasRead: { orders: 'orders-1' } })).toThrow(
      /^job clicks has read orders-1 as orders, and would read orders-2, /,
    );
    expect(decide({ topics, hasRead: { orders: 'orders-2' } })).not.toThrow();
    expect(decide({ topics, hasRead: {} }), 'a job that noted no topics').not.toThrow();
  });

  test('is refused for another exchange: what is on its way between stages would stay in the one that the job has', () => {
    const other = { has: 'sqs', wanted: 'kinesis', shards: 3 } as const;
    expect(decide({ exchange: other })).toThrow(
      /^job clicks was started with exchange 'sqs', and this deployment has 'kinesis', where nothing is of what is on its way; nothing was changed$/,
    );
    expect(decide({ exchange: { ...other, has: 'kinesis' } })).not.toThrow();
    expect(decide({ exchange: other, item: undefined }), 'no job was started').not.toThrow();
    const alone = { ...facts.plan, stages: facts.plan.stages.slice(0, 1) };
    expect(decide({ exchange: other, plan: alone, item: { ...running, owners: running.owners.slice(0, 2) } })).not.toThrow();
  });

  test('is refused when shards of exchanges and of sources are more together than an account has environments', () => {
    const exchange = { has: 'kinesis', wanted: 'kinesis', shards: 887 } as const;
    expect(decide({ exchange })).toThrow(/891 open shards together, and 890 environments/);
    expect(decide({ exchange: { ...exchange, shards: 886 } })).not.toThrow();
  });

  test('is not refused for what cannot be found out', () => {
    expect(decide({ hasRead: undefined })).not.toThrow();
    expect(decide({ account: undefined, streams: [{ name: 'clicks', arn: 'arn', shards: undefined, reserved: 1 }] })).not.toThrow();
  });
});

describe('the custom resource', () => {
  const request = (o: Partial<CheckRequest>): CheckRequest => ({
    RequestType: 'Update',
    ResponseURL: 'http://127.0.0.1/',
    StackId: 'stack',
    RequestId: 'request',
    LogicalResourceId: 'MayDeploy',
    ResourceProperties: {
      Job: 'clicks',
      Table: 'table',
      PlanHash: running.planHash,
      Stages: JSON.stringify(stages),
      Streams: JSON.stringify([{ arn: 'arn', name: 'clicks' }]),
      Reserved: '10',
    },
    ...o,
  });
  const ask = {
    item: () => Promise.resolve<DeploymentFacts['item']>(running),
    home: () => Promise.resolve<Home | undefined>({ table: 'table', streams: { clicks: 'arn' }, exchange: 'kinesis' }),
    openShards: () => Promise.resolve(4),
    account: () => Promise.resolve({ limit: 1_000, unreserved: 105 }),
    isRollback: () => Promise.resolve(false),
  };

  test('counts as reserved anew only what the stack did not reserve before', async () => {
    expect(await refusalOf(request({}), ask)).toMatch(/^DEPLOYMENT_UNSAFE: 10 environments are to be reserved/);
    expect(await refusalOf(request({ OldResourceProperties: { Reserved: '10' } }), ask)).toBeUndefined();
  });

  test('says in one line what is refused and what to do', async () => {
    const properties = { ...request({}).ResourceProperties, PlanHash: 'b'.repeat(32) };
    const refusal = await refusalOf(request({ ResourceProperties: properties }), ask);
    expect(refusal).toMatch(/^PLAN_CHANGED: job clicks runs .*nothing was changed; {2}next: deploy the code that the job was started with/);
    expect(refusal).not.toContain('\n');
  });

  test('takes a job that noted no exchange for one with queues, as there was nothing else', async () => {
    const given = { ...request({}).ResourceProperties, Reserved: '0', Exchange: 'kinesis', ExchangeShards: '2' };
    const old = { ...ask, home: () => Promise.resolve({ table: 'table', streams: {} }) };
    expect(await refusalOf(request({ ResourceProperties: given }), ask)).toBeUndefined();
    expect(await refusalOf(request({ ResourceProperties: given }), old)).toMatch(/started with exchange 'sqs'/);
    expect(await refusalOf(request({ ResourceProperties: { ...given, Exchange: 'sqs' } }), old)).toBeUndefined();
    const { Exchange: _, ...before } = given;
    expect(await refusalOf(request({ ResourceProperties: before }), ask), 'a template of an older version').toBeUndefined();
  });

  test('lets a rollback pass in the middle of a deployment: what it goes back to is what the job runs', async () => {
    const refused = {
      ...request({}).ResourceProperties,
      PlanHash: 'b'.repeat(32),
      Streams: JSON.stringify([{ arn: 'other', name: 'clicks' }]),
    };
    const enough = { ...ask, account: () => Promise.resolve({ limit: 1_000, unreserved: 900 }) };
    expect(await refusalOf(request({ ResourceProperties: refused }), enough)).toMatch(/^PLAN_CHANGED: /);
    expect(await refusalOf(request({ OldResourceProperties: refused }), enough)).toBeUndefined();
  });

  test.each([
    ['a stream was split since, beyond what was reserved then', { openShards: () => Promise.resolve(12) }],
    ['others have taken what it would reserve again', { account: () => Promise.resolve({ limit: 1_000, unreserved: 101 }) }],
    ['the table cannot be read', { item: () => Promise.reject(new Error('KMSAccessDeniedException')) }],
    ['the stream is gone', { openShards: () => Promise.reject(new Error('ResourceNotFoundException')) }],
  ] as const)('lets a rollback pass when %s, which refuses anything else', async (_, found) => {
    const streams = JSON.stringify([{ arn: 'arn', name: 'clicks', reserved: 10 }]);
    const update = request({
      ResourceProperties: { ...request({}).ResourceProperties, Streams: streams },
      OldResourceProperties: { PlanHash: 'b'.repeat(32), Reserved: '5' },
    });
    const asked: string[] = [];
    const isRollback = (stack: string): Promise<boolean> => Promise.resolve(asked.push(stack) > 0);
    expect(await refusalOf(update, { ...ask, ...found })).not.toBeUndefined();
    expect(await refusalOf(update, { ...ask, ...found, isRollback })).toBeUndefined();
    expect(asked).toEqual(['stack']);
    expect(await refusalOf({ ...update, RequestType: 'Create' }, { ...ask, ...found, isRollback })).not.toBeUndefined();
  });

  test('lets a stack go without asking anything, also when nothing can be asked any more', async () => {
    const never = (): Promise<never> => Promise.reject(new Error('nobody is there'));
    expect(
      await refusalOf(request({ RequestType: 'Delete' }), {
        item: never,
        home: never,
        openShards: never,
        account: never,
        isRollback: never,
      }),
    ).toBeUndefined();
    expect(await refusalOf(request({}), { ...ask, item: never })).toBe('nobody is there');
  });
});
