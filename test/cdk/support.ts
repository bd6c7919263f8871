// A stack with one job in it, synthesised without its code: what is bundled is the subject of other tests.

import { App, Duration, Stack, Validations } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Stream, StreamEncryption, StreamMode } from 'aws-cdk-lib/aws-kinesis';
import { Queue, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { SluiceJob, type SluiceJobProps } from 'sluice/cdk';

export interface Deployed {
  readonly app: App;
  readonly stack: Stack;
  readonly job: SluiceJob;
  readonly template: Template;
}

export type Properties = Readonly<Record<string, unknown>>;

export function createStack(): { readonly app: App; readonly stack: Stack } {
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [], '@aws-cdk/core:validateAgainstDefaultRules': true } });
  return { app, stack: new Stack(app, 'Test') };
}

export function totalsIn(stack: Stack): Table {
  return new Table(stack, 'Totals', {
    partitionKey: { name: 'user', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
  });
}

export function streamIn(stack: Stack, shardCount: number | undefined = 2): Stream {
  return new Stream(stack, 'Stream', {
    encryption: StreamEncryption.MANAGED,
    ...(shardCount === undefined ? { streamMode: StreamMode.ON_DEMAND } : { shardCount }),
  });
}

/** Clicks from a stream: three stages, two exchanges. */
export function deployClicks(props: Partial<SluiceJobProps> & { readonly shardCount?: number } = {}): Deployed {
  const { shardCount, ...given } = props;
  const { app, stack } = createStack();
  const bind = { clicks: streamIn(stack, shardCount), totals: totalsIn(stack) };
  const job = new SluiceJob(stack, 'Clicks', { entry: 'test/cdk/jobs/clicks.ts', bind, ...given });
  return { app, stack, job, template: Template.fromStack(stack) };
}

/** Orders from a queue. */
export function deployOrders({ fifo = true, ...queue }: QueueProps = {}, props: Partial<SluiceJobProps> = {}): Deployed {
  const { app, stack } = createStack();
  const orders = new Queue(stack, 'Orders', { ...(fifo ? { fifo } : {}), visibilityTimeout: Duration.seconds(180), ...queue });
  const job = new SluiceJob(stack, 'Orders Job', { entry: 'test/cdk/jobs/orders.ts', bind: { orders, totals: totalsIn(stack) }, ...props });
  return { app, stack, job, template: Template.fromStack(stack) };
}

/** Properties of all resources of a type whose logical id begins with a text. */
export function resourcesOf(template: Template, type: string, idStart = ''): ReadonlyMap<string, Properties> {
  const found = Object.entries(template.findResources(type, Match.anyValue()));
  return new Map(found.filter(([id]) => id.startsWith(idStart)).map(([id, resource]) => [id, resource.Properties as Properties]));
}

/** The one resource whose logical id begins with a text. */
export function resourceOf(template: Template, type: string, idStart: string): Properties {
  const found = [...resourcesOf(template, type, idStart).values()];
  if (found.length !== 1) throw new Error(`${found.length} resources of type ${type} begin with ${idStart}`);
  return found[0]!;
}

/** Actions that a role is allowed, with what stands for their resources. */
export function allowed(template: Template, roleStart: string): readonly (readonly [action: string, resource: string])[] {
  const policies = [...resourcesOf(template, 'AWS::IAM::Policy', roleStart).values()];
  return policies.flatMap(({ PolicyDocument: document }) =>
    (document as { readonly Statement: readonly Properties[] }).Statement.flatMap(({ Action: action, Resource: resource }) =>
      [action].flat().flatMap((a) => [resource].flat().map((r) => [String(a), typeof r === 'string' ? r : JSON.stringify(r)] as const)),
    ),
  );
}

/** What cdk-nag finds that no reason answers. */
export function nagFindings({ app }: Deployed): readonly string[] {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  try {
    app.synth({ force: true });
    return [];
  } catch (error) {
    return [String(error)];
  }
}
