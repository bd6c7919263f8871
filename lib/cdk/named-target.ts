// What `--bind name=target` of `sluice deploy` means: something that is there already, by its name, its ARN, or the address of a bucket.

import { Arn, ArnFormat, Stack } from 'aws-cdk-lib';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Stream } from 'aws-cdk-lib/aws-kinesis';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { BindingKind } from '../api/binding.ts';
import { SluiceError } from '../core/errors.ts';
import type { BindTarget } from './props.ts';

export interface NamedTarget {
  /** That the job knows it under. */
  readonly name: string;
  readonly text: string;
  /** What the job can have there; a bare name is of the only kind. */
  readonly kinds: readonly BindingKind[];
}

/** @throws SluiceError `BIND_UNFIT` for a text that names nothing of these kinds */
export function namedTarget(scope: Construct, { name, text, kinds }: NamedTarget): BindTarget {
  const id = `Bound-${name}`;
  const bucket = /^(?:s3:\/\/|arn:[^:]*:s3:::)([^/]+)\/?(.*)$/.exec(text);
  if (bucket !== null) {
    const found = Bucket.fromBucketName(scope, id, bucket[1]!);
    return bucket[2] === '' ? found : { bucket: found, prefix: bucket[2]! };
  }
  if (text.startsWith('arn:')) return byArn(scope, id, { name, text, kinds });
  const [kind] = kinds;
  if (kinds.length !== 1 || kind === undefined)
    throw unfit({ name, text, kinds }, 'a bare name could be more than one thing; give its ARN');
  return byName(scope, id, kind, { name, text, kinds });
}

function byArn(scope: Construct, id: string, wanted: NamedTarget): BindTarget {
  const { text } = wanted;
  switch (text.split(':')[2]) {
    case 'kinesis':
      return Stream.fromStreamArn(scope, id, text);
    case 'sqs':
      return Queue.fromQueueArn(scope, id, text);
    case 'dynamodb':
      return Table.fromTableArn(scope, id, Arn.format(Arn.split(text, ArnFormat.SLASH_RESOURCE_NAME), Stack.of(scope)));
  }
  throw unfit(wanted, 'this ARN is of no stream, queue, table or bucket');
}

function byName(scope: Construct, id: string, kind: BindingKind, wanted: NamedTarget): BindTarget {
  const { text } = wanted;
  if (!/^[A-Za-z0-9._-]+$/.test(text)) throw unfit(wanted, 'this is no name');
  const stack = Stack.of(scope);
  switch (kind) {
    case 'kinesis':
      return Stream.fromStreamArn(scope, id, stack.formatArn({ service: 'kinesis', resource: 'stream', resourceName: text }));
    case 'sqs':
      return queueNamed(scope, id, text);
    case 'dynamodb':
      return Table.fromTableName(scope, id, text);
    case 's3':
      return Bucket.fromBucketName(scope, id, text);
    default:
      throw unfit(wanted, 'it cannot be bound on the command line; use SluiceJob in an app of your own');
  }
}

function queueNamed(scope: Construct, id: string, name: string): BindTarget {
  const arn = Stack.of(scope).formatArn({ service: 'sqs', resource: name });
  return Queue.fromQueueAttributes(scope, id, { queueArn: arn, fifo: name.endsWith('.fifo') });
}

function unfit({ name, text, kinds }: NamedTarget, why: string): SluiceError {
  return new SluiceError('BIND_UNFIT', {
    message: `--bind ${name}=${text}: ${why}`,
    next: 'fix-the-command',
    advice: `the job has ${kinds.join(' or ') || 'nothing'} there`,
    name,
  });
}
