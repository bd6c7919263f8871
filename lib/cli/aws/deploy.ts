// `sluice deploy FILE`: a stack with this one job in it, made by the CDK's own command line.
//   P1  What can be known to be wrong is told before CloudFormation is asked to change anything: the job, its parameters, its bindings, another plan
//       than the job that runs has, another exchange, a stack that holds something else.
//   P2  A stack that was not made here is never touched: an app of one job would remove all else from it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAwsPorts } from '../../adapters/aws/aws-ports.ts';
import { type ExchangeKind, exchangeKindOf } from '../../adapters/aws/exchange-place.ts';
import { systemClock as clock, systemRandom as random } from '../../adapters/embedded/system-clock.ts';
import { SluiceError } from '../../core/errors.ts';
import { compile } from '../../graph/compile.ts';
import { readJob } from '../../invocation/coordinator/read-job.ts';
import { patient } from '../../invocation/patience.ts';
import { checkPlan } from '../../invocation/plan-check.ts';
import { usageError } from '../arguments.ts';
import type { Call, Command } from '../commands.ts';
import { type JobCall, prepareJob, readBind } from '../job-call.ts';
import { checkpointingIsOffInvocations } from '../notices.ts';
import { type Cdk, findCdk } from './cdk.ts';
import { type AppJob, makeAssembly } from './job-app.ts';
import { callOn, placeOf, withDeployment } from './open.ts';
import type { AwsPlace } from './sdk.ts';
import { type DeployedJob, readStackState, type StackState } from './stack.ts';
import { stackOf } from './stack-name.ts';

export const deploy: Command = async (call) => {
  const place = placeOf(call);
  const exchange = exchangeOf(call);
  const cdk = findCdk(process.cwd(), place, call.output);
  const { bind, prepared } = await jobOf(call);
  const stack = stackOf(call, prepared.job.name);
  await refuse(stack, prepared, exchange, place);
  const directory = await mkdtemp(join(tmpdir(), 'sluice-deploy-'));
  try {
    await makeAssembly({ stack, directory, job: { ...appJobOf(call, bind, prepared), exchange } });
    await runCdk(call, cdk, stack, directory, place);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  call.output.text(`stack ${stack} is deployed`);
  return await begin(call, prepared.job.name, stack);
};

/** @throws SluiceError `COMMAND_LINE_INVALID` */
function exchangeOf({ arguments: given }: Call): ExchangeKind {
  const text = given.flags.get('exchange')?.[0] ?? 'sqs';
  if (text === 'sqs' || text === 'kinesis') return text;
  throw usageError(`--exchange is '${text}'; it is sqs, for FIFO queues between stages, or kinesis, for streams`);
}

/** The job as its functions will make it: what a name is bound to is no path there. */
async function jobOf(call: Call): Promise<{ readonly bind: Readonly<Record<string, string>>; readonly prepared: JobCall }> {
  const { arguments: given } = call;
  const bind = readBind(given.flags.get('bind') ?? [], 'NAME|ARN');
  const flags = new Map([...given.flags].filter(([name]) => name !== 'bind'));
  const prepared = await prepareJob({ ...call, arguments: { ...given, flags } });
  if (prepared.description.settings.checkpoints === undefined) call.output.note(checkpointingIsOffInvocations);
  return { bind, prepared };
}

function appJobOf({ arguments: given }: Call, bind: AppJob['bind'], { params, settingTexts }: JobCall): Omit<AppJob, 'exchange'> {
  return {
    bind,
    entry: given.positionals[0]!,
    params: Object.fromEntries(params),
    settings: Object.fromEntries([...settingTexts].filter(([name]) => isDeployable(name))),
    table: given.flags.get('table')?.[0],
    bucket: given.flags.get('bucket')?.[0],
  };
}

/** Where a process keeps its state, and how workers on a desk are fed, means nothing to functions. */
function isDeployable(setting: string): boolean {
  return !/^state\.backend|^state\..*\.dir$|^invocations\./.test(setting);
}

/** States of a stack that was never there as a whole; what CloudFormation calls them. */
const neverMade = /^(REVIEW_IN_PROGRESS|ROLLBACK_COMPLETE|DELETE_COMPLETE)$/;

/** @throws SluiceError `STACK_FOREIGN`, `PLAN_CHANGED`, `DEPLOYMENT_UNSAFE` */
async function refuse(stack: string, prepared: JobCall, exchange: ExchangeKind, place: AwsPlace): Promise<void> {
  const state = await readStackState(stack, place);
  if (state === undefined || neverMade.test(state.status)) return;
  const deployed = ownJobOf(stack, state, prepared.job.name);
  const plan = compile(prepared.description, { keepsPartitions: true });
  const { job, table, bucket, queues } = deployed;
  const opened = openAwsPorts({ table, bucket, queues, random, endpoint: place.endpoint });
  try {
    const read = await readJob(patient(opened, { clock, random }));
    if (read === undefined) return;
    checkPlan(read.item, plan);
    refuseOtherExchange(deployed, exchange);
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'PLAN_CHANGED') throw error;
    throw new SluiceError(error.code, {
      ...error.details,
      message: `${error.message}; nothing was changed`,
      next: 'fix-the-job',
      advice: `deploy the code that ${job} was started with, or the changed job with another --stack, where it begins anew`,
    });
  } finally {
    opened.close();
  }
}

