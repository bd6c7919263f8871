import { type Duration, formatDuration, parseDuration } from '../core/duration.ts';
import { SluiceError } from '../core/errors.ts';
import type { AggregateFunction, OutputTag } from './functions.ts';
import type { DataStream } from './stream.ts';

// window.ts declares windows as users write them. What a window does with its records is operators/windows.ts.

/** A stretch of event time: from `start` up to, but without, `end`; ms since the epoch. */
export interface TimeWindow {
  readonly start: number;
  readonly end: number;
}

declare const window: unique symbol;
/** Says to which windows a record belongs; `W` is the window as functions see it. */
export type WindowAssigner<W> = WindowDeclaration & { readonly [window]: W };

/** What the operators read of an assigner. */
export interface WindowDeclaration {
  readonly kind: 'tumbling-event-time';
  readonly sizeMs: number;
  /** Windows begin at whole multiples of the size, moved by this; ms. */
  readonly offsetMs: number;
}

/** Windows of event time that have one size, touch and do not overlap. */
export const TumblingEventTimeWindows: {
  /**
   * @param size    longer than 0
   * @param offset  moves the beginnings from the epoch, shorter than the size; 0 by default. Days in a time zone 8 hours ahead: `of('1 d', '16 h')`
   * @throws SluiceError `DURATION_INVALID`, `OPTION_INVALID`
   */
  of(size: Duration, offset?: Duration): WindowAssigner<TimeWindow>;
} = {
  of(size, offset = 0) {
    const sizeMs = parseDuration(size, { name: 'TumblingEventTimeWindows size' });
    const offsetMs = parseDuration(offset, { name: 'TumblingEventTimeWindows offset', allowNegative: true });
    if (sizeMs === 0) throw invalid('size is longer than 0');
    if (Math.abs(offsetMs) >= sizeMs)
      throw invalid(`offset ${formatDuration(Math.abs(offsetMs))} is shorter than the size ${formatDuration(sizeMs)}`);
    const declaration: WindowDeclaration = { kind: 'tumbling-event-time', sizeMs, offsetMs };
    return Object.freeze(declaration) as WindowAssigner<TimeWindow>;
  },
};

function invalid(rule: string): SluiceError {
  return new SluiceError('OPTION_INVALID', { message: `TumblingEventTimeWindows: ${rule}`, next: 'fix-the-job' });
}

/** True for what an assigner's maker gave. */
export function isWindowAssigner(a: unknown): a is WindowAssigner<TimeWindow> {
  return typeof a === 'object' && a !== null && (a as Partial<WindowDeclaration>).kind === 'tumbling-event-time';
}

/**
 * A keyed stream cut into windows. A window gives its result when the watermark passes its end, and again for each record that arrives
 * within the allowed lateness after that.
 */
export interface WindowedStream<T, K, W> {
  /** How long after its end a window still takes records; 0 by default. @throws SluiceError `DURATION_INVALID` */
  allowedLateness(lateness: Duration): this;
  /** Where records go that are too late; without it they are dropped and counted as `numLateRecordsDropped`. */
  sideOutputLateData(tag: OutputTag<T>): this;
  /** Reduces the records of a window to one. @param reduce  changes neither argument */
  reduce(reduce: (a: T, b: T) => T): DataStream<T>;
  reduce<O>(reduce: (a: T, b: T) => T, f: (key: K, window: W, result: readonly [T]) => O): DataStream<O>;
  /** Aggregates the records of a window; `f` makes the output from key, window and result. */
  aggregate<Acc, R>(aggregate: AggregateFunction<T, Acc, R>): DataStream<R>;
  aggregate<Acc, R, O>(aggregate: AggregateFunction<T, Acc, R>, f: (key: K, window: W, result: readonly [R]) => O): DataStream<O>;
}
