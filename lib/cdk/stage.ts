// A stage of the plan: the function that its mappings call, the function that barriers, replays and ticks call, and, unless it reads a source, the queue
// in front of it.

import type { Code, EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Stage } from '../graph/plan.ts';
import { stageTimeoutSeconds } from './defaults.ts';
import { createExchange } from './exchange.ts';
import { type FunctionSurroundings, JobFunction } from './job-function.ts';
import { createExchangeMapping } from './mappings.ts';
import { allow, allowKey } from './permissions.ts';
import type { StoreProps } from './stores.ts';
import { keyReads, keyWrites, queueReads } from './targets.ts';

export interface StageProps {
  readonly job: string;
  readonly stage: Stage;
  readonly code: Code;
  readonly surroundings: FunctionSurroundings;
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  readonly reservedConcurrency: number | undefined;
  readonly controlConcurrency: number | undefined;
  readonly stores: StoreProps;
}

export class JobStage extends Construct {
  readonly stage: Stage;
  readonly uid: string;
  readonly exchange: Queue | undefined;
  readonly timeoutSeconds: number;
  readonly mappings: EventSourceMapping[] = [];
  fn!: JobFunction;
  control!: JobFunction;

  constructor(scope: Construct, { stage, stores, timeoutSeconds }: Pick<StageProps, 'stage' | 'stores' | 'timeoutSeconds'>) {
    const uid = stage.operators[0]!.uid;
    super(scope, `Stage-${uid}`);
    this.uid = uid;
    this.stage = stage;
    this.exchange = stage.inputs.length === 0 ? undefined : createExchange(this, stores);
    this.timeoutSeconds = this.exchange === undefined ? timeoutSeconds : Math.min(timeoutSeconds, stageTimeoutSeconds);
  }

  /** Behind the queues of all stages, which the functions are told of. */
  createFunctions(p: StageProps): void {
    const environment = { ...p.environment, SLUICE_STAGE: String(this.stage.id) };
    const { code, surroundings, memoryMb } = p;
    const common = { code, surroundings, memoryMb, environment, timeoutSeconds: this.timeoutSeconds };
    const isSource = this.exchange === undefined;
    this.fn = new JobFunction(this, 'Units', {
      ...common,
      description: `Sluice ${p.job}: ${this.uid}`,
      reservedConcurrency: isSource ? p.reservedConcurrency : undefined,
    });
    this.control = new JobFunction(this, 'Control', {
      ...common,
      description: `Sluice ${p.job}: barriers, replays and ticks of ${this.uid}`,
      reservedConcurrency: p.controlConcurrency,
    });
    if (this.exchange !== undefined) this.#readExchange(this.exchange);
  }

  get functions(): readonly JobFunction[] {
    return [this.fn, this.control];
  }

  #readExchange(queue: Queue): void {
    allow(this.fn.role, [{ actions: queueReads, resources: [queue.queueArn] }]);
    allowKey(this.fn.role, queue.encryptionMasterKey, keyReads);
    const mapping = createExchangeMapping(this, { queue, fn: this.fn, parallelism: this.stage.parallelism });
    mapping.node.addDependency(this.fn.role);
    this.mappings.push(mapping);
  }

  /** It may put messages into the queues of the stages behind it. */
  sendTo(queues: readonly Queue[]): void {
    for (const fn of this.functions) allowSending(fn, queues);
  }
}

export function allowSending(fn: JobFunction, queues: readonly Queue[]): void {
  if (queues.length === 0) return;
  allow(fn.role, [{ actions: ['sqs:SendMessage'], resources: queues.map(({ queueArn }) => queueArn) }]);
  for (const { encryptionMasterKey } of queues) allowKey(fn.role, encryptionMasterKey, keyWrites);
}
