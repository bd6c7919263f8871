import { describe, expect, test } from 'vitest';
import { serviceBehind } from '../../../lib/api/bound-service.ts';

describe('what stands behind a name', () => {
  test.each([
    ['dynamodb:orders', { kind: 'dynamodb', table: 'orders' }],
    ['dynamodb:arn:aws:dynamodb:eu-west-1:1:table/orders', { kind: 'dynamodb', table: 'arn:aws:dynamodb:eu-west-1:1:table/orders' }],
    ['kinesis:clicks', { kind: 'kinesis', stream: 'clicks' }],
    [
      'sqs:https://sqs.eu-west-1.amazonaws.com/1/orders',
      { kind: 'sqs', queue: 'https://sqs.eu-west-1.amazonaws.com/1/orders', fifo: false },
    ],
    ['sqs:http://127.0.0.1:4566/000000000000/o.fifo', { kind: 'sqs', queue: 'http://127.0.0.1:4566/000000000000/o.fifo', fifo: true }],
    ['s3:parts', { kind: 's3', bucket: 'parts', prefix: '' }],
    ['s3:parts/a/b/', { kind: 's3', bucket: 'parts', prefix: 'a/b/' }],
    ['s3://parts/a', { kind: 's3', bucket: 'parts', prefix: 'a/' }],
  ])('%s is a service', (target, service) => expect(serviceBehind('n', target)).toEqual(service));

  test.each(['out', './out', '/out:put', 'C:\\out', 'file:./out', './dynamodb:orders', 'dynamodb:', 'a b:c'])('%s is a path', (target) =>
    expect(serviceBehind('n', target)).toBeUndefined(),
  );

  test.each([
    ['dynamo:orders', "--bind n=dynamo:orders: 'dynamo' is no kind of target; did you mean dynamodb:TABLE?"],
    ['redis:orders', "'redis' is no kind of target; there are dynamodb:TABLE, s3:BUCKET/FOLDER, sqs:URL, kinesis:STREAM"],
    ['https://sqs.eu-west-1.amazonaws.com/1/orders', "'https' is no kind of target"],
    ['sqs:orders', 'a queue is given by its URL; write --bind n=sqs:URL'],
    ['s3:///a', 'it has no bucket; write --bind n=s3:BUCKET/FOLDER'],
  ])('%s is refused', (target, message) =>
    expect(() => serviceBehind('n', target)).toThrow(
      expect.objectContaining({ code: 'BIND_UNFIT', message: expect.stringContaining(message) }),
    ),
  );
});
