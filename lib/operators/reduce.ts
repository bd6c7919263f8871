import type { KeyedFactory } from '../api/compositions.ts';
import type { AggregateFunction, Collector, KeyedContext } from '../api/functions.ts';
import { aggregatingState, type StateDescriptor, type ValueState, valueState } from '../api/state.ts';

// reduce.ts owns the rolling results of a keyed stream: after each record, what the key's records give so far. Each is a keyed process
// function over one declared state; the names of the states are part of every checkpoint.

type Latest = { readonly last: StateDescriptor<ValueState<unknown>> };

type Rolling = (before: unknown, value: unknown) => unknown;

/** Emits `next(what was there, record)` after each record; the first record of a key is its own result. */
function rolling(next: Rolling): KeyedFactory {
  const state: Latest = { last: valueState<unknown>() };
  return () => ({
    state,
    processElement(value: unknown, ctx: KeyedContext<Latest, unknown>, out: Collector<unknown>): void {
      const before = ctx.state.last.value();
      const result = before === undefined ? value : next(before, value);
      ctx.state.last.update(result);
      out.collect(result);
    },
  });
}

/** `keyed.reduce(f)`. */
export function rollingReduce(reduce: (a: unknown, b: unknown) => unknown): KeyedFactory {
  return rolling(reduce);
}

/** `keyed.aggregate(f)`. */
export function rollingAggregate(aggregate: AggregateFunction<unknown, unknown, unknown>): KeyedFactory {
  const state = { accumulator: aggregatingState(aggregate) };
  return () => ({
    state,
    processElement(value: unknown, ctx: KeyedContext<typeof state, unknown>, out: Collector<unknown>): void {
      ctx.state.accumulator.add(value);
      out.collect(ctx.state.accumulator.get());
    },
  });
}
