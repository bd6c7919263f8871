// Pulses of a small job over strict fakes, with a Lambda that calls the handler of the stage.
import { type InvokeCommand, UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nodeFileSystem } from '../../../lib/adapters/embedded/node-file-system.ts';
import { systemClock, systemRandom } from '../../../lib/adapters/embedded/system-clock.ts';
import { ParamValues } from '../../../lib/api/params.ts';
import type { Deployed } from '../../../lib/aws/deployed.ts';
import { handlePulse, newPulseState, type PulseState } from '../../../lib/aws/pulse-handler.ts';
import { handleStage } from '../../../lib/aws/stage-handler.ts';
import { compile } from '../../../lib/graph/compile.ts';
import { count, defineJob, print, sqs } from '../../../lib/index.ts';
import { requestPause } from '../../../lib/invocation/coordinator/job-life.ts';
import { createEnvironment, createServices } from '../../../lib/invocation/unit/create-environment.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';
import { FakeService, fakePorts } from '../../../lib/testing/invocation/index.ts';

const job = defineJob('clicks', (env) => {
  env
    .fromSource(sqs<{ readonly user: string }>('clicks', { fifo: true, lanes: 1 }), { uid: 'clicks' })
    .keyBy(({ user }) => user)
    .aggregate(count())
    .uid('count')
    .setParallelism(1)
    .sinkTo(print(), { uid: 'totals' });
});
const plan = compile(describeJob(job, new ParamValues(new Map())), { keepsPartitions: true });

interface Account {
  readonly calls: string[];
  /** Of the next call of a control function. */
  failsWith: string | undefined;
}

function pulsesOf(service: FakeService, hash: string = plan.hash) {
  const account: Account = { calls: [], failsWith: undefined };
  const ports = fakePorts(service);
  const own = { ...plan, hash };
  const options = {
    ...{ plan: own, ports, clock: systemClock, random: systemRandom, files: nodeFileSystem },
    report: () => undefined,
    print: () => undefined,
  };
  const services = createServices(options);
  const deployed = {
    ...{ plan: own, ports, services, environment: createEnvironment(options), tally: { conflicts: 0 } },
    settings: { stage: 0, mappings: ['mapping-1', 'mapping-2'], controls: { 0: 'control-0', 1: 'control-1' } },
    sourceContext: (uid: string) => services.sourceContext(uid),
  } as unknown as Deployed;
  const send = async (command: unknown): Promise<unknown> => {
    if (command instanceof UpdateEventSourceMappingCommand) {
      account.calls.push(`${command.input.UUID} ${command.input.Enabled === true ? 'on' : 'off'}`);
      return {};
    }
    const { FunctionName: name, Payload: payload } = (command as InvokeCommand).input;
    account.calls.push(String(name));
    const failed = account.failsWith;
    if (failed !== undefined)
      return { FunctionError: 'Unhandled', Payload: Buffer.from(JSON.stringify({ errorType: 'SluiceError', errorMessage: failed })) };
    const event = JSON.parse(Buffer.from(payload as Uint8Array).toString('utf8')) as object;
    const answer = await handleStage(deployed, event, { getRemainingTimeInMillis: () => 30_000 }, systemClock);
    return { Payload: Buffer.from(JSON.stringify(answer)) };
  };
  const state: PulseState = { ...newPulseState(), lambda: { send } as unknown as PulseState['lambda'] };
  return { account, ports, pulse: (call = {}) => handlePulse(deployed, state, call) };
}

const mappingCalls = ({ calls }: Account): readonly string[] => calls.filter((call) => call.startsWith('mapping'));

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => void vi.restoreAllMocks());

describe('a pulse', () => {
  it('makes the job when there is none, and switches nothing that is as it was deployed', async () => {
    const { account, pulse } = pulsesOf(new FakeService());
    await pulse();
    expect(await pulse()).toMatchObject({ status: 'running', generation: 0 });
    expect(mappingCalls(account)).toEqual([]);
  });

  it('changes nothing of a job that runs another plan', async () => {
    const service = new FakeService();
    await pulsesOf(service).pulse();
    await expect(pulsesOf(service, 'of-another-deployment').pulse()).rejects.toThrow(/^PLAN_CHANGED: /);
  });

  it('switches the mappings off with the job, once, also by another sandbox', async () => {
    const service = new FakeService();
    const { account, ports, pulse } = pulsesOf(service);
    await pulse();
    await requestPause(ports);
    for (let n = 0; n < 20 && (await pulse()).status !== 'paused'; n++);
    const other = pulsesOf(service);
    expect((await other.pulse()).status).toBe('paused');
    expect(mappingCalls(account)).toEqual(['mapping-1 off', 'mapping-2 off']);
    expect(mappingCalls(other.account)).toEqual([]);
  });

  it('says that a control function failed, and goes on with the next pulse', async () => {
    const { account, ports, pulse } = pulsesOf(new FakeService());
    await pulse();
    await requestPause(ports);
    account.failsWith = 'STORE_MISSING: the table is gone';
    await pulse().catch(() => undefined);
    account.failsWith = undefined;
    for (let n = 0; n < 20 && (await pulse()).status !== 'paused'; n++);
    expect((await pulse()).status).toBe('paused');
  });

  it('of an execution sees its successor, and a later one does not see an earlier one', async () => {
    const service = new FakeService();
    const { pulse } = pulsesOf(service);
    const call = (n: number) => ({ execution: `execution-${n}`, startedAt: new Date(Date.now() - 60_000 + n * 1_000).toISOString() });
    await pulse(call(1));
    await pulse(call(2));
    expect((await pulse(call(1))).next).toBe('done');
  });

  it('tells what the alarms look for', async () => {
    const { pulse } = pulsesOf(new FakeService());
    await pulse();
    const metrics = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find(({ JobFailed }) => JobFailed !== undefined);
    expect(metrics).toMatchObject({ Job: 'clicks', JobFailed: 0, DeadLetters: 0, CheckpointAge: 0 });
  });

  it('that fails says since when a checkpoint is owed, though none was ever begun', async () => {
    const service = new FakeService();
    await pulsesOf(service).pulse();
    lines = [];
    await expect(pulsesOf(service, 'of-another-deployment').pulse()).rejects.toThrow(/^PLAN_CHANGED: /);
    const ages = lines.map((line) => (JSON.parse(line) as { CheckpointAge?: number }).CheckpointAge).filter((age) => age !== undefined);
    expect(ages).toHaveLength(1);
    expect(ages[0]).toBeGreaterThanOrEqual(0);
  });
});
