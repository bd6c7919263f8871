// A job in one sandbox of a function: its plan, its ports, and what was warm before. All of it is made once and is a cache.
//   D1  A function whose code makes another plan than the one it was deployed with takes no input. Its code and its stages come from one deployment,
//       but a build function may depend on what it should not.
import { openAwsPorts } from '../adapters/aws/aws-ports.ts';
import { type AwsClients, createClients } from '../adapters/aws/clients.ts';
import { openExchange } from '../adapters/aws/open-exchange.ts';
import { openTargets } from '../adapters/aws/targets/open-targets.ts';
import { nodeByteStreams } from '../adapters/embedded/node-byte-streams.ts';
import { nodeFileSystem } from '../adapters/embedded/node-file-system.ts';
import { defaultsOf, readSettings } from '../adapters/embedded/settings.ts';
import { systemClock, systemRandom } from '../adapters/embedded/system-clock.ts';
import { openTopic } from '../adapters/kafka/open-topic.ts';
import type { Job } from '../api/job.ts';
import { ParamValues } from '../api/params.ts';
import type { SourceContext } from '../api/source.ts';
import type { StreamTarget, Targets } from '../api/targets.ts';
import { SluiceError } from '../core/errors.ts';
import { compile } from '../graph/compile.ts';
import type { Plan } from '../graph/plan.ts';
import { patient } from '../invocation/patience.ts';
import type { InvocationPorts } from '../invocation/ports.ts';
import { createEnvironment, createServices } from '../invocation/unit/create-environment.ts';
import type { Environment } from '../invocation/unit/environment.ts';
import type { UnitServices } from '../invocation/unit/services.ts';
import { describe } from '../operators/describe.ts';
import { type FunctionSettings, readFunctionSettings } from './settings.ts';
import { counting, type StageTally } from './stage-metrics.ts';

export interface Deployed {
  readonly settings: FunctionSettings;
  readonly plan: Plan;
  readonly clients: AwsClients;
  readonly targets: Targets;
  /** Each request is asked again where that is harmless. */
  readonly ports: InvocationPorts;
  readonly environment: Environment;
  readonly services: UnitServices;
  readonly tally: StageTally;
  sourceContext(uid: string): SourceContext;
  /** The stream of the exchange in front of a stage; `undefined`: there is a queue, or nothing is sent to it. */
  exchangeStream(stage: number): StreamTarget | undefined;
}

/** What the function of a stage uses. */
export interface DeployedStage extends Pick<Deployed, 'plan' | 'ports' | 'tally' | 'exchangeStream'> {
  readonly settings: Pick<FunctionSettings, 'stage' | 'bind'>;
  readonly environment: Pick<Environment, 'invoke'>;
}

export interface DeployedOptions {
  readonly job: Job;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

const say = (line: string): void => console.log(line);

/** @throws SluiceError `SETTING_INVALID`, `PLAN_CHANGED`, and of whatever is wrong with the job */
export function openDeployed({ job, variables }: DeployedOptions): Deployed {
  const settings = readFunctionSettings(variables);
  const plan = planOf(job, settings);
  checkStages(plan, settings);
  const clients = createClients();
  const { table, bucket, queues } = settings;
  const tally: StageTally = { conflicts: 0 };
  const { exchange, streamOf } = openExchange(queues, clients);
  const ports = counting(openAwsPorts({ table, bucket, queues, exchange, clients, random: systemRandom }), tally);
  const targets = openTargets({
    ...{ bind: settings.bind, clients },
    openTopic: (name, target) => openTopic(name, target, { variables, clock: systemClock }),
  });
  const options = {
    ...{ plan, ports, targets, clock: systemClock, random: systemRandom, files: nodeFileSystem, streams: nodeByteStreams },
    report: say,
    print: say,
  };
  return {
    ...{ settings, plan, clients, tally, targets },
    ports: patient(ports, { clock: systemClock, random: systemRandom }),
    environment: createEnvironment(options),
    services: createServices(options),
    sourceContext: (uid) => ({ job: plan.job, uid, files: nodeFileSystem, clock: systemClock, targets, countSkipped: () => undefined }),
    exchangeStream: streamOf,
  };
}

function planOf(job: Job, { params, set, planHash }: FunctionSettings): Plan {
  const given = new Map(Object.entries(set).map(([name, text]) => [name, { text, origin: 'settings' }]));
  const description = describe(job, new ParamValues(new Map(Object.entries(params))), defaultsOf(readSettings(given), undefined));
  // What a deployment is known by is the hash that its stages were made for; that of the bundle differs where a tool prints code anew.
  return { ...compile(description, { keepsPartitions: true }), hash: planHash };
}

/** Pure. @throws SluiceError `PLAN_CHANGED` */
export function checkStages(plan: Plan, { stage, queues, job }: Pick<FunctionSettings, 'stage' | 'queues' | 'job'>): void {
  const wanted = plan.stages.filter(({ inputs }) => inputs.length > 0).map(({ id }) => String(id));
  const there = Object.keys(queues);
  const isSame = wanted.length === there.length && wanted.every((id) => there.includes(id));
  if (isSame && plan.job === job && (stage === undefined || stage < plan.stages.length)) return;
  throw new SluiceError('PLAN_CHANGED', {
    message: `the code of this function makes another plan than the stack was made for: stages behind an exchange ${wanted.join() || 'none'}, queues ${there.join() || 'none'}`,
    next: 'fix-the-job',
    advice: 'let the build function depend on its parameters only, and deploy again',
    job: plan.job,
  });
}

/** One per sandbox, made at the first call, so that what is wrong with the job is told by a call and not by an init that is tried again. */
export function deployedOnce(options: DeployedOptions): () => Deployed {
  let opened: Deployed | undefined;
  return () => (opened ??= openDeployed(options));
}
