// Whose an event of a stream is.
import { expect, test } from 'vitest';
import { ParamValues } from '../../../lib/api/params.ts';
import { type KinesisEvent, kinesisParts } from '../../../lib/aws/kinesis-event.ts';
import type { FunctionSettings } from '../../../lib/aws/settings.ts';
import { compile } from '../../../lib/graph/compile.ts';
import { defineJob, kinesis, print } from '../../../lib/index.ts';
import { createJob } from '../../../lib/invocation/coordinator/create-job.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';
import { FakeService, fakePorts } from '../../../lib/testing/invocation/index.ts';
import { kinesisEvent } from './events.ts';

const job = defineJob('clicks', (env) => void env.fromSource(kinesis('clicks'), { uid: 'clicks' }).sinkTo(print(), { uid: 'out' }));
const plan = compile(describeJob(job, new ParamValues(new Map())), { keepsPartitions: true });
const half = 2 ** 31;

async function deployed() {
  const ports = fakePorts(new FakeService());
  const splits = [
    { id: 'shardId-000000000000', range: { from: 0, to: half - 1 } },
    { id: 'shardId-000000000001', range: { from: half, to: 2 * half - 1 } },
  ];
  await createJob(ports, { plan, splits: new Map([[0, splits]]), nowMs: 0 });
  return { ports, plan, settings: { stage: 0 } as FunctionSettings };
}

const eventOf = (shard: string): KinesisEvent => kinesisEvent(shard, [{ number: '7', data: '1' }]);

test('records of a shard are its subtask’s', async () => {
  const [part] = await kinesisParts(await deployed(), eventOf('shardId-000000000001'));
  expect(part?.invocation).toMatchObject({ subtask: '0-s1', split: 1 });
});

test('records of a shard that the job has not heard of wait in the stream, and an event of another shard is taken', async () => {
  const there = await deployed();
  await expect(kinesisParts(there, eventOf('shardId-000000000002'))).rejects.toMatchObject({
    code: 'SUBTASK_UNKNOWN',
    next: 'retry-invocation',
    message: 'shard shardId-000000000002 of stage 0 is not known to the job yet',
  });
  expect(await kinesisParts(there, eventOf('shardId-000000000000'))).toHaveLength(1);
});
