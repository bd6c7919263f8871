// A stage of the plan: the function that its mappings call, the function that barriers, replays and ticks call, and, unless it reads a source, the
// exchange in front of it.

import type { Code, EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Stage } from '../graph/plan.ts';
import { stageTimeoutSeconds } from './defaults.ts';
import { createExchange, type ExchangeStyle, receivingAccess, type StageExchange, sendingAccess } from './exchange.ts';
import { type FunctionSurroundings, JobFunction } from './job-function.ts';
import { createExchangeMapping } from './mappings.ts';
import { allowAccess } from './permissions.ts';
import type { StoreProps } from './stores.ts';

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
  readonly exchange: ExchangeStyle;
}

export class JobStage extends Construct {
  readonly stage: Stage;
  readonly uid: string;
  readonly exchange: StageExchange | undefined;
  readonly timeoutSeconds: number;
  readonly mappings: EventSourceMapping[] = [];
  fn!: JobFunction;
  control!: JobFunction;

  constructor(scope: Construct, p: Pick<StageProps, 'stage' | 'stores' | 'timeoutSeconds' | 'exchange'>) {
    const { stage, stores, timeoutSeconds, exchange: style } = p;
    const uid = stage.operators[0]!.uid;
    super(scope, `Stage-${uid}`);
    this.uid = uid;
    this.stage = stage;
    this.exchange = stage.inputs.length === 0 ? undefined : createExchange(this, { ...stores, style, parallelism: stage.parallelism });
    this.timeoutSeconds = this.exchange?.kind === 'sqs' ? Math.min(timeoutSeconds, stageTimeoutSeconds) : timeoutSeconds;
  }

  /** Behind the exchanges of all stages, which the functions are told of. */
  createFunctions(p: Omit<StageProps, 'exchange'>): void {
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

  #readExchange(exchange: StageExchange): void {
    allowAccess(this.fn.role, receivingAccess(exchange));
    const mapping = createExchangeMapping(this, { exchange, fn: this.fn, parallelism: this.stage.parallelism });
    mapping.node.addDependency(this.fn.role);
    this.mappings.push(mapping);
  }

  /** It may put messages into the exchanges of the stages behind it. */
  sendTo(exchanges: readonly StageExchange[]): void {
    for (const fn of this.functions) allowSending(fn, exchanges);
  }
}

export function allowSending(fn: JobFunction, exchanges: readonly StageExchange[]): void {
  for (const exchange of exchanges) allowAccess(fn.role, sendingAccess(exchange));
}
