// The app that the end-to-end test deploys: the clicks example over a queue and a table of its own. Variables stand for what changes between two
// deployments: MEMORY for code and settings that leave the plan alone, ENTRY for another job.
import { App, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { SluiceJob } from '../../../lib/cdk/index.ts';

const app = new App();
const stack = new Stack(app, 'SluiceEndToEnd');
const removalPolicy = RemovalPolicy.DESTROY;
const clicks = new Queue(stack, 'Input', {
  removalPolicy,
  fifo: true,
  visibilityTimeout: Duration.minutes(3),
  retentionPeriod: Duration.days(4),
});
const totals = new Table(stack, 'Totals', {
  removalPolicy,
  partitionKey: { name: 'user', type: AttributeType.STRING },
  billingMode: BillingMode.PAY_PER_REQUEST,
});
new SluiceJob(stack, 'Clicks', {
  entry: new URL(process.env.ENTRY ?? '../../../examples/clicks/job.ts', import.meta.url).pathname,
  bind: { clicks, totals },
  removalPolicy,
  memoryMb: Number(process.env.MEMORY ?? 512),
});
