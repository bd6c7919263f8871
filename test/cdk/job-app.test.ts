// The app of `sluice deploy`: what its flags come to in the stack.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { synthesise } from '../../lib/cdk/job-app.ts';
import type { AppJob } from '../../lib/cli/aws/job-app.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-job-app-'));
  vi.stubEnv('CDK_CONTEXT_JSON', JSON.stringify({ 'aws:cdk:bundling-stacks': [] }));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

function exchangesOf(exchange: AppJob['exchange']): readonly string[] {
  const bind = { clicks: 'arn:aws:kinesis:us-east-1:111122223333:stream/clicks', totals: 'totals' };
  const job = { entry: 'test/cdk/jobs/clicks.ts', bind, params: {}, settings: {}, exchange, table: undefined, bucket: undefined };
  synthesise({ stack: 'Clicks', directory, job });
  const { Resources: resources } = JSON.parse(readFileSync(join(directory, 'Clicks.template.json'), 'utf8')) as {
    readonly Resources: Readonly<Record<string, { readonly Type: string }>>;
  };
  return Object.values(resources).flatMap(({ Type: type }) => (/^AWS::(SQS::Queue|Kinesis::Stream)$/.test(type) ? [type] : []));
}

test.each([
  ['sqs', 'AWS::SQS::Queue'],
  ['kinesis', 'AWS::Kinesis::Stream'],
] as const)('--exchange %s: what carries records between stages is an %s', (exchange, type) => {
  expect(exchangesOf(exchange)).toEqual([type, type]);
});
