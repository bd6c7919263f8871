// What a stack says of the job that it holds: its outputs are the command line's map (docs/decisions/007).
import type { Output } from '@aws-sdk/client-cloudformation';
import type { ExchangePlaces } from '../../adapters/aws/exchange-place.ts';
import { SluiceError } from '../../core/errors.ts';
import { nearest } from '../../core/suggest.ts';
import { appOutput } from './job-app.ts';
import { type AwsPlace, asked, loadClient } from './sdk.ts';

export interface DeployedJob {
  readonly stack: string;
  readonly job: string;
  readonly table: string;
  readonly bucket: string;
  readonly planHash: string;
  /** ARN. */
  readonly stateMachine: string;
  /** Names of functions. */
  readonly pulse: string;
  readonly query: string;
  /** Stage (its index in the plan) → name of its control function. */
  readonly controls: Readonly<Record<string, string>>;
  /** Stage → its exchange queue, or stream. */
  readonly queues: ExchangePlaces;
  /** Name in the job → ARN of the stream that it is bound to. */
  readonly streams: Readonly<Record<string, string>>;
  /** UUIDs of its event source mappings. */
  readonly mappings: readonly string[];
  /** True when `sluice deploy` made the stack, so that nothing but the job is in it. */
  readonly isWholeStack: boolean;
}

type Said = ReadonlyMap<string, string>;

/** A stack as CloudFormation tells it. */
export interface StackState {
  /** Such as `UPDATE_COMPLETE`. */
  readonly status: string;
  readonly jobs: readonly DeployedJob[];
}

/**
 * The jobs of a stack, by name.
 * @throws SluiceError `STACK_UNKNOWN`, `STACK_WITHOUT_JOB`, `ENDPOINT_UNREACHABLE`, `STORE_FORBIDDEN`
 */
export async function readStack(stack: string, place: AwsPlace): Promise<readonly DeployedJob[]> {
  const state = await readStackState(stack, place);
  if (state !== undefined) return state.jobs;
  throw new SluiceError('STACK_UNKNOWN', {
    message: `there is no stack ${stack}${place.endpoint === undefined ? ' in this account and Region' : ` at ${place.endpoint}`}`,
    next: 'fix-the-command',
    advice: '`sluice deploy FILE --stack NAME` makes one; AWS_REGION and AWS_PROFILE choose where it is looked for',
  });
}

/** @returns `undefined`: there is no such stack */
export async function readStackState(stack: string, place: AwsPlace): Promise<StackState | undefined> {
  const sdk = await loadClient('@aws-sdk/client-cloudformation', () => import('@aws-sdk/client-cloudformation'));
  const client = new sdk.CloudFormationClient({ ...(place.endpoint === undefined ? {} : { endpoint: place.endpoint }) });
  try {
    const { Stacks: stacks = [] } = await asked(`cloudformation:DescribeStacks on stack ${stack}`, place, () =>
      client.send(new sdk.DescribeStacksCommand({ StackName: stack })),
    );
    const [found] = stacks;
    return found === undefined ? undefined : { status: found.StackStatus ?? '', jobs: jobsOf(stack, found.Outputs ?? []) };
  } catch (error) {
    if (error instanceof Error && /does not exist/.test(error.message)) return undefined;
    throw error;
  } finally {
    client.destroy();
  }
}

/** Pure. Outputs of several jobs differ in what stands before `SluiceJob`, as CloudFormation's names must. */
export function jobsOf(stack: string, outputs: readonly Output[]): readonly DeployedJob[] {
  const said = new Map(outputs.map((o) => [o.OutputKey ?? '', o.OutputValue ?? '']));
  const prefixes = [...said.keys()].filter((key) => key.endsWith('SluiceJob')).map((key) => key.slice(0, -'SluiceJob'.length));
  return prefixes.map((prefix) => jobOf(stack, prefix, said));
}

function jobOf(stack: string, prefix: string, said: Said): DeployedJob {
  const text = (name: string): string => {
    const value = said.get(`${prefix}Sluice${name}`);
    if (value !== undefined) return value;
    throw new SluiceError('STACK_WITHOUT_JOB', {
      message: `stack ${stack} has no output ${prefix}Sluice${name}`,
      next: 'fix-the-command',
      advice: 'deploy it again with this version',
      stack,
    });
  };
  /** What grows with a job goes on in outputs with a number behind their names. */
  const parts = (name: string): unknown[] => {
    const told = [text(name)];
    for (let i = 2; said.has(`${prefix}Sluice${name}${i}`); i++) told.push(text(`${name}${i}`));
    return told.map((part) => JSON.parse(part));
  };
  return {
    stack,
    job: text('Job'),
    table: text('Table'),
    bucket: text('Bucket'),
    planHash: text('PlanHash'),
    stateMachine: text('StateMachine'),
    pulse: text('Pulse'),
    query: text('Query'),
    controls: Object.assign({}, ...parts('Controls')) as Record<string, string>,
    queues: Object.assign({}, ...parts('Queues')) as ExchangePlaces,
    streams: streamsOf(Object.assign({}, ...parts('Bind')) as Record<string, Bound>),
    mappings: parts('Mappings').flat() as string[],
    isWholeStack: said.has(appOutput),
  };
}

interface Bound {
  readonly kind: string;
  readonly stream?: string;
}

function streamsOf(bind: Readonly<Record<string, Bound>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(bind).flatMap(([name, { stream }]) => (stream === undefined ? [] : [[name, stream]])));
}

/** @throws SluiceError `STACK_WITHOUT_JOB` naming the jobs that there are */
export function findDeployed(stack: string, jobs: readonly DeployedJob[], name: string): DeployedJob {
  const found = jobs.find(({ job }) => job === name);
  if (found !== undefined) return found;
  const names = jobs.map(({ job }) => job);
  const meant = nearest(name, names);
  const hint = meant !== undefined ? `; did you mean ${meant}?` : names.length === 0 ? '' : `; it holds ${names.join(', ')}`;
  throw new SluiceError('STACK_WITHOUT_JOB', {
    message: `stack ${stack} holds no job ${name}${hint}`,
    next: 'fix-the-command',
    stack,
    job: name,
  });
}
