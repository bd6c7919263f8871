// One job in three stacks, over a stream, a FIFO queue and a standard queue, from its deployment to its removal. Between its stages the first sends by
// streams, the others by queues. What tables and objects hold is held against what was sent, whatever was delivered twice or at once, whoever died of it,
// and whatever was deployed, resharded or restored on the way.
import { GetEventSourceMappingCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readStack } from '../../lib/cli/aws/stack.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { Cloud, type Ended } from './cloud.ts';
import { DeployedVisits } from './deployed-visits.ts';
import { StreamInput } from './inputs.ts';
import { inOrder } from './oracle.ts';

const app = 'visits.ts';
let cloud: Cloud;
let stream: StreamInput;
let jobs: readonly DeployedVisits[] = [];
let streaming: DeployedVisits;
let fifo: DeployedVisits;
/** The checkpoint that each job is taken back to. */
const early = new Map<string, number>();

const each = async (work: (job: DeployedVisits) => Promise<void>): Promise<void> => void (await Promise.all(jobs.map(work)));

function expectDone({ code, out, err }: Ended): void {
  expect(code, `${out}\n${err}`).toBe(0);
}

const deploy = (more: Readonly<Record<string, string>> = {}, stacks?: readonly string[]): Promise<Ended> =>
  cloud.cdk('deploy', app, { STREAM_ARN: stream.arn, ...more }, stacks);

beforeAll(async () => {
  cloud = await Cloud.start();
  stream = new StreamInput(`visits-${process.pid}`);
  await stream.create(2);
});

afterAll(async () => {
  await Promise.allSettled(jobs.map((job) => job.stop()));
  await cloud?.stop();
});

test('stacks are deployed, and the first pulse of each makes its job', async () => {
  expectDone(await deploy());
  jobs = [new DeployedVisits(cloud, 'stream', stream), new DeployedVisits(cloud, 'fifo'), new DeployedVisits(cloud, 'standard')];
  [streaming, fifo] = [jobs[0]!, jobs[1]!];
  const random = seededRandom(7);
  await each((job) => job.begin(() => random.below(1_000) / 1_000));
});

test('each visit counts once, also one that is delivered three times, twice of them at once', async () => {
  await each(async (job) => {
    await job.send(job.visits(0, 120));
    await job.upset(job.visits(0, 10, (i) => ({ user: `twice-${i % 3}` })));
    await job.expectTotals();
  });
});

test('a checkpoint completes, and the live state of a key is what was counted', async () => {
  await each(async (job) => {
    early.set(job.name, await job.nextCheckpoint(0));
    const { checkpoints } = await job.sluice('checkpoints', 'list', 'visits');
    expect((checkpoints as readonly { readonly checkpoint: number }[]).map(({ checkpoint }) => checkpoint)).toContain(early.get(job.name));
    await job.expectTotals();
    const { value } = await job.sluice('state', 'get', 'visits', '--operator', 'count', '--state', 'visits', '--key', 'u1');
    expect(value).toBe(job.oracle.totals().get('u1'));
  });
});

test('nothing is lost or counted twice by a function that never comes back, a shard that is split, and new code in the middle of it', async () => {
  await each((job) => job.send(job.visits(1, 60, (i) => (i === 20 ? { hangs: true } : {}))));
  const deploying = deploy({ MEMORY: '640' });
  await stream.split();
  await each((job) => job.send(job.visits(2, 60)));
  expectDone(await deploying);
  await each(async (job) => {
    await job.send(job.visits(3, 60));
    await job.expectTotals();
  });
});

test('shards that are merged hand their state over, while those between stages are split', async () => {
  await each(async (job) => {
    await job.send(job.visits(4, 60));
    await job.expectTotals();
  });
  await Promise.all([stream.merge(), ...streaming.exchanges.map((exchange) => exchange.split())]);
  await each(async (job) => {
    await job.send(job.visits(5, 60));
    await job.expectTotals();
    await job.nextCheckpoint(5);
  });
});

test('a restore to an early checkpoint takes each job back, and what came since is counted again', async () => {
  await each(async (job) => {
    const checkpoint = early.get(job.name);
    const restored = await job.sluice('restore', 'visits', String(checkpoint));
    expect(restored).toMatchObject({ state: 'running', generation: 1, checkpoint });
    await job.send(job.visits(6, 60));
    await job.expectTotals();
  });
});

test('windows are visible once each, but for those that later checkpoints had shown before the restore', async () => {
  await each((job) => job.expectPages(early.get(job.name)!));
  await each((job) => job.expectTotals());
  const streams = [stream, ...streaming.exchanges];
  expect(streams.map(({ counts }) => counts.shardsEnded)).toEqual([3, 1, 1]);
  for (const { counts } of streams.slice(0, 2)) expect(Math.min(counts.again, counts.overlapping)).toBeGreaterThan(0);
  expect(stream.counts.failed).toBeGreaterThan(0);
});

test('a job with another plan is refused before anything changes', async () => {
  const { code, out, err } = await deploy({ ANOTHER_PLAN: 'fifo' }, [fifo.stack]);
  expect(code).not.toBe(0);
  expect(`${out}${err}`).toMatch(/PLAN_CHANGED|another plan/);
  await fifo.send(fifo.visits(61, 60));
  await fifo.expectTotals();
});

test('a paused job takes no input, and goes on from where it stood', async () => {
  const lambda = new LambdaClient({});
  await each(async (job) => {
    expect(await job.sluice('pause', 'visits')).toMatchObject({ state: 'paused' });
    for (const uuid of job.mappings) expect((await lambda.send(new GetEventSourceMappingCommand({ UUID: uuid }))).State).toMatch(/^Disabl/);
    const before = inOrder(await job.totals());
    await job.send(job.visits(62, 60));
    expect(inOrder(await job.totals())).toEqual(before);
    expect(await job.sluice('resume', 'visits')).toMatchObject({ state: 'running' });
    await job.expectTotals();
  });
});

test('cancelled jobs end, and their stacks go', async () => {
  await each(async (job) => expect(await job.sluice('cancel', 'visits')).toMatchObject({ state: 'cancelled' }));
  await each((job) => job.stop());
  expectDone(await cloud.cdk('destroy', app, { STREAM_ARN: stream.arn }));
  await each((job) => expect(readStack(job.stack, { endpoint: undefined })).rejects.toThrow(/no stack/));
});
