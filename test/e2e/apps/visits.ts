// The app that the end-to-end test deploys: one job in three stacks, over a stream, a FIFO queue and a standard queue, each with tables and a bucket of
// its own; over a stream it sends by streams between its stages as well. Variables stand for what changes between two deployments: MEMORY for what leaves
// the plan alone, ANOTHER_PLAN for what does not.
import { App, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Stream } from 'aws-cdk-lib/aws-kinesis';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import type { BindTarget } from '../../../lib/cdk/index.ts';
import { SluiceJob } from '../../../lib/cdk/index.ts';

const app = new App();
const removalPolicy = RemovalPolicy.DESTROY;
const timeoutSeconds = 12;

function inputOf(stack: Stack, input: string): BindTarget {
  if (input === 'stream') return Stream.fromStreamArn(stack, 'Visits', process.env.STREAM_ARN ?? '');
  const fifo = input === 'fifo' ? { fifo: true } : {};
  return new Queue(stack, 'Visits', {
    ...fifo,
    removalPolicy,
    visibilityTimeout: Duration.seconds(6 * timeoutSeconds),
    retentionPeriod: Duration.days(4),
  });
}

for (const input of ['stream', 'fifo', 'standard']) {
  const stack = new Stack(app, `Visits-${input}`);
  const totals = new Table(stack, 'Totals', {
    removalPolicy,
    partitionKey: { name: 'user', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
  });
  const minutes = new Table(stack, 'Minutes', {
    removalPolicy,
    partitionKey: { name: 'page', type: AttributeType.STRING },
    sortKey: { name: 'minute', type: AttributeType.NUMBER },
    billingMode: BillingMode.PAY_PER_REQUEST,
  });
  const pages = new Bucket(stack, 'Pages', { removalPolicy, autoDeleteObjects: true });
  new SluiceJob(stack, 'Job', {
    entry: new URL('../jobs/visits.ts', import.meta.url).pathname,
    bind: { visits: inputOf(stack, input), totals, minutes, pages },
    exchange: input === 'stream' ? 'kinesis' : 'sqs',
    params: { input, ...(process.env.ANOTHER_PLAN === input ? { 'another-plan': 'true' } : {}) },
    removalPolicy,
    memoryMb: Number(process.env.MEMORY ?? 512),
    timeoutSeconds,
  });
}
