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
      details: expect.objectContaining({ advice: 'give a directory for its rows: --bind orders=DIRECTORY' }),
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
