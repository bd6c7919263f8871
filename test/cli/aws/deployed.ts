// Stacks with jobs in them, as a fake cloud tells them.

import clicks from '../../../examples/clicks/job.ts';
import { ParamValues } from '../../../lib/api/params.ts';
import { compile } from '../../../lib/graph/compile.ts';
import { createJob } from '../../../lib/invocation/coordinator/create-job.ts';
import type { JobItem } from '../../../lib/invocation/job-item.ts';
import { jobItemName } from '../../../lib/invocation/job-item.ts';
import { encodeJobItem } from '../../../lib/invocation/job-item-codec.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';
import { FakeService, fakePorts } from '../../../lib/testing/invocation/index.ts';
import type { FakeCloud } from '../../support/fake-cloud.ts';

export const clicksPlan = compile(describeJob(clicks, new ParamValues(new Map())), { keepsPartitions: true });

/** Outputs of a job as its construct says them, behind a prefix of its own. */
export function outputsOf(prefix: string, job: string, table: string): Readonly<Record<string, string>> {
  const said = {
    ...{ Job: job, Table: table, Bucket: `${table}-bucket`, PlanHash: clicksPlan.hash, StateMachine: 'arn:machine' },
    ...{
      Pulse: `${table}-pulse`,
      Query: `${table}-query`,
      Controls: '{}',
      Queues: '{"1":"http://queue.fifo"}',
      Bind: '{}',
      Mappings: '[]',
    },
  };
  return Object.fromEntries(Object.entries(said).map(([name, value]) => [`${prefix}Sluice${name}`, value]));
}

/** The record of a job that has just begun. */
export async function begunItem(changes: Partial<JobItem> = {}): Promise<JobItem> {
  const splits = new Map(clicksPlan.stages.filter(({ inputs }) => inputs.length === 0).map(({ id }) => [id, [{ id: 'lane-0' }]]));
  const ports = fakePorts(new FakeService());
  return { ...(await createJob(ports, { plan: clicksPlan, splits, nowMs: 0 })), ...changes };
}

export function storeItem(cloud: FakeCloud, table: string, item: JobItem): void {
  const bytes = Buffer.from(encodeJobItem(item)).toString('base64');
  const stored = { p: { S: 'i' }, s: { S: jobItemName }, v: { N: '1' }, c: { S: '' }, b: { B: bytes } };
  cloud.items.set(`${table}/i/${jobItemName}`, stored);
}
