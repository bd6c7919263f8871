import { describe, expect, test } from 'vitest';
import { ownJobOf } from '../../../../lib/cli/aws/deploy.ts';
import { stateOf } from '../../../../lib/cli/aws/destroy.ts';
import { emulatorVariables } from '../../../../lib/cli/aws/endpoint.ts';
import { jobsOf } from '../../../../lib/cli/aws/stack.ts';
import { stackNameOf } from '../../../../lib/cli/aws/stack-name.ts';

function outputs(prefix: string, more: Readonly<Record<string, string>> = {}) {
  const said = {
    ...{ Job: prefix.toLowerCase(), Table: 't', Bucket: 'b', PlanHash: 'h', StateMachine: 'm', Pulse: 'p', Query: 'q' },
    ...{
      Controls: '{"0":"c0"}',
      Queues: '{"1":"q1"}',
      Bind: '{"clicks":{"kind":"kinesis","stream":"arn"},"totals":{"kind":"dynamodb","table":"t"}}',
      Mappings: '["a"]',
      ...more,
    },
  };
  return Object.entries(said).map(([name, OutputValue]) => ({ OutputKey: `${prefix}Sluice${name}`, OutputValue }));
}

describe('the jobs of a stack', () => {
  test('are told apart by what stands before their outputs', () => {
    const jobs = jobsOf('S', [...outputs('A'), ...outputs('B', { Table: 'other' }), { OutputKey: 'BucketName', OutputValue: 'x' }]);
    expect(jobs.map(({ job, table }) => [job, table])).toEqual([
      ['a', 't'],
      ['b', 'other'],
    ]);
  });

  test('have maps that go on in further outputs', () => {
    const [job] = jobsOf('S', outputs('A', { Queues2: '{"7":"q7"}', Mappings2: '["b"]', Mappings3: '["c"]' }));
    expect(job).toMatchObject({ queues: { 1: 'q1', 7: 'q7' }, mappings: ['a', 'b', 'c'], streams: { clicks: 'arn' }, isWholeStack: false });
  });

  test('are the whole stack where `sluice deploy` says so', () => {
    const jobs = jobsOf('S', [...outputs('A'), { OutputKey: 'SluiceApp', OutputValue: 'a' }]);
    expect(ownJobOf('S', { jobs }, 'a')).toBe(jobs[0]);
    expect(() => ownJobOf('S', { jobs: [{ ...jobs[0]!, isWholeStack: false }] }, 'a')).toThrow(/was not made by `sluice deploy`/);
  });
});

test('what stays of a job with streams between its stages is those', () => {
  const queues = { 1: { stream: 'arn:aws:kinesis:eu-west-1:1:stream/s', targets: 2 } };
  expect(stateOf({ table: 't', bucket: 'b', queues }).at(-1)).toEqual({ what: 'stream', name: 'arn:aws:kinesis:eu-west-1:1:stream/s' });
});

test('what stays of a job is its table, its bucket and its queues', () => {
  expect(stateOf({ table: 't', bucket: 'b', queues: { 1: 'q1', 2: 'q2' } }).map(({ what, name }) => `${what} ${name}`)).toEqual([
    'table t',
    'bucket b',
    'queue q1',
    'queue q2',
  ]);
});

test.each([
  ['clicks', 'sluice-clicks'],
  ['late_flights.v2', 'sluice-late-flights-v2'],
  ['a--', 'sluice-a'],
  ['x'.repeat(200), `sluice-${'x'.repeat(121)}`],
])('the stack of job %s is %s', (job, stack) => {
  expect(stackNameOf(job)).toBe(stack);
});

test('an emulator gets the credentials and the Region that it does not ask for, unless the user has some', () => {
  expect(emulatorVariables('http://e', {})).toEqual({
    AWS_ENDPOINT_URL: 'http://e',
    AWS_ACCESS_KEY_ID: '000000000000',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_REGION: 'us-east-1',
  });
  expect(emulatorVariables('http://e', { AWS_PROFILE: 'p', AWS_DEFAULT_REGION: 'eu-west-1' })).toEqual({
    AWS_ENDPOINT_URL: 'http://e',
    AWS_REGION: 'eu-west-1',
  });
  expect(emulatorVariables('http://e', { AWS_ACCESS_KEY_ID: '1', AWS_REGION: 'r' })).toEqual({ AWS_ENDPOINT_URL: 'http://e' });
});
