// What can be known before a deployment is tried. What only the account knows (its limits, the shards of a stream) is asked by plan-check.ts.

import { CfnStream } from 'aws-cdk-lib/aws-kinesis';
import { SluiceError } from '../core/errors.ts';
import { environmentBytesMax, unknownTextBytes } from './defaults.ts';
import type { StreamLike } from './props.ts';
import type { Target } from './targets.ts';

/** Open shards of a stream that this app makes with a fixed number; `undefined`: it is imported, or reshards by itself. */
export function shardsOf(stream: StreamLike): number | undefined {
  const made = stream.node.defaultChild;
  return made instanceof CfnStream ? made.shardCount : undefined;
}

/** @throws SluiceError `DEPLOYMENT_UNSAFE` */
export function checkShards(name: string, shards: number | undefined, reserved: number | undefined): void {
  if (shards === undefined || reserved === undefined || reserved >= shards) return;
  throw new SluiceError('DEPLOYMENT_UNSAFE', {
    message: `stream '${name}' has ${shards} shards, and ${reserved} environments are reserved for the stage that reads it; some would always wait`,
    next: 'fix-the-job',
    advice: `set reservedConcurrency to ${shards} or more, or leave it out`,
    name,
  });
}

/**
 * @param fixed    variables whose text is known
 * @param unknown  texts that the deployment puts in
 * @throws SluiceError `DEPLOYMENT_UNSAFE`
 */
export function checkEnvironment(fixed: Readonly<Record<string, string>>, unknown: number): void {
  const known = Object.entries(fixed).reduce((bytes, [name, text]) => bytes + Buffer.byteLength(name) + Buffer.byteLength(text), 0);
  const bytes = known + unknown * unknownTextBytes;
  if (bytes <= environmentBytesMax) return;
  throw new SluiceError('DEPLOYMENT_UNSAFE', {
    message: `the variables of a function come to about ${bytes} bytes, and Lambda takes ${environmentBytesMax}`,
    next: 'fix-the-job',
    advice: 'shorten params, settings or environment, or split the job',
  });
}

const ours = /^(SLUICE_|AWS_|LAMBDA_)/;

/** @throws SluiceError `DEPLOYMENT_UNSAFE` */
export function checkVariables(option: string, variables: readonly string[]): void {
  const taken = variables.find((name) => ours.test(name) || !/^[A-Za-z]\w*$/.test(name));
  if (taken === undefined) return;
  throw new SluiceError('DEPLOYMENT_UNSAFE', {
    message: `${option} sets '${taken}'; names are letters, digits and _, and SLUICE_, AWS_ and LAMBDA_ are taken`,
    next: 'fix-the-job',
    name: taken,
  });
}

/** Pure: what a target counts of the texts that `checkEnvironment` does not know. A topic tells the names of its brokers. */
export function textsOf(target: Target): number {
  if (target.kind !== 'kafka') return 1;
  const { topic, bootstrapServers } = target.topic;
  return 1 + Math.ceil(`${topic}${bootstrapServers.join()}`.length / unknownTextBytes);
}
