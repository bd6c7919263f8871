// The construct: a job's plan becomes stores, queues, functions, mappings and a coordinator. It compiles the job as the functions will, so that the
// template and the code agree about stages, and refuses at synthesis what would not run or would lose something.
//   D1  Everything but the stores depends on the check of the plan: a deployment that must not happen changes nothing.
//   D2  Ids of constructs follow from uids of operators and never from their order, so that what holds state keeps its name.
//   D3  A function may do what its part of the work takes, on the things of this job and on what is bound to its own sources and sinks.

import { RemovalPolicy, Stack, Tags } from 'aws-cdk-lib';
import { Architecture, type Code, type EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { SluiceError } from '../core/errors.ts';
import type { Plan } from '../graph/plan.ts';
import { JobAlarms, type Watched } from './alarms.ts';
import { checkKind, checkNames, type WantedBinding, wantedBindings } from './bindings.ts';
import { codeOf } from './bundles.ts';
import { createCoordinator } from './coordinator.ts';
import { createDashboard } from './dashboard.ts';
import {
  controlConcurrency,
  pulseTimeoutSeconds,
  queryTimeoutSeconds,
  serviceMemoryMb,
  stageMemoryMb,
  stageTimeoutSeconds,
} from './defaults.ts';
import { type ExchangeStyle, exchangeStyle, placeOf, type StageExchange } from './exchange.ts';
import { type FunctionSurroundings, JobFunction } from './job-function.ts';
import { loadPlan } from './load-plan.ts';
import { createSourceMapping } from './mappings.ts';
import { JobOutputs } from './outputs.ts';
import { allow, allowAccess, allowKey } from './permissions.ts';
import { createPlanCheck, type StreamToCheck } from './plan-check.ts';
import { checkEnvironment, checkShards, checkVariables, shardsOf, textsOf } from './preflight.ts';
import type { BucketLike, SluiceJobProps, TableLike } from './props.ts';
import { allowSending, JobStage } from './stage.ts';
import { createBucket, createTable, type StoreProps } from './stores.ts';
import { bucketAccess, keyWrites, sinkAccess, sourceAccess, spelled, type Target, tableActions, targetOf } from './targets.ts';

/** A name of the job and what stands behind it. */
interface Bound extends WantedBinding {
  readonly target: Target;
}

export class SluiceJob extends Construct {
  /** Compiled at synthesis. */
  readonly jobName: string;
  readonly planHash: string;
  readonly table: TableLike;
  readonly bucket: BucketLike;
  readonly coordinator: StateMachine;
  /** Of the alarms that were made. */
  readonly alarms: JobAlarms | undefined;
  readonly #plan: Plan;
  readonly #props: SluiceJobProps;
  readonly #stages: readonly JobStage[];
  readonly #bound: readonly Bound[];
  readonly #exchange: ExchangeStyle;

  /**
   * @throws SluiceError of whatever is wrong with the job or its bindings: `BIND_UNKNOWN`, `BIND_MISSING`, `BIND_UNFIT`, `DEPLOYMENT_UNSAFE`, and those of
   *   `loadPlan`
   */
  constructor(scope: Construct, id: string, props: SluiceJobProps) {
    super(scope, id);
    this.#props = props;
    this.#plan = loadPlan({ entry: props.entry, params: props.params ?? {}, settings: props.settings ?? {} });
    this.jobName = this.#plan.job;
    this.planHash = this.#plan.hash;
    this.#refuseTwin();
    this.#bound = this.#bind();
    this.#exchange = exchangeStyle(props.exchange);
    this.#checkGiven();

    const stores: StoreProps = { removalPolicy: props.removalPolicy ?? RemovalPolicy.RETAIN, key: props.encryptionKey };
    this.table = props.table ?? createTable(this, stores);
    this.bucket = props.bucket ?? createBucket(this, stores);
    const surroundings = this.#surroundings();
    const timeoutSeconds = props.timeoutSeconds ?? stageTimeoutSeconds;
    const exchange = this.#exchange;
    this.#stages = this.#plan.stages.map((stage) => new JobStage(this, { stage, stores, timeoutSeconds, exchange }));
    const check = createPlanCheck(this, {
      plan: this.#plan,
      table: this.table,
      surroundings,
      streams: this.#streamsToCheck(),
      topics: this.#topicsToCheck(),
      reserved: this.#reservedInAll(),
      exchange: exchange.kind,
      exchangeShards: this.#exchanges().reduce((sum, { exchange: of }) => sum + (of.kind === 'kinesis' ? of.shards : 0), 0),
    });
    const environment = this.#environment();
    this.#createStages({ environment, surroundings, stores, timeoutSeconds });
    const mappings = this.#createSourceMappings();
    const pulse = this.#createPulse(surroundings, environment, mappings);
    const query = this.#createQuery(surroundings, environment);
    this.coordinator = createCoordinator(this, {
      job: this.jobName,
      pulse,
      type: props.coordinator ?? 'express',
      tracing: surroundings.tracing,
      logRetention: surroundings.logRetention,
    });
    this.alarms = this.#watch();
    this.#say({ pulse, query, mappings });
    this.#putBehind(check);
    Tags.of(this).add('sluice:job', this.jobName);
    for (const [name, value] of Object.entries(props.tags ?? {})) Tags.of(this).add(name, value);
  }

  #refuseTwin(): void {
    const twin = Stack.of(this)
      .node.findAll()
      .find((c): c is SluiceJob => c !== this && c instanceof SluiceJob && c.jobName === this.jobName);
    if (twin === undefined) return;
    throw new SluiceError('DEPLOYMENT_UNSAFE', {
      message: `${this.node.path} and ${twin.node.path} are both the job '${this.jobName}'; commands and metrics could not tell them apart`,
      next: 'fix-the-job',
      job: this.jobName,
    });
  }

  #bind(): readonly Bound[] {
    const given = this.#props.bind ?? {};
    const wanted = wantedBindings(this.#plan);
    checkNames(wanted, Object.keys(given));
    const targets = new Map(Object.entries(given).map(([name, target]) => [name, targetOf(name, target)]));
    return wanted.map((w) => {
      const target = targets.get(w.name)!;
      checkKind(w, target);
      return { ...w, target };
    });
  }

  #checkGiven(): void {
    const { sources = {}, environment = {}, secrets = {}, timeoutSeconds } = this.#props;
    const named = this.#sources();
    checkNames(named, [...Object.keys(sources), ...named.map(({ name }) => name)]);
    checkVariables('environment', Object.keys(environment));
    checkVariables('secrets', Object.keys(secrets));
    if (timeoutSeconds !== undefined && !(Number.isInteger(timeoutSeconds) && timeoutSeconds >= 3 && timeoutSeconds <= 900)) {
      throw new SluiceError('DEPLOYMENT_UNSAFE', {
        message: `timeoutSeconds is ${timeoutSeconds}; it is a whole number from 3 to 900`,
        next: 'fix-the-job',
      });
    }
    for (const { name, target } of named) {
      if (target.kind !== 'kinesis') continue;
      checkShards(name, sources[name]?.shards ?? shardsOf(target.stream), this.#props.reservedConcurrency);
    }
  }

  #sources(): readonly Bound[] {
    return this.#bound.filter(({ role }) => role === 'source');
  }

  #surroundings(): FunctionSurroundings {
    const p = this.#props;
    return {
      architecture: p.architecture ?? Architecture.ARM_64,
      key: p.encryptionKey,
      logRetention: p.logRetention ?? RetentionDays.TWO_WEEKS,
      tracing: p.tracing ?? false,
      vpc: p.vpc,
      vpcSubnets: p.vpcSubnets,
      securityGroups: p.securityGroups,
    };
  }

  #streamsToCheck(): readonly StreamToCheck[] {
    return this.#sources().flatMap(({ name, target }) =>
      target.kind === 'kinesis' ? [{ name, arn: target.stream.streamArn, reserved: this.#props.reservedConcurrency }] : [],
    );
  }

  #topicsToCheck(): readonly { readonly name: string; readonly topic: string }[] {
    return this.#sources().flatMap(({ name, target }) => (target.kind === 'kafka' ? [{ name, topic: target.topic.topic }] : []));
  }

  get #controlConcurrency(): number | undefined {
    const given = this.#props.controlConcurrency ?? controlConcurrency;
    return given === false ? undefined : given;
  }

  #reservedInAll(): number {
    const sources = this.#plan.stages.filter(({ inputs }) => inputs.length === 0).length;
    return this.#plan.stages.length * (this.#controlConcurrency ?? 0) + sources * (this.#props.reservedConcurrency ?? 0);
  }

  /** What every function that runs the job is told (docs/decisions/007). */
  #environment(): Readonly<Record<string, string>> {
    const { params = {}, settings = {}, environment = {}, secrets = {} } = this.#props;
    const stack = Stack.of(this);
    const fixed = {
      ...environment,
      SLUICE_JOB: this.jobName,
      SLUICE_PLAN_HASH: this.planHash,
      SLUICE_PARAMS: JSON.stringify(params),
      SLUICE_SET: JSON.stringify(settings),
    };
    const bound = this.#bound.reduce((sum, { target }) => sum + textsOf(target), 0);
    checkEnvironment(fixed, 2 + bound + 2 * this.#stages.length + Object.keys(secrets).length);
    return {
      ...fixed,
      ...Object.fromEntries(Object.entries(secrets).map(([name, secret]) => [name, secret.secretArn])),
      SLUICE_TABLE: this.table.tableName,
      SLUICE_BUCKET: this.bucket.bucketName,
      SLUICE_QUEUES: stack.toJsonString(Object.fromEntries(this.#exchanges().map(({ id, exchange }) => [id, placeOf(exchange)]))),
      SLUICE_BIND: stack.toJsonString(Object.fromEntries(this.#bound.map(({ name, target }) => [name, spelled(target)]))),
    };
  }

  #exchanges(): readonly { readonly id: number; readonly uid: string; readonly exchange: StageExchange }[] {
    return this.#stages.flatMap(({ stage, uid, exchange }) => (exchange === undefined ? [] : [{ id: stage.id, uid, exchange }]));
  }

  /** The bundle of a role with the user's module in it. */
  #code(role: 'stage' | 'pulse' | 'query'): Code {
    return codeOf(role, this.#props.entry, this.#exchange.kind === 'kinesis');
  }

  #createStages(o: {
    readonly environment: Readonly<Record<string, string>>;
    readonly surroundings: FunctionSurroundings;
    readonly stores: StoreProps;
    readonly timeoutSeconds: number;
  }): void {
    const { reservedConcurrency, memoryMb = stageMemoryMb } = this.#props;
    const code = this.#code('stage');
    const exchangeOf = new Map(this.#exchanges().map(({ id, exchange }) => [id, exchange]));
    for (const stage of this.#stages) {
      const control = this.#controlConcurrency;
      stage.createFunctions({
        ...o,
        job: this.jobName,
        stage: stage.stage,
        code,
        memoryMb,
        reservedConcurrency,
        controlConcurrency: control,
      });
      stage.sendTo([...new Set(stage.stage.outlets.map(({ toStage }) => toStage))].map((id) => exchangeOf.get(id)!));
      for (const fn of stage.functions) {
        this.#allowStores(fn);
        const own = this.#bound.filter((b) => b.stage.id === stage.stage.id);
        for (const b of own) this.#allowTarget(fn, b);
      }
    }
  }

  #allowTarget({ role }: JobFunction, b: Bound): void {
    allowAccess(role, b.role === 'source' ? sourceAccess(b.target, b.target.kind) : sinkAccess(b.target));
    if (b.target.kind === 'kafka') b.target.topic.secret?.grantRead(role);
  }

  /** State and objects of the job. The user's secrets go with them, since it runs user code. */
  #allowStores(fn: JobFunction): void {
    allow(fn.role, [{ actions: tableActions, resources: [this.table.tableArn] }]);
    allowKey(fn.role, this.table.encryptionKey, keyWrites);
    allowAccess(fn.role, bucketAccess(this.bucket, '', []));
    for (const secret of Object.values(this.#props.secrets ?? {})) secret.grantRead(fn.role);
  }

  #createSourceMappings(): readonly EventSourceMapping[] {
    for (const { stage, target, name, ...wanted } of this.#sources()) {
      const made = this.#stages[stage.id]!;
      const mapping = createSourceMapping(made, {
        wanted: { stage, name, ...wanted },
        ...{ target, fn: made.fn, job: this.jobName, isInVpc: this.#props.vpc !== undefined },
        props: this.#props.sources?.[name] ?? {},
        timeoutSeconds: made.timeoutSeconds,
      });
      mapping.node.addDependency(made.fn.role); // Lambda looks whether the role may read, when the mapping is made
      made.mappings.push(mapping);
    }
    return this.#stages.flatMap((stage) => stage.mappings);
  }

  #createPulse(
    surroundings: FunctionSurroundings,
    environment: Readonly<Record<string, string>>,
    mappings: readonly EventSourceMapping[],
  ): JobFunction {
    const stack = Stack.of(this);
    const pulse = new JobFunction(this, 'Pulse', {
      surroundings,
      description: `Sluice ${this.jobName}: moves what is pending one step on`,
      code: this.#code('pulse'),
      environment: {
        ...environment,
        SLUICE_CONTROLS: stack.toJsonString(this.#controls()),
        SLUICE_MAPPINGS: stack.toJsonString(mappings.map(({ eventSourceMappingId }) => eventSourceMappingId)),
      },
      memoryMb: serviceMemoryMb,
      timeoutSeconds: pulseTimeoutSeconds,
    });
    this.#allowStores(pulse);
    allow(pulse.role, [{ actions: ['dynamodb:BatchWriteItem'], resources: [this.table.tableArn] }]); // it removes rings that are over
    // It commits what sinks promised, and asks sources for their splits.
    for (const b of this.#bound) this.#allowTarget(pulse, b);
    // The seal of a shard that gives way to others says to the stages behind it who follows, and the pulse is who seals it.
    allowSending(
      pulse,
      this.#exchanges().map(({ exchange }) => exchange),
    );
    allow(pulse.role, [{ actions: ['lambda:InvokeFunction'], resources: this.#stages.map(({ control }) => control.arn) }]);
    allow(pulse.role, [
      {
        actions: ['lambda:GetEventSourceMapping', 'lambda:UpdateEventSourceMapping'],
        resources: mappings.map(({ eventSourceMappingArn }) => eventSourceMappingArn),
      },
    ]);
    return pulse;
  }

  #createQuery(surroundings: FunctionSurroundings, environment: Readonly<Record<string, string>>): JobFunction {
    const query = new JobFunction(this, 'Query', {
      surroundings,
      description: `Sluice ${this.jobName}: answers commands that need the code of the job`,
      code: this.#code('query'),
      environment: { ...environment, SLUICE_CONTROLS: Stack.of(this).toJsonString(this.#controls()) },
      memoryMb: serviceMemoryMb,
      timeoutSeconds: queryTimeoutSeconds,
    });
    this.#allowStores(query);
    for (const { role, target } of this.#bound) if (role === 'sink') allowAccess(query.role, sinkAccess(target));
    allowSending(
      query,
      this.#exchanges().map(({ exchange }) => exchange),
    );
    allow(query.role, [{ actions: ['lambda:InvokeFunction'], resources: this.#stages.map(({ control }) => control.arn) }]);
    return query;
  }

  #controls(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#stages.map(({ stage, control }) => [stage.id, control.name]));
  }

  #watch(): JobAlarms | undefined {
    const sources = this.#sources();
    const watched: Watched = {
      job: this.jobName,
      machine: this.coordinator,
      checkpointIntervalMs: this.#plan.settings.checkpoints?.intervalMs,
      streams: [
        ...sources.flatMap(({ name, target, stage }) => (target.kind === 'kinesis' ? [{ name, fn: this.#stages[stage.id]!.fn }] : [])),
        ...this.#exchanges().flatMap(({ id, uid, exchange: of }) =>
          of.kind === 'kinesis' ? [{ name: `Exchange-${uid}`, fn: this.#stages[id]!.fn }] : [],
        ),
      ],
      topics: sources.flatMap(({ name, target, stage }) => (target.kind === 'kafka' ? [{ name, fn: this.#stages[stage.id]!.fn }] : [])),
      queues: [
        ...sources.flatMap(({ name, target }) => (target.kind === 'sqs' ? [{ name, queue: target.queue }] : [])),
        ...this.#exchanges().flatMap(({ uid, exchange: of }) => (of.kind === 'sqs' ? [{ name: uid, queue: of.queue }] : [])),
      ],
      stages: this.#stages.map(({ stage, uid }) => ({ id: stage.id, uid })),
    };
    if (this.#props.dashboard === true) createDashboard(this, watched);
    return this.#props.alarms === false ? undefined : new JobAlarms(this, 'Alarms', watched, this.#props.alarmActions ?? []);
  }

  #say({
    pulse,
    query,
    mappings,
  }: {
    readonly pulse: JobFunction;
    readonly query: JobFunction;
    readonly mappings: readonly EventSourceMapping[];
  }): void {
    const outputs = new JobOutputs(this);
    outputs.text('Job', this.jobName);
    outputs.text('Table', this.table.tableName);
    outputs.text('Bucket', this.bucket.bucketName);
    outputs.text('PlanHash', this.planHash);
    outputs.text('StateMachine', this.coordinator.stateMachineArn);
    outputs.text('Pulse', pulse.name);
    outputs.text('Query', query.name);
    outputs.map('Controls', Object.entries(this.#controls()));
    outputs.map(
      'Queues',
      this.#exchanges().map(({ id, exchange }) => [String(id), placeOf(exchange)] as const),
    );
    outputs.map(
      'Bind',
      this.#bound.map(({ name, target }) => [name, spelled(target)] as const),
    );
    outputs.list(
      'Mappings',
      mappings.map(({ eventSourceMappingId }) => eventSourceMappingId),
    );
  }

  #putBehind(check: readonly Construct[]): void {
    const first = new Set<unknown>([this.table, this.bucket, ...check]);
    for (const child of this.node.children) {
      if (!first.has(child) && !child.node.id.startsWith('Output')) child.node.addDependency(...check);
    }
  }
}