/** Pure: of a job that was started. @throws SluiceError `DEPLOYMENT_UNSAFE` */
function refuseOtherExchange({ job, queues }: DeployedJob, wanted: ExchangeKind): void {
  const has = exchangeKindOf(queues);
  if (has === undefined || has === wanted) return;
  throw new SluiceError('DEPLOYMENT_UNSAFE', {
    message: `job ${job} was started with exchange '${has}', and this deployment has '${wanted}', where nothing is of what is on its way; nothing was changed`,
    next: 'fix-the-command',
    advice: `say --exchange ${has}, or deploy with another --stack, where the job begins anew`,
  });
}

/** Pure. @throws SluiceError `STACK_FOREIGN` */
export function ownJobOf(stack: string, { jobs }: Pick<StackState, 'jobs'>, name: string): DeployedJob {
  const found = jobs.find(({ job }) => job === name);
  if (found?.isWholeStack === true) return found;
  const holds = jobs.map(({ job }) => job).join(', ');
  const [what, advice] =
    jobs.some(({ isWholeStack }) => isWholeStack) && found === undefined
      ? [`stack ${stack} holds the job ${holds}, and this file is the job ${name}`, 'name another stack by --stack']
      : [
          `stack ${stack} was not made by \`sluice deploy\`${holds === '' ? '' : `, though it holds ${holds}`}; what else it has would go`,
          'deploy and destroy it by its own app with `cdk`, or name another stack by --stack',
        ];
  throw new SluiceError('STACK_FOREIGN', { message: `${what}; nothing was changed`, next: 'fix-the-command', advice, stack, job: name });
}

async function runCdk(call: Call, cdk: Cdk, stack: string, directory: string, { endpoint }: AwsPlace): Promise<void> {
  const mayAsk = endpoint === undefined && !call.arguments.flags.has('yes');
  if (endpoint !== undefined) await cdk.run(['bootstrap', `aws://${process.env.AWS_ACCESS_KEY_ID}/${process.env.AWS_REGION}`]);
  await cdk.run(['deploy', stack, '--app', directory, ...(mayAsk ? [] : ['--require-approval', 'never'])]);
}

/** The first pulse makes the job. It would come within a minute; what is wrong with it is better told to who waits here. */
async function begin(call: Call, job: string, stack: string): Promise<number> {
  return await withDeployment(callOn(call, job, stack), async ({ deployed, functions, item }) => {
    await functions.call(deployed.pulse, {});
    const { status, generation } = await item();
    call.output.text(`${job} is ${status}`);
    call.output.object({
      job,
      state: status,
      stack,
      generation,
      planHash: deployed.planHash,
      table: deployed.table,
      bucket: deployed.bucket,
    });
    return 0;
  });
}
