// The app behind `npx cdk synth` and `npm run deploy:local`: one stack with the clicks example, and what it is bound to.
import { App, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { DeduplicationScope, FifoThroughputLimit, Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { SluiceJob } from '../lib/cdk/index.ts'; // your own app says 'sluice/cdk'

interface ClicksProps {
  /** What is tried out leaves nothing behind. */
  readonly isTrial: boolean;
}

class ClicksStack extends Stack {
  constructor(scope: Construct, id: string, { isTrial }: ClicksProps) {
    super(scope, id, { description: 'Sluice: clicks of each user, counted' });
    const removalPolicy = isTrial ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN;
    const clicks = new Queue(this, 'Input', {
      removalPolicy,
      fifo: true,
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      visibilityTimeout: Duration.minutes(3), // six times what an invocation may take
      retentionPeriod: Duration.days(4), // as long as the job remembers a message
      enforceSSL: true,
    });
    const totals = new Table(this, 'Totals', {
      removalPolicy,
      partitionKey: { name: 'user', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: !isTrial },
    });
    new SluiceJob(this, 'Clicks', {
      entry: new URL('../examples/clicks/job.ts', import.meta.url).pathname,
      bind: { clicks, totals },
      removalPolicy,
    });
  }
}

const app = new App();
new ClicksStack(app, 'SluiceClicks', { isTrial: process.env.AWS_ENDPOINT_URL !== undefined || app.node.tryGetContext('trial') === 'true' });
