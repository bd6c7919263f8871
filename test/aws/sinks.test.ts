// Sinks and sources of services over the real clients and real HTTP.
import { CreateStreamCommand, DescribeStreamSummaryCommand, KinesisClient } from '@aws-sdk/client-kinesis';
import { GetObjectCommand, ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { DeleteMessageBatchCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, inject, test } from 'vitest';
import { clientSettings } from '../../lib/adapters/aws/clients.ts';
import { type BoundTarget, openTargets } from '../../lib/adapters/aws/targets/open-targets.ts';
import type { DetachedContext, DetachedTransaction, ImmediateContext, Sink } from '../../lib/api/sink.ts';
import type { SourceContext, SourceOutput } from '../../lib/api/source.ts';
import type { Targets } from '../../lib/api/targets.ts';
import type { RecordBatch } from '../../lib/core/batch.ts';
import { MiB } from '../../lib/core/limits.ts';
import { kinesis, kinesisSink, ndjson, s3Sink, sqsSink } from '../../lib/index.ts';
import { createPlace, emulatorClients } from './place.ts';

interface Row {
  readonly user: string;
  readonly n: number;
}

const rows: readonly Row[] = Array.from({ length: 40 }, (_, n) => ({ user: `u${n % 3}`, n }));

function bound(bind: Readonly<Record<string, BoundTarget>>): Targets {
  const { endpoint } = inject('emulator');
  return openTargets({ bind, clients: emulatorClients(), kinesis: streams(endpoint) });
}

function streams(endpoint: string): KinesisClient {
  return new KinesisClient(clientSettings({ endpoint }));
}

function contextOf(targets: Targets): DetachedContext {
  return {
    ...{ job: 'shop', uid: 'out', generation: 1, subtask: 0, parallelism: 1, targets },
    clock: { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) },
    report: () => undefined,
  } as unknown as DetachedContext;
}

async function deliver(sink: Sink<Row>, targets: Targets): Promise<void> {
  const { detached } = sink;
  if (detached?.kind !== 'immediate') throw new Error('it writes at once');
  const context: ImmediateContext = { ...contextOf(targets), tag: { begunMs: 1_700_000_000_000, generation: 1, n: 1, index: 0 } };
  await detached.write(context, { values: rows, count: rows.length, origins: { at: (i: number) => `in/${i}` } } as unknown as RecordBatch);
}

const inOrderPerKey = (got: readonly Row[]): void => {
  for (const user of ['u0', 'u1', 'u2']) expect(got.filter((row) => row.user === user)).toEqual(rows.filter((row) => row.user === user));
};

test('a FIFO queue gets each row once and in order per key, also when the entry is delivered again', async () => {
  const clients = emulatorClients();
  const { queue } = await createPlace(clients, { visibilitySeconds: 30 });
  const targets = bound({ orders: { kind: 'sqs', queue, fifo: true } });
  const sink = sqsSink<Row>('orders', { key: (row) => row.user });
  await deliver(sink, targets);
  await deliver(sink, targets);
  const got: Row[] = [];
  for (let messages = await receive(); messages.length > 0; messages = await receive()) got.push(...messages);
  expect(got.length).toBe(rows.length);
  inOrderPerKey(got);

  async function receive(): Promise<readonly Row[]> {
    const { Messages: messages = [] } = await clients.sqs.send(new ReceiveMessageCommand({ QueueUrl: queue, MaxNumberOfMessages: 10 }));
    if (messages.length === 0) return [];
    const entries = messages.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle }));
    await clients.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queue, Entries: entries }));
    return messages.map(({ Body = '' }) => JSON.parse(Body) as Row);
  }
});

