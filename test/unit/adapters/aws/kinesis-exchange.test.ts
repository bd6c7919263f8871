// Messages of the exchange into streams: which of a request are sent again, and where a target's messages lie.
import { describe, expect, test } from 'vitest';
import { hashKeyOf, KinesisExchange, leftOf } from '../../../../lib/adapters/aws/kinesis-exchange.ts';
import { type OutgoingMessage, sendBytesMax, sendMax } from '../../../../lib/invocation/ports.ts';
import { type Answer, type Asked, jsonError, ok, scripted } from './scripted.ts';

const arnOf = (name: string): string => `arn:aws:kinesis:us-east-1:123456789012:stream/${name}`;
const [one, two] = [arnOf('one'), arnOf('two')];
const streams = { '1': { stream: one, targets: 4 }, '2': { stream: two, targets: 2 } };
const message = (group: string, text: string): OutgoingMessage => ({ group, id: `${group} ${text}`, bytes: Buffer.from(text) });
const taken = { SequenceNumber: '495', ShardId: 'shardId-000000000000' };
const throttled = { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'Rate exceeded for shard' };
const broken = { ErrorCode: 'InternalFailure', ErrorMessage: 'Internal service failure' };

function exchangeOf(...answers: readonly Answer[]) {
  const { kinesis, asked } = scripted(...answers);
  return { exchange: new KinesisExchange(kinesis, streams), asked };
}

const textsOf = ({ body }: Asked): readonly string[] =>
  (body.Records as readonly { readonly Data: string }[]).map(({ Data: data }) => Buffer.from(data, 'base64').toString());

describe('a batch', () => {
  const batch = [message('1-0', 'a'), message('1-0', 'b'), message('1-1', 'c'), message('1-1', 'd'), message('2-0', 'e')];

  test('is sent in requests of one message for each target, to one stream each', async () => {
    const { exchange, asked } = exchangeOf(ok({ Records: [taken, taken] }), ok({ Records: [taken, taken] }), ok({ Records: [taken] }));
    expect(await exchange.send(batch)).toEqual({ left: [] });
    expect(asked.map(({ action, body }) => [action, body.StreamARN])).toEqual([
      ['PutRecords', one],
      ['PutRecords', one],
      ['PutRecords', two],
    ]);
    expect(asked.map(textsOf)).toEqual([['a', 'c'], ['b', 'd'], ['e']]);
    expect((asked[0]!.body.Records as readonly object[])[1]).toMatchObject({ PartitionKey: '1-1', ExplicitHashKey: hashKeyOf('1-1', 4) });
  });

  test('of which a message was not accepted leaves that one and all behind it of its target, and sends none of those', async () => {
    const { exchange, asked } = exchangeOf(
      ok({ FailedRecordCount: 1, Records: [throttled, taken] }),
      ok({ Records: [taken] }),
      ok({ FailedRecordCount: 1, Records: [broken] }),
    );
    expect(await exchange.send(batch)).toEqual({ left: [0, 1, 4] });
    expect(asked.map(textsOf)).toEqual([['a', 'c'], ['d'], ['e']]);
  });

  test('is throttled only when nothing of it was sent; a request that got no answer leaves it open', async () => {
    const refused = jsonError('kinesis', 'ProvisionedThroughputExceededException');
    await expect(exchangeOf(refused).exchange.send(batch)).rejects.toMatchObject({ code: 'STORE_THROTTLED' });
    const part = exchangeOf(ok({ Records: [taken, taken] }), refused, ok({ Records: [taken] }));
    expect(await part.exchange.send(batch)).toEqual({ left: [1, 3] });
    const lost = exchangeOf(ok({ Records: [taken, taken] }), jsonError('kinesis', 'InternalFailure', { status: 500 }));
    await expect(lost.exchange.send(batch)).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
  });

  test.each([
    ['AccessDeniedException', 'STORE_FORBIDDEN'],
    ['KMSAccessDeniedException', 'STORE_FORBIDDEN'],
    ['ResourceNotFoundException', 'STORE_MISSING'],
    ['InvalidArgumentException', 'STORE_REQUEST_INVALID'],
  ])('that nobody may send: %s', async (name, code) => {
    const { exchange } = exchangeOf(jsonError('kinesis', name));
    await expect(exchange.send(batch)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`kinesis:PutRecords to ${one}: ${name}`),
    });
  });

  test('that the port allows is within the bounds of a request', () => {
    expect(sendMax).toBeLessThanOrEqual(500);
    expect(sendBytesMax).toBeLessThan(1024 * 1024);
  });

  test('for a stage that the deployment does not know is a defect', async () => {
    await expect(exchangeOf().exchange.send([message('7-0', 'a')])).rejects.toMatchObject({ code: 'SUBTASK_UNKNOWN' });
  });
});

describe('what is left of a request', () => {
  const rows: readonly (readonly [string, Parameters<typeof leftOf>[0], readonly number[]])[] = [
    ['nothing when all of it was accepted', [taken, taken, taken], []],
    ['what was throttled', [taken, throttled, taken], [1]],
    ['what may have happened: the target drops a repeat', [broken, taken, broken], [0, 2]],
    ['what nothing was said of', [taken], [1, 2]],
    ['all, of an answer without records', [], [0, 1, 2]],
  ];
  test.each(rows)('is %s', (_, answers, left) => {
    expect(leftOf(answers, 'put', 3)).toEqual(left);
  });

  test('is an error where sending again would not mend it', () => {
    expect(() => leftOf([taken, { ErrorCode: 'KMSDisabledException', ErrorMessage: 'disabled' }], 'kinesis:PutRecords to s', 2)).toThrow(
      expect.objectContaining({
        code: 'STORE_FORBIDDEN',
        message: expect.stringContaining('kinesis:PutRecords to s: KMSDisabledException'),
      }),
    );
  });
});

describe('the hash key of a target', () => {
  /** Which of so many equal shards has a key. */
  const shardOf = (key: string, shards: number): number => Number((BigInt(key) * BigInt(shards)) / 2n ** 128n);

  test.each([1, 2, 3, 5, 7, 128, 4_000])('of %i gives each a shard of its own where there are as many', (targets) => {
    const shards = Array.from({ length: targets }, (_, i) => shardOf(hashKeyOf(`3-${i}`, targets)!, targets));
    expect(shards).toEqual(Array.from({ length: targets }, (_, i) => i));
  });

  test('gives neighbours the same shard where there are fewer, about as many each', () => {
    const shards = Array.from({ length: 8 }, (_, i) => shardOf(hashKeyOf(`1-${i}`, 8)!, 3));
    expect(shards).toEqual([0, 0, 0, 1, 1, 2, 2, 2]);
  });

  test('is that of no other text, which has its own', () => {
    for (const group of ['g', '1', '1-s3', '1-4', '-1']) expect(hashKeyOf(group, 4), group).toBeUndefined();
  });
});

test('nothing is taken out of a stream', async () => {
  const { exchange } = exchangeOf();
  for (const request of [exchange.receive(), exchange.settle(), exchange.release()])
    await expect(request).rejects.toMatchObject({ code: 'INTERNAL' });
});
