// The app of `sluice deploy` and `sluice destroy`: one stack with one job, or with nothing when it is to go.

import { App, CfnOutput, Stack, Tags } from 'aws-cdk-lib';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { type AppJob, type AppRequest, appOutput } from '../cli/aws/job-app.ts';
import { isSluiceError, SluiceError } from '../core/errors.ts';
import { checkNames, wantedBindings } from './bindings.ts';
import { loadPlan } from './load-plan.ts';
import { namedTarget } from './named-target.ts';
import type { BindTarget } from './props.ts';
import { SluiceJob } from './sluice-job.ts';

/** @throws SluiceError as `SluiceJob` does */
export function synthesise({ stack: name, directory, job }: AppRequest): void {
  const context = { '@aws-cdk/core:validateAgainstDefaultRules': job !== undefined }; // a stack that is to go holds nothing, which the rules forbid
  const app = new App({ outdir: directory, context, analyticsReporting: false });
  const stack = new Stack(app, name, { stackName: name, ...(job === undefined ? {} : { description: `Sluice: the job of ${job.entry}` }) });
  if (job !== undefined) addJob(stack, job);
  app.synth();
}

function addJob(stack: Stack, { table, bucket, ...job }: AppJob): void {
  const made = new SluiceJob(stack, 'Job', {
    ...{ entry: job.entry, params: job.params, settings: job.settings, exchange: job.exchange, bind: boundIn(stack, job) },
    ...(table === undefined ? {} : { table: Table.fromTableName(stack, 'GivenTable', table) }),
    ...(bucket === undefined ? {} : { bucket: Bucket.fromBucketName(stack, 'GivenBucket', bucket) }),
  });
  new CfnOutput(stack, appOutput, { value: made.jobName });
  Tags.of(stack).add('sluice:app', made.jobName);
}

function boundIn(
  stack: Stack,
  { entry, params, settings, bind }: Pick<AppJob, 'entry' | 'params' | 'settings' | 'bind'>,
): Readonly<Record<string, BindTarget>> {
  const wanted = wantedBindings(loadPlan({ entry, params, settings }));
  try {
    checkNames(wanted, Object.keys(bind));
  } catch (error) {
    throw isSluiceError(error) ? asFlag(error) : error;
  }
  return Object.fromEntries(wanted.map(({ name, kinds }) => [name, namedTarget(stack, { name, text: bind[name]!, kinds })]));
}

/** Who calls the command has no construct to give a `bind` to. */
function asFlag({ code, message, details }: SluiceError): SluiceError {
  const { advice: _, ...place } = details;
  return new SluiceError(code, {
    ...place,
    message,
    next: 'fix-the-command',
    advice: 'say --bind NAME=TARGET once for each name of the job',
  });
}
