// The coordinator's state machine, as a construct makes it, on an interpreter that takes time-outs and errors as the service does.
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  type DescribeExecutionCommandOutput,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { definition } from '../../lib/cdk/coordinator.ts';
import { findPython, type StateMachineEmulator, startStateMachines } from '../../tools/emulator/state-machines.ts';
import { eventually } from '../e2e/cloud.ts';
import { type Answer, type Functions, startFunctions } from './functions.ts';

let functions: Functions;
let machines: StateMachineEmulator;
let client: SFNClient;

beforeAll(async () => {
  const python = await findPython();
  if (python === undefined) throw new Error('this needs Python 3.13 or newer with venv');
  functions = await startFunctions();
  machines = await startStateMachines({ python, tasks: functions.endpoint });
  const credentials = { accessKeyId: '000000000000', secretAccessKey: 'test' };
  client = new SFNClient({ endpoint: machines.endpoint, region: 'us-east-1', credentials });
});

afterAll(async () => {
  client?.destroy();
  await machines?.stop();
  await functions?.stop();
});

beforeEach(() => functions.answers());

const again: Answer = { kind: 'value', value: { next: 'again', waitSeconds: 1, status: 'running', isBusy: true, generation: 0 } };
const done: Answer = { kind: 'value', value: { next: 'done', waitSeconds: 1, status: 'running', isBusy: false, generation: 0 } };

interface Seconds {
  readonly pulse?: number;
  readonly execution?: number;
}

/** The definition with what CloudFormation puts in, and with time-outs that a test can wait for. */
function deployed({ pulse, execution }: Seconds): string {
  const made = structuredClone(definition()) as { TimeoutSeconds: number; States: { Pulse: { TimeoutSeconds: number } } };
  if (execution !== undefined) made.TimeoutSeconds = execution;
  if (pulse !== undefined) made.States.Pulse.TimeoutSeconds = pulse;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's own.
  return JSON.stringify(made).replaceAll('${Partition}', 'aws').replaceAll('${Pulse}', 'clicks-pulse');
}

let machinesMade = 0;

async function executed(seconds: Seconds = {}): Promise<DescribeExecutionCommandOutput> {
  const name = `coordinator-${machinesMade++}`;
  const made = { name, definition: deployed(seconds), roleArn: 'arn:aws:iam::000000000000:role/coordinator' };
  const { stateMachineArn } = await client.send(new CreateStateMachineCommand(made));
  const { executionArn } = await client.send(new StartExecutionCommand({ stateMachineArn, input: '{}' }));
  return eventually('the execution ends', async () => {
    const execution = await client.send(new DescribeExecutionCommand({ executionArn }));
    return execution.status === 'RUNNING' ? undefined : execution;
  });
}

test('an execution calls again as long as the pulse wants it, and says each time which execution it is', async () => {
  functions.answers(again, again, done);
  const execution = await executed();
  expect(execution.status).toBe('SUCCEEDED');
  expect(functions.calls).toHaveLength(3);
  const call = { execution: execution.executionArn, startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) };
  expect(functions.calls).toEqual([call, call, call]);
});

test('what the execution carries is a few words', async () => {
  functions.answers(done);
  const { output = '' } = await executed();
  expect(JSON.parse(output)).toEqual({ next: 'done', waitSeconds: 1 });
});

test('a pulse that is throttled is called again', async () => {
  functions.answers({ kind: 'refused', status: 429, type: 'TooManyRequestsException' }, done);
  expect(await executed()).toMatchObject({ status: 'SUCCEEDED' });
  expect(functions.calls).toHaveLength(2);
});

test('a pulse that throws ends its execution; the next minute begins another', async () => {
  functions.answers({ kind: 'thrown', errorType: 'PLAN_CHANGED' });
  expect(await executed()).toMatchObject({ status: 'FAILED', error: 'PLAN_CHANGED' });
  expect(functions.calls).toHaveLength(1);
});

test('a pulse that never answers is given up', async () => {
  functions.answers({ kind: 'silence' });
  expect(await executed({ pulse: 2 })).toMatchObject({ status: 'FAILED', error: 'States.Timeout' });
  expect(functions.calls).toHaveLength(1);
});

test('an execution that finds no end is ended', async () => {
  functions.answers(again);
  expect((await executed({ execution: 4 })).status).toBe('TIMED_OUT');
  expect(functions.calls.length).toBeGreaterThan(1);
});
