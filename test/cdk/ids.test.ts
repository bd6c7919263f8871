// Logical ids of what holds state are frozen: CloudFormation replaces what changes its id, and a replaced table is an empty one. The ids below may be
// added to and never changed.
import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { deployClicks, deployOrders } from './support.ts';

const stateful = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::SQS::Queue', 'AWS::Lambda::EventSourceMapping'];

describe('logical ids', () => {
  test('of a job that reads a stream', () => {
    const { template } = deployClicks();
    expect(stateful.flatMap((type) => Object.keys(template.findResources(type, Match.anyValue())))).toEqual([
      'Totals8BD25B11',
      'ClicksTable0661CCFB',
      'ClicksBucketEC8518D9',
      'ClicksStagecountExchange14F2E1CE',
      'ClicksStagetotalsExchangeA140C441',
      'ClicksStageclicksMapping00BA8824',
      'ClicksStagecountExchangeMappingF97C0532',
      'ClicksStagetotalsExchangeMappingFEA520BA',
    ]);
  });

  test('of a job that reads a queue', () => {
    const { template } = deployOrders();
    expect(stateful.flatMap((type) => Object.keys(template.findResources(type, Match.anyValue())))).toMatchInlineSnapshot(`
      [
        "Totals8BD25B11",
        "OrdersJobTable53A11FED",
        "OrdersJobBucketF065C1ED",
        "OrdersA9B65338",
        "OrdersJobStagecountExchange2F6FE6E2",
        "OrdersJobStageordersMappingCAD5A915",
        "OrdersJobStagecountExchangeMapping386D3750",
      ]
    `);
  });

  test('do not change with options, code or the order of other things', () => {
    const ids = (deployed: ReturnType<typeof deployClicks>): readonly string[] =>
      stateful.flatMap((type) => Object.keys(deployed.template.findResources(type))).sort();
    const other = deployClicks({
      dashboard: true,
      alarms: false,
      tracing: true,
      timeoutSeconds: 60,
      coordinator: 'standard',
      controlConcurrency: false,
    });
    expect(ids(other)).toEqual(ids(deployClicks()));
  });

  test('of the outputs are what the command line looks for', () => {
    const { template } = deployOrders();
    const names = Object.keys(template.findOutputs('*'));
    const wanted = ['Job', 'Table', 'Bucket', 'PlanHash', 'StateMachine', 'Pulse', 'Query', 'Controls', 'Queues', 'Bind', 'Mappings'];
    expect(names).toEqual(wanted.map((name) => `OrdersJobSluice${name}`));
  });
});
