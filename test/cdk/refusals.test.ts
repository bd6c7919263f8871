// What is refused at synthesis, with the name that was meant and what to do, because it would lose, repeat or hold up records in the account.
import { Duration } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { SluiceJob, type SluiceJobProps } from 'sluice/cdk';
import { describe, expect, test } from 'vitest';
import { createStack, deployClicks, deployOrders, streamIn, totalsIn } from './support.ts';

type Bind = NonNullable<SluiceJobProps['bind']>;

function refused(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    const { code, message } = error as { readonly code: string; readonly message: string };
    return `${code}: ${message}`;
  }
  return 'nothing was refused';
}

function bindClicks(
  bind: (stack: ReturnType<typeof createStack>['stack']) => Record<string, unknown>,
  props: Partial<SluiceJobProps> = {},
): string {
  const { stack } = createStack();
  return refused(() => new SluiceJob(stack, 'Clicks', { entry: 'test/cdk/jobs/clicks.ts', bind: bind(stack) as Bind, ...props }));
}

describe('bind', () => {
  test('a name that the job does not have is told with the one that was meant', () => {
    expect(bindClicks((stack) => ({ click: streamIn(stack), totals: totalsIn(stack) }))).toBe(
      "BIND_UNKNOWN: bind names 'click', and the job has no source or sink of that name; did you mean 'clicks'?",
    );
    expect(bindClicks((stack) => ({ input: streamIn(stack) }))).toMatch(/BIND_UNKNOWN: .*; it has clicks, totals$/);
  });

  test('a name that is bound to nothing is told', () => {
    expect(bindClicks((stack) => ({ clicks: streamIn(stack) }))).toBe("BIND_MISSING: the job's sink 'totals' is bound to nothing");
    expect(bindClicks(() => ({}))).toBe("BIND_MISSING: the job's source 'clicks' is bound to nothing");
  });

  test('what is of another kind than the job needs is told', () => {
    expect(bindClicks((stack) => ({ clicks: new Queue(stack, 'Q'), totals: totalsIn(stack) }))).toBe(
      "BIND_UNFIT: the job's source 'clicks' is a Kinesis stream, and it is bound to an SQS queue",
    );
    expect(bindClicks((stack) => ({ clicks: streamIn(stack), totals: 'totals' }))).toMatch(
      /^BIND_UNFIT: 'totals' is bound to a string; it can be/,
    );
    expect(refused(() => deployOrders({ fifo: false }))).toBe(
      "BIND_UNFIT: the job's source 'orders' was written for a FIFO queue, and it is bound to a standard queue",
    );
    expect(refused(() => deployOrders({}, { params: { order: 'standard' } }))).toMatch(/written for a standard queue/);
  });

  test('a source that no mapping can call is told, since nothing would read it', () => {
    const { stack } = createStack();
    expect(refused(() => new SluiceJob(stack, 'Numbers', { entry: 'test/cdk/jobs/numbers.ts' }))).toMatch(
      /^BIND_UNFIT: source 'numbers' \(.*\) is read by a process, and on AWS nothing would read it$/,
    );
  });

  test('options of a source that the job does not have are told', () => {
    expect(refused(() => deployClicks({ sources: { cliks: { batchSize: 5 } } }))).toMatch(/^BIND_UNKNOWN: .*did you mean 'clicks'/);
  });
});

describe('the job', () => {
  test('a file that is missing or exports no job is told', () => {
    expect(refused(() => deployClicks({ entry: 'test/cdk/jobs/click.ts' }))).toBe(
      'JOB_FILE_MISSING: there is no file test/cdk/jobs/click.ts',
    );
    expect(refused(() => deployClicks({ entry: 'test/cdk/jobs/connectors.ts' }))).toMatch(/^JOB_FILE_WITHOUT_JOB: /);
  });

  test('a parameter that it does not read and a setting that does not exist are told', () => {
    expect(refused(() => deployClicks({ params: { form: '/shop' } }))).toMatch(
      /^SETTING_UNKNOWN: params has an unknown key 'form'.*'from'/,
    );
    expect(refused(() => deployClicks({ settings: { 'execution.checkpointing.interval': 'soon' } }))).toMatch(
      /execution.checkpointing.interval/,
    );
  });

  test('two constructs are not one job', () => {
    const { stack } = createStack();
    const bind = { clicks: streamIn(stack), totals: totalsIn(stack) };
    new SluiceJob(stack, 'One', { entry: 'test/cdk/jobs/clicks.ts', bind });
    expect(refused(() => new SluiceJob(stack, 'Two', { entry: 'test/cdk/jobs/clicks.ts', bind }))).toMatch(
      /^DEPLOYMENT_UNSAFE: Test\/Two and Test\/One are both the job 'clicks'/,
    );
  });
});

