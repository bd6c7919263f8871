// What a job may be configured with, as users write it, and `JobSettings`, the resolved form that the runtime reads.
//   O1  The job's own call wins over defaults from outside; `parallelism` given to the run wins over both, for the default only.
//   O2  Everything in `JobSettings` has been checked: durations are whole ms, numbers are in range, names are known.

import { type Duration, parseDuration } from '../core/duration.ts';
import { SluiceError } from '../core/errors.ts';
import { maxParallelismDefault, maxParallelismMax } from '../core/limits.ts';
import { checkOneOf, checkOptions, checkWhole } from './option-checks.ts';
import { RestartStrategies, type RestartStrategy } from './restart-strategy.ts';
import { type BackendSettings, DynamoDbStateBackend, FsStateBackend, MemoryStateBackend, type StateBackend } from './state-backend.ts';

export type CheckpointMode = 'EXACTLY_ONCE' | 'AT_LEAST_ONCE' | 'AT_MOST_ONCE';
export type ExternalizedCleanup = 'RETAIN_ON_CANCELLATION' | 'DELETE_ON_CANCELLATION' | 'NO_EXTERNALIZED_CHECKPOINTS';

/** Options of `env.enableCheckpointing`; Flink's names, meanings and defaults. */
export interface CheckpointOptions {
  /** `EXACTLY_ONCE` by default. */
  mode?: CheckpointMode;
  /** A checkpoint that takes longer is aborted; `'10 min'` by default. */
  timeout?: Duration;
  /** Least time between the end of one checkpoint and the start of the next; 0 by default. Above 0, at most one is in flight. */
  minPauseBetweenCheckpoints?: Duration;
  /** Checkpoints in flight at once; 1 by default. */
  maxConcurrentCheckpoints?: number;
  /** Whether the last checkpoint is kept when the job is cancelled or fails; `NO_EXTERNALIZED_CHECKPOINTS` by default. */
  externalizedCleanup?: ExternalizedCleanup;
  /** Failed checkpoints in a row that the job survives; 0 by default. */
  tolerableFailures?: number;
  /** Recover from the newest checkpoint even where a newer savepoint exists; false by default. */
  preferCheckpointForRecovery?: boolean;
  /** Completed checkpoints that are kept; 1 by default. */
  numRetained?: number;
}

export interface CheckpointSettings {
  readonly intervalMs: number;
  readonly mode: CheckpointMode;
  readonly timeoutMs: number;
  readonly minPauseMs: number;
  readonly maxConcurrent: number;
  readonly externalizedCleanup: ExternalizedCleanup;
  readonly tolerableFailures: number;
  readonly preferCheckpointForRecovery: boolean;
  readonly numRetained: number;
}

export interface JobSettings {
  /** Of operators that name none of their own. */
  readonly parallelism: number;
  readonly maxParallelism: number;
  readonly backend: BackendSettings;
  /** Where checkpoints go, a `file:` URI or a path; `undefined`: where the runtime keeps them. */
  readonly checkpointsDirectory: string | undefined;
  /** `undefined`: checkpointing is off. */
  readonly checkpoints: CheckpointSettings | undefined;
  readonly restart: RestartStrategy;
}

/** Settings from outside the job, already merged and read; durations in ms. The command line's `GlobalSettings` has this shape. */
export interface JobDefaults {
  readonly parallelism?: number | undefined;
  readonly maxParallelism?: number | undefined;
  readonly backend?: 'jobmanager' | 'filesystem' | 'dynamodb' | undefined;
  /** Of the backend `dynamodb`. */
  readonly stateTable?: string | undefined;
  readonly checkpointsDirectory?: string | undefined;
  /** Turns checkpointing on for jobs that do not say. */
  readonly checkpointIntervalMs?: number | undefined;
  readonly checkpointMode?: CheckpointMode | undefined;
  readonly checkpointTimeoutMs?: number | undefined;
  readonly minPauseBetweenCheckpointsMs?: number | undefined;
  readonly maxConcurrentCheckpoints?: number | undefined;
  readonly tolerableFailures?: number | undefined;
  readonly externalizedCleanup?: ExternalizedCleanup | undefined;
  readonly numRetained?: number | undefined;
  readonly restartStrategy?: RestartStrategy | undefined;
  /** `--parallelism` of the run: wins over `env.setParallelism`, not over that of single operators. */
  readonly forcedParallelism?: number | undefined;
  /** Paths in the place of services, by the name in the job. Absent where a job runs where its services are. */
  readonly bind?: Readonly<Record<string, string>> | undefined;
}

/** What the calls on `env` have asked for so far. */
export interface RequestedSettings {
  parallelism?: number;
  maxParallelism?: number;
  backend?: StateBackend;
  checkpoints?: { readonly interval: Duration; readonly options: CheckpointOptions };
  restart?: RestartStrategy;
}

const checkpointOptionNames: readonly (keyof CheckpointOptions)[] = [
  'mode',
  'timeout',
  'minPauseBetweenCheckpoints',
  'maxConcurrentCheckpoints',
  'externalizedCleanup',
  'tolerableFailures',
  'preferCheckpointForRecovery',
  'numRetained',
];

const who = 'enableCheckpointing';

/**
 * Checks and resolves the options of `enableCheckpointing`; what they leave open comes from outside, else from Flink's defaults.
 * @throws SluiceError `OPTION_UNKNOWN`, `OPTION_INVALID`, `DURATION_INVALID`
 */
