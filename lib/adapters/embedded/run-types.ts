// What the command line and the simulator say to the embedded runtime, and what it tells them while it runs.

import type { Job } from '../../api/job.ts';
import type { RestartStrategy } from '../../api/restart-strategy.ts';
import type { Targets } from '../../api/targets.ts';
import type { KeyedStore, KeyedStoreRequest } from '../../checkpoint/keyed-store.ts';
import type { ByteStreams, Clock, FileSystem, Random, Scheduler } from '../../core/ports.ts';

export interface EmbeddedPorts {
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly streams?: ByteStreams;
  /** Opens the table of a `DynamoDbStateBackend`; absent where there is none. */
  readonly openKeyedStore?: (request: KeyedStoreRequest) => Promise<KeyedStore>;
  /** What names of the job are bound to, but files. */
  readonly targets?: Targets;
}

/** Settings from outside the job, already merged (`--set` over `SLUICE_` variables over `sluice.yaml`); the job's own calls win over them. */
export interface GlobalSettings {
  /** `state.backend` */
  readonly backend?: 'jobmanager' | 'filesystem' | 'dynamodb';
  /** `state.backend.dynamodb.table` */
  readonly stateTable?: string;
  /** `state.checkpoints.dir`, a `file:` URI or a path; `.sluice/<job>` of the working directory when absent. */
  readonly checkpointsDirectory?: string;
  /** `execution.checkpointing.interval`, ms */
  readonly checkpointIntervalMs?: number;
  /** `execution.checkpointing.mode` */
  readonly checkpointMode?: 'EXACTLY_ONCE' | 'AT_LEAST_ONCE' | 'AT_MOST_ONCE';
  /** `execution.checkpointing.timeout`, ms */
  readonly checkpointTimeoutMs?: number;
  /** `execution.checkpointing.min-pause`, ms */
  readonly minPauseBetweenCheckpointsMs?: number;
  /** `execution.checkpointing.max-concurrent-checkpoints` */
  readonly maxConcurrentCheckpoints?: number;
  /** `execution.checkpointing.tolerable-failed-checkpoints` */
  readonly tolerableFailures?: number;
  /** `execution.checkpointing.externalized-checkpoint-retention` */
  readonly externalizedCleanup?: 'RETAIN_ON_CANCELLATION' | 'DELETE_ON_CANCELLATION' | 'NO_EXTERNALIZED_CHECKPOINTS';
  /** `state.checkpoints.num-retained` */
  readonly numRetained?: number;
  /** `parallelism.default` */
  readonly parallelism?: number;
  /** `restart-strategy.*` */
  readonly restartStrategy?: RestartStrategy;
  /** `invocations.redelivery-time`, ms; `--runtime invocations` only, as the next */
  readonly redeliveryMs?: number;
  /** `invocations.event-records` */
  readonly eventRecordsMax?: number;
  /** `pipeline.max-parallelism` */
  readonly maxParallelism?: number;
  /** `--bind`: paths in the place of services, or the services of sinks, by the name in the job. */
  readonly bind?: Readonly<Record<string, string>>;
}

export interface RunRequest {
  readonly job: Job;
  /** Values behind `params`, by name. */
  readonly params: ReadonlyMap<string, string>;
  readonly global: GlobalSettings;
  /** `--parallelism`: replaces the default parallelism of the job, not that of single operators. */
  readonly parallelism?: number;
  /** `latest`, or the path of a checkpoint directory. Nothing: start from the beginning. */
  readonly from?: string;
  readonly takeOver?: boolean;
  readonly allowNonRestoredState?: boolean;
  /** Where `print` writes. */
  readonly print: (line: string) => void;
  readonly report: (event: RunEvent) => void;
  /** Aborted by SIGINT or SIGTERM: the job is cancelled. */
  readonly cancel?: AbortSignal;
  /** Absolute; relative checkpoint directories and `.sluice/` lie below it. */
  readonly workingDirectory: string;
  /** Shown to whoever is refused because this run owns the directory, such as the process id. */
  readonly owner: string;
}

export type RunEvent =
  | {
      readonly kind: 'started';
      readonly job: string;
      readonly generation: number;
      readonly restored: number | undefined;
      readonly directory: string;
    }
  | { readonly kind: 'notice'; readonly message: string }
  | { readonly kind: 'checkpoint-completed'; readonly checkpoint: number; readonly durationMs: number; readonly bytes: number }
  | { readonly kind: 'checkpoint-failed'; readonly checkpoint: number; readonly reason: string }
  | { readonly kind: 'restarting'; readonly attempt: number; readonly delayMs: number; readonly error: unknown }
  | { readonly kind: 'progress'; readonly progress: Progress };

export interface Progress {
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly recordsPerSecond: number;
  /** Watermark lag in ms behind the newest event time seen, when the job has event time. */
  readonly watermarkLagMs: number | undefined;
  readonly lastCheckpoint: number | undefined;
}

export interface RunResult {
  readonly state: 'finished' | 'cancelled' | 'already-finished';
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly seconds: number;
  readonly lastCheckpoint: number | undefined;
  /** Results of the accumulators, by name. */
  readonly accumulators: Readonly<Record<string, unknown>>;
  /** Malformed records left out, late records dropped, records lost under `AT_MOST_ONCE`. */
  readonly counters: Readonly<Record<string, number>>;
  /** Records that are parked now; absent where nothing is ever parked, or when it cannot be read. */
  readonly deadLetters?: number | undefined;
  /** Workers that were lost on the way, with what they had counted: `recordsOut` and `counters` are not exact when there were any. */
  readonly workersReplaced?: number | undefined;
}

// `runJob(ports: EmbeddedPorts, request: RunRequest): Promise<RunResult>` in run.ts rejects with a SluiceError when the job failed for good.