describe('queues of the user', () => {
  test('a message must stay hidden for six times as long as an invocation may take', () => {
    expect(refused(() => deployOrders({ visibilityTimeout: Duration.seconds(179) }))).toBe(
      "DEPLOYMENT_UNSAFE: queue 'orders': its messages are hidden for 179 s, and an invocation may take 30 s; set its visibilityTimeout to 180 s or more",
    );
    expect(refused(() => deployOrders({}, { timeoutSeconds: 31 }))).toMatch(/set its visibilityTimeout to 186 s or more$/);
    deployOrders({ visibilityTimeout: Duration.seconds(60) }, { timeoutSeconds: 10 });
  });

  test('a message must not be taken away after a few receives, since throttled ones count', () => {
    const { stack } = createStack();
    const deadLetters = new Queue(stack, 'Dead', { fifo: true });
    const orders = (maxReceiveCount: number): Queue =>
      new Queue(stack, `Orders${maxReceiveCount}`, {
        fifo: true,
        visibilityTimeout: Duration.minutes(3),
        deadLetterQueue: { queue: deadLetters, maxReceiveCount },
      });
    const deploy = (receives: number): SluiceJob =>
      new SluiceJob(stack, `Job${receives}`, {
        entry: 'test/cdk/jobs/orders.ts',
        bind: { orders: orders(receives), totals: totalsIn(stack) },
      });
    expect(refused(() => deploy(1))).toMatch(/it takes a message away after 1 receives, .*set its maxReceiveCount to 10 or more$/);
  });

  test('a message must not outlive what the job remembers of it', () => {
    expect(refused(() => deployOrders({ retentionPeriod: Duration.days(5) }))).toMatch(
      /it keeps a message for 432000 s, and the job remembers one for 345600 s; give the source the retention of its queue$/,
    );
  });

  test('what cannot be seen of an imported queue is a warning', () => {
    const { stack } = createStack();
    const orders = Queue.fromQueueArn(stack, 'Imported', 'arn:aws:sqs:eu-west-1:111122223333:orders.fifo');
    new SluiceJob(stack, 'Orders', { entry: 'test/cdk/jobs/orders.ts', bind: { orders, totals: totalsIn(stack) } });
    Annotations.fromStack(stack).hasWarning(
      '*',
      Match.stringLikeRegexp("queue 'orders' is imported: make sure that its visibility time-out is 180 s or more"),
    );
  });
});

describe('limits', () => {
  test('fewer reserved environments than shards are told', () => {
    expect(refused(() => deployClicks({ shardCount: 8, reservedConcurrency: 4 }))).toBe(
      "DEPLOYMENT_UNSAFE: stream 'clicks' has 8 shards, and 4 environments are reserved for the stage that reads it; some would always wait",
    );
    deployClicks({ shardCount: 4, reservedConcurrency: 4 });
    expect(refused(() => deployClicks({ reservedConcurrency: 4, sources: { clicks: { shards: 5 } } }))).toMatch(/has 5 shards/);
  });

  test('variables that Lambda would not take are told', () => {
    expect(refused(() => deployClicks({ environment: { SLUICE_JOB: 'other' } }))).toMatch(
      /^DEPLOYMENT_UNSAFE: environment sets 'SLUICE_JOB'/,
    );
    expect(refused(() => deployClicks({ environment: { TEXT: 'x'.repeat(4_000) } }))).toMatch(
      /come to about \d+ bytes, and Lambda takes 4096$/,
    );
  });

  test('numbers out of the range of a mapping or a function are told', () => {
    expect(refused(() => deployClicks({ sources: { clicks: { batchSize: 10_001 } } }))).toMatch(
      /batchSize is 10001; it is a whole number from 1 to 10000$/,
    );
    expect(refused(() => deployOrders({}, { sources: { orders: { batchSize: 11 } } }))).toMatch(/from 1 to 10$/);
    expect(refused(() => deployOrders({}, { sources: { orders: { batchingWindowSeconds: 5 } } }))).toMatch(/a FIFO queue has no window$/);
    expect(refused(() => deployClicks({ timeoutSeconds: 901 }))).toMatch(/timeoutSeconds is 901; it is a whole number from 3 to 900$/);
  });
});
