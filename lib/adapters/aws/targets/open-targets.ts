// What the names of a deployed job are bound to. Clients are made when a job first asks for one, so that a function loads and connects to no more than
// its stage needs.

import { KinesisClient } from '@aws-sdk/client-kinesis';
import type { ItemTable, RowTable } from '../../../api/row-table.ts';
import type { BucketTarget, QueueTarget, StreamTarget, Targets, TopicTarget } from '../../../api/targets.ts';
import { SluiceError } from '../../../core/errors.ts';
import { nearest } from '../../../core/suggest.ts';
import { type AwsClients, clientSettings } from '../clients.ts';
import { S3Bucket } from './bucket.ts';
import { DynamoRows } from './dynamodb.ts';
import { DynamoItemTable } from './item-table.ts';
import { SqsQueue } from './queue.ts';
import { KinesisStream } from './stream.ts';

/** As the variable `SLUICE_BIND` spells it. */
export interface BoundTarget {
  readonly kind: string;
  readonly [property: string]: unknown;
}

export interface TargetOptions {
  /** Name in the job → what it is bound to. */
  readonly bind: Readonly<Record<string, BoundTarget>>;
  readonly clients: AwsClients;
  /** Default: made with the settings of the other clients. */
  readonly kinesis?: KinesisClient;
  /** Of whoever has a client for topics. */
  readonly openTopic?: (name: string, target: BoundTarget) => TopicTarget;
}

export function openTargets({ bind, clients, kinesis, openTopic }: TargetOptions): Targets {
  let streams = kinesis;
  const topics = new Map<string, TopicTarget>();
  const of = (name: string, kind: string): BoundTarget => boundTo(bind, name, kind);
  return {
    table: (name): RowTable => new DynamoRows({ client: clients.dynamodb, table: text(name, of(name, 'dynamodb'), 'table') }),
    items: (name): ItemTable => new DynamoItemTable({ client: clients.dynamodb, table: text(name, of(name, 'dynamodb'), 'table') }),
    stream: (name): StreamTarget => {
      const target = of(name, 'kinesis');
      streams ??= new KinesisClient(clientSettings());
      return new KinesisStream(streams, text(name, target, 'stream'));
    },
    topic: (name): TopicTarget => {
      const target = of(name, 'kafka');
      const opened = topics.get(name) ?? openTopic?.(name, target);
      if (opened === undefined) throw new SluiceError('INTERNAL', { message: `nobody here reads topic '${name}'`, next: 'report-a-bug' });
      topics.set(name, opened); // it keeps its connections
      return opened;
    },
    queue: (name): QueueTarget => {
      const target = of(name, 'sqs');
      return new SqsQueue(clients.sqs, { url: text(name, target, 'queue'), isFifo: target.fifo === true });
    },
    bucket: (name): BucketTarget => {
      const target = of(name, 's3');
      const prefix = typeof target.prefix === 'string' ? target.prefix : '';
      return new S3Bucket(clients.s3, { bucket: text(name, target, 'bucket'), prefix });
    },
  };
}

function boundTo(bind: TargetOptions['bind'], name: string, kind: string): BoundTarget {
  const target = Object.hasOwn(bind, name) ? bind[name] : undefined;
  if (target === undefined) {
    const meant = nearest(name, Object.keys(bind));
    throw new SluiceError('BIND_MISSING', {
      message: `'${name}' is bound to nothing${meant === undefined ? '' : `; bind has '${meant}'`}`,
      next: 'fix-the-command',
      advice: `deploy the job again with bind: { ${name}: … }`,
      binding: name,
    });
  }
  if (target.kind === kind) return target;
  throw new SluiceError('BIND_UNFIT', {
    message: `'${name}' is bound to ${target.kind}, and the job needs ${kind} there`,
    next: 'fix-the-command',
    advice: `deploy the job again with another target for ${name}`,
    binding: name,
  });
}

function text(name: string, target: BoundTarget, property: string): string {
  const value = target[property];
  if (typeof value === 'string' && value !== '') return value;
  throw new SluiceError('SETTING_INVALID', {
    message: `SLUICE_BIND: '${name}' (${target.kind}) has no ${property}`,
    next: 'fix-the-command',
    advice: 'deploy the stack again; its construct sets it',
  });
}
