// Answers of Kinesis that are successes for some, and errors that are none.
import { expect, test } from 'vitest';
import { KinesisStream } from '../../../../lib/adapters/aws/targets/stream.ts';
import { jsonError, ok, scripted } from './scripted.ts';

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
