// A small job over strict fakes, with a Lambda that calls the handler of the stage: what tests of pulses begin with.
import { type InvokeCommand, UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { nodeFileSystem } from '../../../lib/adapters/embedded/node-file-system.ts';
import { systemClock, systemRandom } from '../../../lib/adapters/embedded/system-clock.ts';
import { ParamValues } from '../../../lib/api/params.ts';
import type { Deployed } from '../../../lib/aws/deployed.ts';
import { handlePulse, newPulseState, type PulseState } from '../../../lib/aws/pulse-handler.ts';
import { handleStage } from '../../../lib/aws/stage-handler.ts';
import { compile } from '../../../lib/graph/compile.ts';
import { count, defineJob, print, sqs } from '../../../lib/index.ts';
import { createEnvironment, createServices } from '../../../lib/invocation/unit/create-environment.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';
import { type FakeCall, type FakeService, fakePorts, promptCall } from '../../../lib/testing/invocation/index.ts';

const job = defineJob('clicks', (env) => {
  env
    .fromSource(sqs<{ readonly user: string }>('clicks', { fifo: true, lanes: 1 }), { uid: 'clicks' })
    .keyBy(({ user }) => user)
    .aggregate(count())
    .uid('count')
    .setParallelism(1)
    .sinkTo(print(), { uid: 'totals' });
});
export const plan = compile(describeJob(job, new ParamValues(new Map())), { keepsPartitions: true });

export interface Account {
  readonly calls: string[];
  /** Of the next call of a control function. */
  failsWith: string | undefined;
}

/** @param call  how the services answer */
export function pulsesOf(service: FakeService, hash: string = plan.hash, table: string = 'clicks-table', call: FakeCall = promptCall) {
  const account: Account = { calls: [], failsWith: undefined };
  const ports = fakePorts(service, call);
  const own = { ...plan, hash };
  const options = {
    ...{ plan: own, ports, clock: systemClock, random: systemRandom, files: nodeFileSystem },
    report: () => undefined,
    print: () => undefined,
  };
  const services = createServices(options);
  const deployed = {
    ...{ plan: own, ports, services, environment: createEnvironment(options), tally: { conflicts: 0 } },
    settings: { stage: 0, job: 'clicks', table, mappings: ['mapping-1', 'mapping-2'], controls: { 0: 'control-0', 1: 'control-1' } },
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
  return { account, ports, deployed, pulse: (call = {}) => handlePulse(deployed, state, call) };
}
