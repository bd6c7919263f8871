import type { Duration } from '../core/duration.ts';
import type { CheckpointOptions } from './options.ts';
import type { RestartStrategy } from './restart-strategy.ts';
import type { Source } from './source.ts';
import type { StateBackend } from './state-backend.ts';
import type { DataStream } from './stream.ts';
import type { WatermarkStrategy } from './watermark.ts';

// environment.ts declares what `build` is handed. environment-builder.ts implements it.

/** Options of every source. */
export interface SourceOptions<T> {
  /** How the source's positions are found again after the job has changed. */
  uid: string;
  /** Where event time comes from; without it the stream has none. */
  watermarks?: WatermarkStrategy<T>;
  /**
   * The key by which the input is partitioned already: all records of a key lie in one split. `keyBy` with the same selector, right behind the
   * source or behind `filter`, then needs no exchange where each split is a subtask (the invocation runtime); elsewhere it changes nothing.
   */
  partitionedBy?: (value: T) => unknown;
}

export interface GenerateOptions<T> extends SourceOptions<T> {
  /** Number of records; without it the source never ends. */
  count?: number;
}

/** The job under construction. */
export interface Env {
  /** Number of subtasks of operators that name none; 1 by default. @throws SluiceError `OPTION_INVALID` */
  setParallelism(n: number): void;
  /** Number of key groups, 1 to 32,768; 128 by default. Fixed by the first checkpoint. @throws SluiceError `OPTION_INVALID` */
  setMaxParallelism(n: number): void;
  /** Wins over `state.backend`. @throws SluiceError `OPTION_INVALID` for what is no backend */
  setStateBackend(backend: StateBackend): void;
  /** Checkpoints are off until this is called. @throws SluiceError `OPTION_UNKNOWN`, `OPTION_INVALID`, `DURATION_INVALID` */
  enableCheckpointing(interval: Duration, o?: CheckpointOptions): void;
  /** Without it: no restart without checkpoints, else 3 restarts after 1 s each. @throws SluiceError `OPTION_INVALID` */
  setRestartStrategy(strategy: RestartStrategy): void;
  /** @throws SluiceError `OPTION_UNKNOWN`, `OPTION_INVALID`, `NAME_INVALID` */
  fromSource<T>(source: Source<T>, o: SourceOptions<NoInfer<T>>): DataStream<T>;
  /** The values in order, copied when the job is built. @throws SluiceError as `fromSource` */
  fromCollection<T>(values: Iterable<T>, o: SourceOptions<NoInfer<T>>): DataStream<T>;
  /** The whole numbers from `from` to `to`, both included. @throws SluiceError as `fromSource` */
  fromSequence(from: number, to: number, o: SourceOptions<number>): DataStream<number>;
  /** `f(0)`, `f(1)` …; `f` gives the same value for the same index whenever it is asked. @throws SluiceError as `fromSource` */
  generate<T>(f: (index: number) => T, o: GenerateOptions<NoInfer<T>>): DataStream<T>;
}
