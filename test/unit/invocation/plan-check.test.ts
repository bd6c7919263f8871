import { expect, test } from 'vitest';
import type { Source } from '../../../lib/api/source.ts';
import { collect, defineJob, type Env } from '../../../lib/index.ts';
import type { Owner } from '../../../lib/invocation/job-item.ts';
import { checkPlan } from '../../../lib/invocation/plan-check.ts';
import { InvocationWorld } from '../../support/invocation-world.ts';
import { queueSource } from '../../support/lane-world.ts';

interface Shape {
  readonly lanes?: number;
  readonly parallelism?: number;
}

function worldOf({ lanes = 2, parallelism = 2 }: Shape): InvocationWorld {
  const queue = queueSource<string>({ order: 'fifo', lanes, retentionMs: 3_600_000 }) as Source<string>;
  const job = defineJob('shape', (env: Env) => {
    env.setParallelism(parallelism);
    env.fromSource(queue, { uid: 'queue' }).sinkTo(collect<string>(), { uid: 'of-queue' });
    env.fromCollection(['a'], { uid: 'in' }).sinkTo(collect<string>(), { uid: 'of-in' });
  });
  return new InvocationWorld({ job });
}

const other = { code: 'PLAN_CHANGED' };

test('another number of lanes is another plan: groups would be of other lanes, which know nothing of what was taken', async () => {
  const world = worldOf({ lanes: 2 });
  await world.create();
  const item = await world.item();
  checkPlan(item, world.plan);
  for (const lanes of [1, 4]) {
    const { plan } = worldOf({ lanes });
    expect(plan.hash).toBe(item.planHash);
    expect(() => checkPlan(item, plan)).toThrow(expect.objectContaining(other));
  }
});

test('and another parallelism of a source, whose splits are dealt out by it', async () => {
  const world = worldOf({ parallelism: 2 });
  await world.create();
  const item = await world.item();
  expect(() => checkPlan(item, worldOf({ parallelism: 3 }).plan)).toThrow(expect.objectContaining(other));
});

test('a stage that reads a stream has as many subtasks as the stream has shards', () => {
  const stages = [{ id: 0, name: 'clicks', inputs: [], parallelism: 1 }];
  const owners = ['0-s0', '0-s3', '0-s4'].map((subtask): Owner => ({ subtask, stage: 0, index: Number(subtask.slice(3)), splits: [] }));
  checkPlan({ job: 'j', planHash: 'h', owners }, { hash: 'h', stages });
});
