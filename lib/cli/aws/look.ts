// `sluice status [NAME]` and `sluice checkpoints list|show NAME` with `--stack STACK`. They only read.
import { describeError } from '../../core/errors.ts';
import type { DescribedOperator } from '../../invocation/coordinator/checkpoint-sizes.ts';
import type { JobItem } from '../../invocation/job-item.ts';
import type { Call, Command } from '../commands.ts';
import { tellCheckpoint, tellCheckpoints } from '../invocation-checkpoints.ts';
import { tableText } from '../table.ts';
import { timeText } from '../time-text.ts';
import { placeOf, withDeployment } from './open.ts';
import { type DeployedJob, readStack } from './stack.ts';

export const listDeployedCheckpoints: Command = (call) => withDeployment(call, ({ opened }) => tellCheckpoints(opened, call.output));
export const showDeployedCheckpoint: Command = (call) =>
  withDeployment(call, ({ opened, deployed, functions }) =>
    tellCheckpoint(opened, call.output, async () => {
      try {
        const { operators } = (await functions.call(deployed.query, { command: 'operators' })) as {
          readonly operators: readonly DescribedOperator[];
        };
        return operators;
      } catch (error) {
        // What the checkpoint itself says is known all the same, also of a function that an older version made.
        call.output.note(`operators are not shown: ${describeError(error)}`);
        return undefined;
      }
    }),
  );

export const statusDeployed: Command = async (call) => {
  const stack = call.arguments.flags.get('stack')![0]!;
  const wanted = call.arguments.positionals[0];
  const jobs = (await readStack(stack, placeOf(call))).filter(({ job }) => wanted === undefined || job === wanted);
  const told: Readonly<Record<string, unknown>>[] = [];
  for (const { job } of jobs) {
    const one: Call = { ...call, arguments: { ...call.arguments, positionals: [job] } };
    await withDeployment(one, async ({ deployed, item }) => {
      const fields = fieldsOf(deployed, await item());
      told.push(fields);
      return 0;
    });
  }
  const head = ['job', 'state', 'generation', 'subtasks', 'last checkpoint', 'completed', 'plan'];
  call.output.text(told.length === 0 ? `stack ${stack} holds no job` : tableText(head, told.map(rowOf), [2, 3, 4]));
  for (const { job, failure } of told) if (failure !== undefined) call.output.text(`${job} failed: ${failure}`);
  call.output.object({ stack, state: 'done', jobs: told });
  return 0;
};

function fieldsOf(deployed: DeployedJob, item: JobItem): Readonly<Record<string, unknown>> {
  const last = item.completed.at(-1);
  return {
    job: item.job,
    state: item.restoring === undefined ? item.status : `restoring checkpoint ${item.restoring.checkpoint}`,
    generation: item.generation,
    subtasks: item.owners.length,
    checkpoint: last?.checkpoint,
    completedMs: last?.completedMs,
    open: item.open.map(({ checkpoint }) => checkpoint),
    planHash: item.planHash,
    isPlanDeployed: item.planHash === deployed.planHash,
    failure: item.status === 'failed' ? item.failure : undefined,
  };
}

function rowOf(f: Readonly<Record<string, unknown>>): readonly string[] {
  const completed = typeof f.completedMs === 'number' ? timeText(f.completedMs) : '';
  const plan = `${String(f.planHash).slice(0, 12)}${f.isPlanDeployed === true ? '' : ' (the stack has another one)'}`;
  return [f.job, f.state, f.generation, f.subtasks, f.checkpoint ?? '', completed, plan].map(String);
}
