import type { AggregateFunction, KeyedProcessFunction, OutputTag } from './functions.ts';
import type { StateShape } from './state.ts';
import type { WindowDeclaration } from './window.ts';

// compositions.ts is what the stream algebra needs of the operators: everything on a keyed stream that is not `process` itself is made of
// `process`, declared state and timers. The operators know the API and not the other way round, so they are handed in.

export type KeyedFactory = () => KeyedProcessFunction<unknown, unknown, StateShape, unknown>;

/** A window operator, with the types of its records forgotten. */
export interface WindowSpec {
  readonly assigner: WindowDeclaration;
  readonly latenessMs: number;
  /** `undefined`: late records are dropped and counted. */
  readonly lateTag: OutputTag<unknown> | undefined;
  readonly fold: Fold;
  /** Makes the output of a window; `undefined`: the result itself. */
  readonly output: ((key: unknown, window: unknown, result: readonly [unknown]) => unknown) | undefined;
}

/** How records become one accumulator, which is plain data. */
export interface Fold {
  first(value: unknown): unknown;
  next(value: unknown, accumulator: unknown): unknown;
  result(accumulator: unknown): unknown;
}

export interface Compositions {
  reduce(reduce: (a: unknown, b: unknown) => unknown): KeyedFactory;
  aggregate(aggregate: AggregateFunction<unknown, unknown, unknown>): KeyedFactory;
  sum(field: PropertyKey): KeyedFactory;
  extreme(wanted: 'least' | 'greatest', field: PropertyKey): KeyedFactory;
  extremeBy(wanted: 'least' | 'greatest', field: PropertyKey, first: boolean): KeyedFactory;
  window(spec: WindowSpec): KeyedFactory;
}