export function resolveCheckpointing(interval: Duration, o: CheckpointOptions = {}, outside: JobDefaults = {}): CheckpointSettings {
  checkOptions(who, o, checkpointOptionNames);
  const minPause = o.minPauseBetweenCheckpoints ?? outside.minPauseBetweenCheckpointsMs ?? 0;
  const minPauseMs = parseDuration(minPause, { name: `${who} minPauseBetweenCheckpoints` });
  const concurrent = o.maxConcurrentCheckpoints ?? outside.maxConcurrentCheckpoints ?? 1;
  const maxConcurrent = checkWhole(who, 'maxConcurrentCheckpoints', concurrent, 1);
  const mode = o.mode ?? outside.checkpointMode ?? 'EXACTLY_ONCE';
  const cleanup = o.externalizedCleanup ?? outside.externalizedCleanup ?? 'NO_EXTERNALIZED_CHECKPOINTS';
  const prefer = o.preferCheckpointForRecovery ?? false;
  if (typeof prefer !== 'boolean') {
    throw new SluiceError('OPTION_INVALID', { message: `${who}: preferCheckpointForRecovery is true or false`, next: 'fix-the-job' });
  }
  return {
    intervalMs: positive(interval, 'interval'),
    mode: checkOneOf(who, 'mode', mode, ['EXACTLY_ONCE', 'AT_LEAST_ONCE', 'AT_MOST_ONCE']),
    timeoutMs: positive(o.timeout ?? outside.checkpointTimeoutMs ?? '10 min', 'timeout'),
    minPauseMs,
    maxConcurrent: minPauseMs > 0 ? 1 : maxConcurrent,
    externalizedCleanup: checkOneOf(who, 'externalizedCleanup', cleanup, [
      'RETAIN_ON_CANCELLATION',
      'DELETE_ON_CANCELLATION',
      'NO_EXTERNALIZED_CHECKPOINTS',
    ]),
    tolerableFailures: checkWhole(who, 'tolerableFailures', o.tolerableFailures ?? outside.tolerableFailures ?? 0, 0),
    preferCheckpointForRecovery: prefer,
    numRetained: checkWhole(who, 'numRetained', o.numRetained ?? outside.numRetained ?? 1, 1),
  };
}

function positive(d: Duration, name: string): number {
  const ms = parseDuration(d, { name: `${who} ${name}` });
  if (ms === 0) throw new SluiceError('OPTION_INVALID', { message: `${who}: ${name} is longer than 0`, next: 'fix-the-job', option: name });
  return ms;
}

/**
 * Merges what the job asked for with the defaults from outside (O1).
 * @throws SluiceError `OPTION_INVALID` when a number is out of range
 */
export function resolveSettings(asked: RequestedSettings, outside: JobDefaults = {}): JobSettings {
  const checkpoints = checkpointsOf(asked, outside);
  const restart = asked.restart ?? outside.restartStrategy ?? (checkpoints === undefined ? RestartStrategies.none() : restartDefault);
  return {
    parallelism: checkParallelism('parallelism', outside.forcedParallelism ?? asked.parallelism ?? outside.parallelism ?? 1),
    maxParallelism: checkMaxParallelism('maximum parallelism', asked.maxParallelism ?? outside.maxParallelism ?? maxParallelismDefault),
    backend: backendOf(asked, outside),
    checkpointsDirectory: asked.backend instanceof FsStateBackend ? asked.backend.uri : outside.checkpointsDirectory,
    checkpoints,
    restart,
  };
}

function backendOf(asked: RequestedSettings, outside: JobDefaults): BackendSettings {
  const backend =
    asked.backend ?? (outside.backend === undefined || outside.backend === 'jobmanager' ? new MemoryStateBackend() : undefined);
  if (backend instanceof DynamoDbStateBackend) return { kind: 'dynamodb', table: backend.table };
  if (backend instanceof MemoryStateBackend)
    return { kind: 'memory', stateBytesMax: backend.maxStateSize, asynchronous: backend.asynchronous, ...defaultMark(asked, outside) };
  if (backend === undefined && outside.backend === 'dynamodb') return { kind: 'dynamodb', table: outside.stateTable };
  return { kind: 'filesystem' };
}

function defaultMark(asked: RequestedSettings, outside: JobDefaults): { readonly isDefault?: true } {
  return asked.backend === undefined && outside.backend === undefined ? { isDefault: true } : {};
}

const restartDefault: RestartStrategy = RestartStrategies.fixedDelay({ attempts: 3, delay: '1 s' });

function checkpointsOf(asked: RequestedSettings, outside: JobDefaults): CheckpointSettings | undefined {
  if (asked.checkpoints !== undefined) return resolveCheckpointing(asked.checkpoints.interval, asked.checkpoints.options, outside);
  return outside.checkpointIntervalMs === undefined ? undefined : resolveCheckpointing(outside.checkpointIntervalMs, {}, outside);
}

/** @throws SluiceError `OPTION_INVALID` */
export function checkParallelism(name: string, n: number): number {
  return checkWhole(name, 'the number of subtasks', n, 1, maxParallelismMax);
}

/** @throws SluiceError `OPTION_INVALID` */
export function checkMaxParallelism(name: string, n: number): number {
  return checkWhole(name, 'the number of key groups', n, 1, maxParallelismMax);
}