test('a stream gets rows in order per key, and the source reads them from every place on', async () => {
  const { endpoint } = inject('emulator');
  emulatorClients();
  const client = streams(endpoint);
  const name = `rows-${process.pid}`;
  await client.send(new CreateStreamCommand({ StreamName: name, ShardCount: 1 }));
  const { StreamDescriptionSummary: summary } = await client.send(new DescribeStreamSummaryCommand({ StreamName: name }));
  const targets = bound({ rows: { kind: 'kinesis', stream: summary?.StreamARN } });
  await deliver(kinesisSink<Row>('rows', { key: (row) => row.user }), targets);

  const source = kinesis<Row>('rows');
  const context = { ...contextOf(targets), countSkipped: () => undefined } as unknown as SourceContext;
  const [split, ...others] = await source.enumerate(context);
  expect([split?.range, others]).toEqual([{ from: 0, to: 2 ** 32 - 1 }, []]);
  const read = async (from: Parameters<typeof source.open>[1], count: number) => {
    const reader = source.open(split!, from, context);
    const out: SourceOutput<Row> = { values: [], count: 0, side: () => undefined };
    while (out.count < count) {
      await reader.ready();
      reader.poll(out, count - out.count);
    }
    await reader.close();
    return { values: out.values as Row[], position: reader.position() };
  };
  const whole = await read(undefined, rows.length);
  inOrderPerKey(whole.values);
  const half = await read(undefined, 17);
  expect((await read(half.position, rows.length - 17)).values).toEqual(whole.values.slice(17));
  expect(await source.evolution!.isOver!(split!, whole.position, context)).toBe(false); // it is open
  client.destroy();
});

describe('a bucket', () => {
  const of = (values: readonly unknown[], checkpoint: number): DetachedTransaction<unknown> => ({
    id: { job: 'shop', uid: 'out', generation: 1, subtask: 0, checkpoint: checkpoint - 1 },
    ...{ checkpoint, timestamp: 0, rows: values },
  });

  async function world() {
    const { s3 } = emulatorClients();
    const { bucket } = await createPlace(emulatorClients(), { visibilitySeconds: 30 });
    const context = contextOf(bound({ out: { kind: 's3', bucket, prefix: 'rows' } }));
    const { detached } = s3Sink<unknown>('out', { format: ndjson(), partBytes: 5 * MiB });
    if (detached?.kind !== 'transactional') throw new Error('it commits');
    const objects = async (): Promise<readonly string[]> =>
      ((await s3.send(new ListObjectsV2Command({ Bucket: bucket }))).Contents ?? []).map(({ Key: key = '' }) => key);
    const text = async (key: string): Promise<string> =>
      (await (await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }))).Body?.transformToString()) ?? '';
    const uploads = async (): Promise<number> =>
      ((await s3.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? []).length;
    return { context, detached, objects, text, uploads };
  }

  const large = Array.from({ length: 7 }, (_, i) => ({ i, text: 'x'.repeat(MiB) }));
  const name = (checkpoint: number): string => `rows/part-19700101T000000000Z-0-000000000${checkpoint}-1.ndjson`;

  test('has the rows of a checkpoint when it is committed, once, whether small or in parts', async () => {
    const { context, detached, objects, text } = await world();
    const started = await detached.start!(context);
    for (const [checkpoint, values] of [
      [1, rows],
      [2, large],
      [3, []],
    ] as const) {
      const prepared = await detached.prepare(context, of(values, checkpoint), started);
      expect(await objects()).toHaveLength(checkpoint - 1);
      await detached.commit(context, of(values, checkpoint), prepared);
      await detached.commit(context, of(values, checkpoint), prepared);
    }
    expect(await objects()).toEqual([name(1), name(2)]);
    expect(await text(name(2))).toBe(large.map((row) => `${JSON.stringify(row)}\n`).join(''));
  });

  test('keeps nothing of what was aborted, and what was given up is told when it is to be committed', async () => {
    const { context, detached, objects, uploads } = await world();
    const prepared = await detached.prepare(context, of(large, 1), await detached.start!(context));
    expect(await uploads()).toBe(1);
    await detached.abort(context, of(large, 1), prepared);
    expect([await uploads(), await objects()]).toEqual([0, []]);
    await detached.abort(context, of(large, 1), prepared);
    await expect(detached.commit(context, of(large, 1), prepared)).rejects.toMatchObject({ code: 'SINK_TRANSACTION_FORGOTTEN' });
  });
});

test('a target that is missing, or is another thing, is told with its name', async () => {
  const targets = bound({
    orders: { kind: 'sqs', queue: 'http://127.0.0.1:4566/000000000000/none', fifo: false },
    out: { kind: 's3', bucket: 'none' },
  });
  expect(() => targets.stream('orders')).toThrow(expect.objectContaining({ code: 'BIND_UNFIT' }));
  expect(() => targets.queue('order')).toThrow(/bind has 'orders'/);
  await expect(targets.bucket('out').putAbsent('a', new Uint8Array(), '')).rejects.toMatchObject({ code: 'STORE_MISSING' });
  const sent = targets.queue('orders').send([{ id: 'a', key: 'a', body: '1' }]);
  await expect(sent).rejects.toMatchObject({ code: 'STORE_MISSING' });
});
