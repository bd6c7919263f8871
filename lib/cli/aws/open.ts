// How commands reach a deployed job: by its stack, on the same ports as its functions.
import { openAwsPorts } from '../../adapters/aws/aws-ports.ts';
import { systemClock as clock, systemRandom as random } from '../../adapters/embedded/system-clock.ts';
import type { OpenedJob } from '../../adapters/invocations/tools.ts';
import { readExistingJob } from '../../invocation/coordinator/read-job.ts';
import type { JobItem } from '../../invocation/job-item.ts';
import { patient } from '../../invocation/patience.ts';
import type { Call } from '../commands.ts';
import { type FunctionCaller, functionCaller } from './call-function.ts';
import { emulatorVariables } from './endpoint.ts';
import type { AwsPlace } from './sdk.ts';
import { type DeployedJob, findDeployed, readStack } from './stack.ts';

export interface OpenedDeployment {
  readonly deployed: DeployedJob;
  readonly opened: OpenedJob;
  readonly functions: FunctionCaller;
  item(): Promise<JobItem>;
}

/** Where the call goes. Credentials and Region that an emulator does not ask for are put into the place of those that are missing. */
export function placeOf({ arguments: given }: Call): AwsPlace {
  const endpoint = given.flags.get('endpoint')?.[0];
  if (endpoint !== undefined) Object.assign(process.env, emulatorVariables(endpoint, process.env));
  return { endpoint };
}

/** The same call of another command that takes a job and its stack. */
export function callOn(call: Call, job: string, stack: string): Call {
  const { arguments: given } = call;
  return { ...call, arguments: { ...given, positionals: [job], flags: new Map([...given.flags, ['stack', [stack]]]) } };
}

/** Opens the job of the call, and closes it when the work is done. */
export async function withDeployment(call: Call, work: (o: OpenedDeployment) => Promise<number>): Promise<number> {
  const place = placeOf(call);
  const stack = call.arguments.flags.get('stack')![0]!;
  const deployed = findDeployed(stack, await readStack(stack, place), call.arguments.positionals[0]!);
  const { job, table, bucket, queues } = deployed;
  const opened = openAwsPorts({ table, bucket, queues, random, endpoint: place.endpoint });
  const functions = await functionCaller(place);
  const ports = patient(opened, { clock, random });
  const item = async (): Promise<JobItem> => (await readExistingJob(ports)).item;
  try {
    return await work({ deployed, functions, item, opened: { job, database: `stack ${stack}`, ports, close: () => opened.close() } });
  } finally {
    functions.close();
    opened.close();
  }
}
