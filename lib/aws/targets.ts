// What the names of a job are bound to where it is deployed: SLUICE_BIND says it, and the clients of this sandbox reach it.

import type { AwsClients } from '../adapters/aws/clients.ts';
import { DynamoRows } from '../adapters/aws/targets/dynamodb.ts';
import type { Targets } from '../api/targets.ts';
import { SluiceError } from '../core/errors.ts';
import { nearest } from '../core/suggest.ts';
import type { BoundTarget } from './settings.ts';

type Bindings = Readonly<Record<string, BoundTarget>>;

export function boundTargets(bind: Bindings, clients: AwsClients): Targets {
  return {
    table: (name) => new DynamoRows({ client: clients.dynamodb, table: propertyOf(bind, name, 'dynamodb', 'table') }),
    stream: (name) => notYet(bind, name, 'kinesis'),
    queue: (name) => notYet(bind, name, 'sqs'),
    bucket: (name) => notYet(bind, name, 's3'),
  };
}

/** @throws SluiceError `BIND_MISSING`, `BIND_UNFIT` */
export function propertyOf(bind: Bindings, name: string, kind: string, property: string): string {
  const target = bind[name];
  if (target === undefined) {
    const meant = nearest(name, Object.keys(bind));
    throw new SluiceError('BIND_MISSING', {
      message: `'${name}' is bound to nothing${meant === undefined ? '' : `; did you mean '${meant}'?`}`,
      next: 'fix-the-command',
      advice: `deploy the job with bind: { ${name}: … }`,
    });
  }
  const value = target[property];
  if (target.kind === kind && typeof value === 'string') return value;
  throw new SluiceError('BIND_UNFIT', {
    message: `'${name}' is bound to a target of kind ${target.kind}, and ${kind} is wanted`,
    next: 'fix-the-command',
    advice: `bind ${name} to a target of kind ${kind}`,
  });
}

function notYet(bind: Bindings, name: string, kind: string): never {
  propertyOf(bind, name, kind, kind === 'kinesis' ? 'stream' : kind === 'sqs' ? 'queue' : 'bucket');
  throw new SluiceError('FEATURE_NOT_AVAILABLE', { message: `sinks and sources of ${kind} cannot be deployed yet`, next: 'fix-the-job' });
}
