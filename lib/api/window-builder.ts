import { type Duration, parseDuration } from '../core/duration.ts';
import { SluiceError } from '../core/errors.ts';
import type { Compositions, Fold, KeyedFactory } from './compositions.ts';
import { checkPlainFunction } from './function-checks.ts';
import { type AggregateFunction, OutputTag } from './functions.ts';
import { checkAggregate } from './state.ts';
import type { DataStream } from './stream.ts';
import type { WindowDeclaration, WindowedStream } from './window.ts';

// window-builder.ts implements `WindowedStream`: it gathers what was said of the windows and hands the operators one specification.

export interface WindowedRequest {
  readonly assigner: WindowDeclaration;
  readonly compositions: Compositions;
  /** Adds the operator to the job. */
  readonly append: <R>(label: string, factory: KeyedFactory) => DataStream<R>;
}

export class WindowedBuilder<T, K, W> implements WindowedStream<T, K, W> {
  readonly #request: WindowedRequest;
  #latenessMs = 0;
  #lateTag: OutputTag<unknown> | undefined;

  constructor(request: WindowedRequest) {
    this.#request = request;
  }

  allowedLateness(lateness: Duration): this {
    this.#latenessMs = parseDuration(lateness, { name: 'allowedLateness' });
    return this;
  }

  sideOutputLateData(tag: OutputTag<T>): this {
    if (!(tag instanceof OutputTag)) {
      throw new SluiceError('FUNCTION_INVALID', { message: 'sideOutputLateData takes an OutputTag', next: 'fix-the-job' });
    }
    this.#lateTag = tag as unknown as OutputTag<unknown>;
    return this;
  }

  reduce<O = T>(reduce: (a: T, b: T) => T, f?: (key: K, window: W, result: readonly [T]) => O): DataStream<O> {
    checkPlainFunction('window.reduce', reduce);
    const combine = reduce as (a: unknown, b: unknown) => unknown;
    const fold: Fold = { first: (value) => value, next: (value, acc) => combine(acc, value), result: (acc) => acc };
    return this.#window('window.reduce', fold, f);
  }

  aggregate<Acc, R, O = R>(aggregate: AggregateFunction<T, Acc, R>, f?: (key: K, window: W, result: readonly [R]) => O): DataStream<O> {
    checkAggregate('window.aggregate', aggregate);
    const a = aggregate as AggregateFunction<unknown, unknown, unknown>;
    const fold: Fold = {
      first: (value) => a.add(value, a.createAccumulator()),
      next: (value, acc) => a.add(value, acc),
      result: (acc) => a.getResult(acc),
    };
    return this.#window('window.aggregate', fold, f);
  }

  #window<R, O>(label: string, fold: Fold, f: ((key: K, window: W, result: readonly [R]) => O) | undefined): DataStream<O> {
    if (f !== undefined) checkPlainFunction(label, f);
    const { assigner, compositions, append } = this.#request;
    const factory = compositions.window({
      assigner,
      latenessMs: this.#latenessMs,
      lateTag: this.#lateTag,
      fold,
      output: f as ((key: unknown, window: unknown, result: readonly [unknown]) => unknown) | undefined,
    });
    return append<O>(label, factory);
  }
}
