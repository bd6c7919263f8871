import { expect, test } from 'vitest';
import { defineJob } from '../../../lib/api/job.ts';
import { ParamValues } from '../../../lib/api/params.ts';
import { kinesis, sqsSink } from '../../../lib/index.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';

const job = defineJob('clicks', (env) => {
  env.fromSource(kinesis<{ user: string }>('clicks'), { uid: 'in' }).sinkTo(sqsSink('orders'), { uid: 'out' });
});

function kindsOf(bind: Readonly<Record<string, string>> | undefined): readonly unknown[] {
  const { nodes } = describeJob(job, new ParamValues(new Map()), bind === undefined ? {} : { bind });
  return nodes.map(({ operator }) =>
    operator.kind === 'source' ? operator.source.kind : operator.kind === 'sink' ? operator.create().kind : operator.kind,
  );
}

test('files stand in the place of services, and without any the job is left as it is', () => {
  expect(kindsOf({ clicks: 'clicks.ndjson', orders: 'out' })).toEqual(['files', 'fileSink']);
  expect(kindsOf(undefined)).toEqual(['kinesis', 'sqsSink']);
});

test('a name that is bound to nothing is told with the flag', () => {
  expect(() => kindsOf({ clicks: 'clicks.ndjson' })).toThrow(
    expect.objectContaining({
      code: 'BIND_MISSING',
      details: expect.objectContaining({
        advice: 'give a directory for its rows: --bind orders=DIRECTORY, or what it writes to: --bind orders=sqs:URL',
      }),
    }),
  );
  expect(() => kindsOf({})).toThrow(
    expect.objectContaining({
      code: 'BIND_MISSING',
      details: expect.objectContaining({ advice: 'give a file to read: --bind clicks=FILE' }),
    }),
  );
});

test('a name that the job does not have is told with the nearest one', () => {
  expect(() => kindsOf({ click: 'clicks.ndjson', orders: 'out' })).toThrow(/--bind click=….*did you mean 'clicks'/);
});

test('a sink that is bound to a service stays what it is', () => {
  expect(kindsOf({ clicks: 'clicks.ndjson', orders: 'sqs:http://localhost/1/orders' })).toEqual(['files', 'sqsSink']);
});

test.each([
  [
    { clicks: 'c.ndjson', orders: 'dynamodb:orders' },
    "--bind orders=dynamodb:orders: 'orders' does not write to dynamodb",
    '--bind orders=sqs:URL',
  ],
  [{ clicks: 'kinesis:clicks', orders: 'out' }, "--bind clicks=kinesis:clicks: 'clicks' is a source", '--bind clicks=FILE'],
  [{ clicks: 'kinesi:clicks', orders: 'out' }, "'kinesi' is no kind of target; did you mean kinesis:STREAM?", './kinesi:clicks'],
])('what cannot stand behind a name is told with what can (%#)', (bind, message, advice) => {
  expect(() => kindsOf(bind)).toThrow(
    expect.objectContaining({
      code: 'BIND_UNFIT',
      message: expect.stringContaining(message),
      details: expect.objectContaining({ advice: expect.stringContaining(advice) }),
    }),
  );
});
