// Answers of Kinesis and SQS that are successes for some, and errors that are none.
import { expect, test } from 'vitest';
import { SqsQueue } from '../../../../lib/adapters/aws/targets/queue.ts';
import { KinesisStream } from '../../../../lib/adapters/aws/targets/stream.ts';
import { RowAppender } from '../../../../lib/connectors/cloud/append-rows.ts';
import { jsonError, ok, scripted, taken } from './scripted.ts';

const arn = 'arn:aws:kinesis:us-east-1:123456789012:stream/clicks';
const row = (id: string) => ({ id, key: id, body: id });

test('an iterator that is too old is a result, and the error of anything else names the action and the stream', async () => {
  const { kinesis } = scripted(jsonError('kinesis', 'ExpiredIteratorException'), jsonError('kinesis', 'AccessDeniedException'));
  const stream = new KinesisStream(kinesis, arn);
  expect(await stream.read('old', 10)).toBe('expired');
  await expect(stream.read('new', 10)).rejects.toMatchObject({
    code: 'STORE_FORBIDDEN',
    message: expect.stringContaining(`kinesis:GetRecords of ${arn}`) as string,
  });
});

test('a closed shard has no page after its last one', async () => {
  const { kinesis } = scripted(ok({ Records: [], NextShardIterator: null, MillisBehindLatest: 0 }));
  expect(await new KinesisStream(kinesis, arn).read('end', 10)).toEqual({ records: [], next: undefined });
});

test('rows that were not taken are told, and which of them never will be', async () => {
  const answers = [
    { SequenceNumber: '1', ShardId: 's' },
    { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'slow' },
    { ErrorCode: 'InternalFailure', ErrorMessage: 'oh' },
    { ErrorCode: 'ValidationException', ErrorMessage: 'no' },
  ];
  const { kinesis } = scripted(ok({ FailedRecordCount: 3, Records: answers }));
  const notTaken = await new KinesisStream(kinesis, arn).append(['a', 'b', 'c', 'd'].map(row));
  expect(notTaken.map(({ at, isFinal }) => [at, isFinal])).toEqual([
    [1, false],
    [2, false],
    [3, true],
  ]);
});

test('a row of which nothing was said is one that was not taken', async () => {
  const { kinesis, clients } = scripted(ok({ Records: [{ SequenceNumber: '1', ShardId: 's' }] }), taken(['1'], 'b'));
  const rows = ['a', 'b'].map(row);
  const left = { reason: 'nothing was said of it', isFinal: false };
  expect(await new KinesisStream(kinesis, arn).append(rows)).toEqual([{ at: 1, ...left }]);
  expect(await new SqsQueue(clients.sqs, { url: 'https://sqs/1/rows', isFifo: false }).send(rows)).toEqual([{ at: 0, ...left }]);
});

test('C46: rows of one key arrive in order when some are throttled and an error follows what was stored, which alone is there again', async () => {
  const stored = ok({ FailedRecordCount: 0, Records: [{ SequenceNumber: '1', ShardId: 's' }] });
  const throttled = ok({ FailedRecordCount: 1, Records: [{ ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'slow' }] });
  const failed = jsonError('kinesis', 'InternalFailure', { status: 500 });
  // The third and the seventh row are refused at first; of the one behind each, the stream keeps the first and the reply to it is an error.
  const script = [stored, stored, throttled, stored, failed, stored, stored, stored, throttled, stored, failed, stored, stored, stored];
  const { kinesis, asked } = scripted(...script);
  const stream = new KinesisStream(kinesis, arn);
  const limits = { rowsMax: 500, bytesMax: 5_000_000, rowBytesMax: 1_000_000 };
  const appender = new RowAppender('a sink', limits, (rows) => stream.append(rows));
  const rows = Array.from({ length: 10 }, (_, i) => ({ id: `${i + 1}`, key: 'k', body: `${i + 1}` }));
  let refusals = 0;
  for (; ; refusals++) {
    const error = await appender.append(rows, rows).then(
      () => undefined,
      (e: unknown) => e,
    );
    if (error === undefined) break;
  }
  expect(refusals).toBe(4);
  const kept = asked.flatMap(({ body }, at) =>
    script[at] === throttled ? [] : (body['Records'] as readonly { readonly Data: string }[]).map(({ Data }) => Number(atob(Data))),
  );
  expect(kept).toEqual([1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10]);
});
