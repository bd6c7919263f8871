// What `sluice deploy` makes of `--bind name=target`.
import { App, Stack } from 'aws-cdk-lib';
import { describe, expect, test } from 'vitest';
import type { BindingKind } from '../../lib/api/binding.ts';
import { namedTarget } from '../../lib/cdk/named-target.ts';
import { spelled, targetOf } from '../../lib/cdk/targets.ts';

function bound(text: string, ...kinds: readonly BindingKind[]): unknown {
  const stack = new Stack(new App(), 'S', { env: { account: '1', region: 'eu-west-1' } });
  const target = targetOf('clicks', namedTarget(stack, { name: 'clicks', text, kinds }));
  return JSON.parse(JSON.stringify(stack.resolve(spelled(target))).replaceAll('{"Ref":"AWS::Partition"}', '"aws"'));
}

describe('a target is', () => {
  test.each([
    ['arn:aws:kinesis:eu-west-1:1:stream/s', ['kinesis'], { kind: 'kinesis', stream: 'arn:aws:kinesis:eu-west-1:1:stream/s' }],
    ['arn:aws:sqs:eu-west-1:1:q.fifo', ['sqs'], { kind: 'sqs', fifo: true }],
    ['arn:aws:sqs:eu-west-1:1:q', ['sqs'], { kind: 'sqs', fifo: false }],
    ['arn:aws:dynamodb:eu-west-1:1:table/t', ['dynamodb', 's3'], { kind: 'dynamodb', table: 't' }],
    ['arn:aws:s3:::rows', ['s3'], { kind: 's3', bucket: 'rows', prefix: '' }],
    ['arn:aws:s3:::rows/of/', ['s3'], { kind: 's3', bucket: 'rows', prefix: 'of/' }],
    ['s3://rows/of/it/', ['s3'], { kind: 's3', bucket: 'rows', prefix: 'of/it/' }],
    ['t', ['dynamodb'], { kind: 'dynamodb', table: 't' }],
    ['q.fifo', ['sqs'], { kind: 'sqs', fifo: true }],
    ['q', ['sqs'], { kind: 'sqs', fifo: false }],
    ['rows', ['s3'], { kind: 's3', bucket: 'rows' }],
  ] as const)('%s', (text, kinds, wanted) => {
    expect(bound(text, ...kinds)).toMatchObject(wanted);
  });
});

describe('a target is refused', () => {
  test.each([
    ['x', ['dynamodb', 's3'], /a bare name could be more than one thing; give its ARN/],
    ['arn:aws:sns:eu-west-1:1:t', ['sqs'], /this ARN is of no stream, queue, table or bucket/],
    ['a/b', ['dynamodb'], /this is no name/],
    ['topic', ['kafka'], /cannot be bound on the command line/],
  ] as const)('when it is %s for %j', (text, kinds, says) => {
    expect(() => bound(text, ...kinds)).toThrow(says);
  });
});
