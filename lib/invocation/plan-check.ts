// Whether some code makes the plan that a job runs. The hash of a plan says nothing of parallelism, because a checkpoint may be restored at another
// one; but which subtask owns a key, a group of a queue or a partition of a topic follows from it, so while a job runs it is that of its owners. Shards
// of a stream are subtasks of their own, as many as there are.

import { SluiceError } from '../core/errors.ts';
import type { JobItem, Owner } from './job-item.ts';

/** What of a plan is looked at. */
export interface PlanShape {
  readonly hash: string;
  readonly stages: readonly {
    readonly id: number;
    readonly name: string;
    readonly inputs: readonly unknown[];
    readonly parallelism: number;
  }[];
}

/** @throws SluiceError `PLAN_CHANGED` */
export function checkPlan(item: Pick<JobItem, 'job' | 'owners' | 'planHash'>, plan: PlanShape): void {
  const { job, owners } = item;
  if (item.planHash !== plan.hash) throw otherPlan(job, `runs the plan ${item.planHash}, and this code makes the plan ${plan.hash}`);
  const unknown = owners.find(({ stage }) => plan.stages[stage] === undefined);
  if (unknown !== undefined) throw otherPlan(job, `has a subtask ${unknown.subtask}, and this code makes ${plan.stages.length} stages`);
  if (owners.length === 0) return; // it is being created
  for (const { id, name, inputs, parallelism } of plan.stages) {
    const own = owners.filter(({ stage }) => stage === id);
    if (own.length === parallelism || (inputs.length === 0 && own.every(isOfSplit))) continue;
    throw otherPlan(job, `runs ${name} at parallelism ${own.length}, and this code at ${parallelism}`);
  }
}

/** As `splitOwner` names it. */
function isOfSplit({ subtask, stage, index }: Owner): boolean {
  return subtask !== `${stage}-${index}`;
}

function otherPlan(job: string, how: string): SluiceError {
  return new SluiceError('PLAN_CHANGED', {
    message: `job ${job} ${how}`,
    next: 'fix-the-job',
    advice: 'run the code that the job was started with, or start the changed job from a savepoint',
    job,
  });
}
