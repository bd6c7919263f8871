import type { Duration } from '../core/duration.ts';
import { SluiceError } from '../core/errors.ts';
import { nameOfKind } from '../core/kinds.ts';
import type { Env, GenerateOptions, SourceOptions } from './environment.ts';
import { checkPlainFunction } from './function-checks.ts';
import type { GraphBuilder } from './graph-builder.ts';
import { indexedSource } from './indexed-source.ts';
import { checkName } from './names.ts';
import { checkOneOf, checkOptions, checkWhole } from './option-checks.ts';
import { type CheckpointOptions, checkMaxParallelism, checkParallelism, type RequestedSettings, resolveCheckpointing } from './options.ts';
import type { RestartStrategy } from './restart-strategy.ts';
import type { Source } from './source.ts';
import { DynamoDbStateBackend, FsStateBackend, MemoryStateBackend, type StateBackend } from './state-backend.ts';
import type { DataStream } from './stream.ts';
import { checkStrategy, operatorStream } from './stream-builder.ts';
import type { WatermarkStrategy } from './watermark.ts';

// environment-builder.ts implements `Env`: settings are checked when they are given, sources become the first nodes.

export class EnvironmentBuilder implements Env {
  readonly settings: RequestedSettings = {};
  readonly #graph: GraphBuilder;

  constructor(graph: GraphBuilder) {
    this.#graph = graph;
  }

  setParallelism(n: number): void {
    this.#graph.checkOpen();
    this.settings.parallelism = checkParallelism('env.setParallelism', n);
  }

  setMaxParallelism(n: number): void {
    this.#graph.checkOpen();
    this.settings.maxParallelism = checkMaxParallelism('env.setMaxParallelism', n);
  }

  setStateBackend(backend: StateBackend): void {
    this.#graph.checkOpen();
    if (![MemoryStateBackend, FsStateBackend, DynamoDbStateBackend].some((known) => backend instanceof known)) {
      throw invalid(
        'env.setStateBackend',
        `takes a MemoryStateBackend, an FsStateBackend or a DynamoDbStateBackend, not ${nameOfKind(backend)}`,
      );
    }
    this.settings.backend = backend;
  }

  enableCheckpointing(interval: Duration, o: CheckpointOptions = {}): void {
    this.#graph.checkOpen();
    resolveCheckpointing(interval, o);
    this.settings.checkpoints = { interval, options: { ...o } };
  }

  setRestartStrategy(strategy: RestartStrategy): void {
    this.#graph.checkOpen();
    checkOneOf('env.setRestartStrategy', 'what RestartStrategies makes', strategy?.kind, [
      'none',
      'fixedDelay',
      'failureRate',
      'exponentialDelay',
    ]);
    this.settings.restart = strategy;
  }

  fromSource<T>(source: Source<T>, o: SourceOptions<NoInfer<T>>): DataStream<T> {
    if (typeof source?.enumerate !== 'function' || typeof source.open !== 'function') {
      throw invalid('env.fromSource', `takes a source, such as files({ … }), not ${nameOfKind(source)}`);
    }
    return this.#source('env.fromSource', `fromSource(${source.kind})`, source, o);
  }

  fromCollection<T>(values: Iterable<T>, o: SourceOptions<NoInfer<T>>): DataStream<T> {
    if (typeof values?.[Symbol.iterator] !== 'function')
      throw invalid('env.fromCollection', `takes an iterable, not ${nameOfKind(values)}`);
    const kept = [...values];
    const source = indexedSource('collection', kept.length, (index) => kept[index] as T);
    return this.#source('env.fromCollection', 'fromCollection', source, o);
  }

  fromSequence(from: number, to: number, o: SourceOptions<number>): DataStream<number> {
    checkWhole('env.fromSequence', 'from', from, Number.MIN_SAFE_INTEGER);
    checkWhole('env.fromSequence', 'to', to, from);
    const source = indexedSource('sequence', to - from + 1, (index) => from + index);
    return this.#source('env.fromSequence', 'fromSequence', source, o);
  }

  generate<T>(f: (index: number) => T, o: GenerateOptions<NoInfer<T>>): DataStream<T> {
    checkPlainFunction('env.generate', f);
    const { count, ...rest } = o ?? {};
    if (count !== undefined) checkWhole('env.generate', 'count', count, 0);
    return this.#source('env.generate', 'generate', indexedSource('generator', count, f), rest as SourceOptions<T>);
  }

  #source<T>(call: string, label: string, source: Source<T>, o: SourceOptions<T>): DataStream<T> {
    checkOptions(call, o ?? {}, ['uid', 'watermarks', 'partitionedBy']);
    if (o?.watermarks !== undefined) checkStrategy(`${call} watermarks`, o.watermarks);
    const { partitionedBy } = o ?? {};
    if (partitionedBy !== undefined) checkPlainFunction(`${call} partitionedBy`, partitionedBy);
    const node = this.#graph.add(
      {
        kind: 'source',
        source: source as Source<unknown>,
        watermarks: o?.watermarks as WatermarkStrategy<unknown> | undefined,
        partitionedBy: partitionedBy as ((value: unknown) => unknown) | undefined,
      },
      [],
      label,
      true,
    );
    if (o?.uid !== undefined) node.uid = checkName(`the uid of ${label}`, o.uid);
    return operatorStream<T>(this.#graph, node);
  }
}

function invalid(owner: string, rule: string): SluiceError {
  return new SluiceError('OPTION_INVALID', { message: `${owner} ${rule}`, next: 'fix-the-job' });
}
