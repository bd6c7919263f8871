// `sluice run --bind name=dynamodb:TABLE …`: sinks of a run on one machine write to services, in both runtimes, by the command as users call it.
import { CreateTableCommand, GetItemCommand, type KeySchemaElement, ScanCommand } from '@aws-sdk/client-dynamodb';
import { CreateStreamCommand, DescribeStreamSummaryCommand, KinesisClient } from '@aws-sdk/client-kinesis';
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { CreateQueueCommand, DeleteMessageBatchCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { expect, inject, test } from 'vitest';
import { clientSettings } from '../../lib/adapters/aws/client-settings.ts';
import { KinesisStream } from '../../lib/adapters/aws/targets/stream.ts';
import { commitsKey, committedRow } from '../../lib/index.ts';
import { resultOf, workplace } from '../cli/support.ts';
import { emulatorClients } from './place.ts';

const clients = emulatorClients(30_000);
const kinesis = new KinesisClient({ ...clientSettings({ requestMs: 30_000 }), endpoint: inject('emulator').endpoint });
const users = 250; // more than one request takes, so that rows are staged

const job = (name: string, waitMs = 0): string => `
import { defineJob, dynamoDbSink, files, kinesisSink, ndjson, s3Sink, sqsSink, valueState } from 'sluice';
export default defineJob('${name}', (env) => {
  env.enableCheckpointing('200 ms', { externalizedCleanup: 'RETAIN_ON_CANCELLATION' });
  const counts = env
    .fromSource(files({ path: 'clicks.ndjson', format: ndjson() }), { uid: 'clicks' })
    .keyBy((c) => c.user)
    .process({
      state: { n: valueState({ default: () => 0 }) },
      processElement(c, ctx, out) {
        if (${waitMs} > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${waitMs});
        ctx.state.n.update(ctx.state.n.value() + 1);
        out.collect({ user: c.user, n: ctx.state.n.value() });
      },
    })
    .uid('count');
  counts.sinkTo(dynamoDbSink('totals', { key: 'user' }), { uid: 'totals' });
  counts.sinkTo(dynamoDbSink('ledger', { key: 'user', mode: 'transactional' }), { uid: 'ledger' });
  if (${waitMs} > 0) return;
  counts.sinkTo(s3Sink('parts', { format: ndjson() }), { uid: 'parts' });
  counts.filter((c) => c.user === 'u0').sinkTo(sqsSink('orders', { key: (c) => c.user }), { uid: 'orders' });
  counts.filter((c) => c.user === 'u1').sinkTo(kinesisSink('views', { key: (c) => c.user }), { uid: 'views' });
});
`;
const clicksOf = (times: number): string =>
  Array.from({ length: times * users }, (_, i) => `${JSON.stringify({ user: `u${i % users}` })}\n`).join('');

let places = 0;

async function tableOf(kind: string): Promise<string> {
  const table = `${kind}-${process.pid}-${++places}`;
  const KeySchema: KeySchemaElement[] = [{ AttributeName: 'user', KeyType: 'HASH' }];
  const AttributeDefinitions = [{ AttributeName: 'user', AttributeType: 'S' as const }];
  await clients.dynamodb.send(
    new CreateTableCommand({ TableName: table, BillingMode: 'PAY_PER_REQUEST', KeySchema, AttributeDefinitions }),
  );
  return table;
}

/** What is committed in a table, by user. */
async function countsIn(table: string, of: { readonly job: string; readonly uid: string }): Promise<ReadonlyMap<string, number>> {
  const key = commitsKey({ ...of, key: ['user'] }) as { user: { S: string } };
  const { Item: commits } = await clients.dynamodb.send(new GetItemCommand({ TableName: table, Key: key, ConsistentRead: true }));
  const { Items: items = [] } = await clients.dynamodb.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
  const counts = new Map<string, number>();
  for (const item of items) {
    if (item.user?.S?.startsWith('sluice/') === true) continue;
    const row = of.uid === 'ledger' ? committedRow(item, commits, ['user']) : ({ kind: 'row', item } as const);
    if (row.kind === 'row') counts.set(row.item.user?.S ?? '', Number(row.item.n?.N));
  }
  return counts;
}

const all = (times: number) => new Map(Array.from({ length: users }, (_, i) => [`u${i}`, times] as const));
const sorted = (counts: ReadonlyMap<string, number>): unknown => [...counts].sort();

async function objectsIn(bucket: string): Promise<readonly string[]> {
  const { Contents: found = [] } = await clients.s3.send(new ListObjectsV2Command({ Bucket: bucket }));
  const texts = found.map(async ({ Key }) => {
    expect(Key).toMatch(/^day\/part-/);
    const { Body: body } = await clients.s3.send(new GetObjectCommand({ Bucket: bucket, Key }));
    return (await body!.transformToString()).trim().split('\n');
  });
  return (await Promise.all(texts)).flat();
}

async function messagesIn(queue: string, count: number): Promise<readonly string[]> {
  const bodies: string[] = [];
  while (bodies.length < count) {
    const { Messages: found = [] } = await clients.sqs.send(
      new ReceiveMessageCommand({ QueueUrl: queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 5 }),
    );
    if (found.length === 0) break;
    bodies.push(...found.map(({ Body }) => Body ?? ''));
    const Entries = found.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle }));
    await clients.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queue, Entries }));
  }
  return bodies;
}

async function recordsIn(name: string): Promise<readonly string[]> {
  const stream = new KinesisStream(kinesis, name);
  const bodies: string[] = [];
  for (const { id } of await stream.shards()) {
    const page = await stream.read(await stream.begin(id, undefined), 100);
    if (page !== 'expired') bodies.push(...page.records.map(({ data }) => Buffer.from(data ?? []).toString('utf8')));
  }
  return bodies;
}

async function streamOf(name: string): Promise<void> {
  await kinesis.send(new CreateStreamCommand({ StreamName: name, ShardCount: 1 }));
  for (;;) {
    const { StreamDescriptionSummary: seen } = await kinesis.send(new DescribeStreamSummaryCommand({ StreamName: name }));
    if (seen?.StreamStatus === 'ACTIVE') return;
  }
}

test.each(['embedded', 'invocations'])('with --runtime %s sinks write to tables, a bucket, a queue and a stream', async (runtime) => {
  const name = `bound-${runtime}`;
  const [totals, ledger] = [await tableOf('totals'), await tableOf('ledger')];
  const bucket = `bound-${process.pid}-${++places}`;
  await clients.s3.send(new CreateBucketCommand({ Bucket: bucket }));
  const { QueueUrl: queue = '' } = await clients.sqs.send(
    new CreateQueueCommand({ QueueName: `${bucket}.fifo`, Attributes: { FifoQueue: 'true' } }),
  );
  await streamOf(bucket);
  const at = workplace({ 'job.js': job(name), 'clicks.ndjson': clicksOf(2), 'package.json': '{ "type": "module" }' });
  const targets = {
    ...{ totals: `dynamodb:${totals}`, ledger: `dynamodb:${ledger}` },
    ...{ parts: `s3:${bucket}/day`, orders: `sqs:${queue}`, views: `kinesis:${bucket}` },
  };
  const bind = Object.entries(targets).flatMap(([of, target]) => ['--bind', `${of}=${target}`]);
  const { endpoint } = inject('emulator');
  const words = ['run', 'job.js', '--runtime', runtime, ...bind, '--endpoint', endpoint, '--json'];
  const ended = await at.start(words, { AWS_ENDPOINT_URL: '' }).ended;
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  expect(resultOf(ended)).toMatchObject({ state: 'finished', events: 2 * users });
  expect(sorted(await countsIn(totals, { job: name, uid: 'totals' }))).toEqual(sorted(all(2)));
  expect(sorted(await countsIn(ledger, { job: name, uid: 'ledger' }))).toEqual(sorted(all(2)));
  const rows = [...all(2).keys()].flatMap((user) => [1, 2].map((n) => JSON.stringify({ user, n })));
  expect((await objectsIn(bucket)).toSorted()).toEqual(rows.toSorted());
  expect(await messagesIn(queue, 2)).toEqual([1, 2].map((n) => JSON.stringify({ user: 'u0', n })));
  // A stream drops nothing: what one worker has appended is appended again by the next one that cannot know it.
  const records = await recordsIn(bucket);
  expect(runtime === 'embedded' ? records : [...new Set(records)]).toEqual([1, 2].map((n) => JSON.stringify({ user: 'u1', n })));
});

test('an embedded run that is killed goes on from its checkpoint, and what it had promised is committed once', async () => {
  const name = 'bound-killed';
  const [totals, ledger] = [await tableOf('totals'), await tableOf('ledger')];
  const at = workplace({ 'job.js': job(name, 2), 'clicks.ndjson': clicksOf(8), 'package.json': '{ "type": "module" }' });
  const bind = ['--bind', `totals=dynamodb:${totals}`, '--bind', `ledger=dynamodb:${ledger}`];
  const run = (...more: readonly string[]) =>
    at.start(['run', 'job.js', ...bind, ...more, '--endpoint', inject('emulator').endpoint, '--json']);
  const first = run();
  await first.says('checkpoint-completed'); // of the first batch; its rows are being committed
  first.child.kill('SIGKILL');
  await first.ended;
  const ended = await run('--from', 'latest').ended;
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  expect(sorted(await countsIn(totals, { job: name, uid: 'totals' }))).toEqual(sorted(all(8)));
  expect(sorted(await countsIn(ledger, { job: name, uid: 'ledger' }))).toEqual(sorted(all(8)));
  // From the beginning, over the rows that are there: a later run, whose counts begin again.
  const anew = await run().ended;
  expect(anew, anew.stderr).toMatchObject({ code: 0 });
  expect(sorted(await countsIn(totals, { job: name, uid: 'totals' }))).toEqual(sorted(all(8)));
  expect(sorted(await countsIn(ledger, { job: name, uid: 'ledger' }))).toEqual(sorted(all(8)));
});
