// Tumbling windows of event time, made of declared state and timers: a map from window start to accumulator for each key, and one timer at the
// last instant of a window, one when its lateness is over.
//   W1  A record is late when the watermark has reached the last instant of its window plus the allowed lateness. It changes no window.
//   W2  A window gives its result when the watermark reaches its last instant, and again for each later record that is not late.
//   W3  Its accumulator is removed when the allowed lateness is over, in the same step in which records for it become late.
//   W4  Each record is in exactly one window, or late: on the side output if there is one, else counted as `numLateRecordsDropped`.

import type { Fold, KeyedFactory, WindowSpec } from '../api/compositions.ts';
import type { Collector, Counter, KeyedContext, KeyedProcessFunction, OnTimerContext, RuntimeContext } from '../api/functions.ts';
import { type MapState, mapState, type StateDescriptor, type StateShape } from '../api/state.ts';
import type { TimeWindow } from '../api/window.ts';
import { finalWatermark } from '../core/batch.ts';
import { SluiceError } from '../core/errors.ts';

/** Flink's name of the counter of late records that no side output took. */
export const lateRecordsCounter = 'numLateRecordsDropped';

/** Accumulators by window start. */
type WindowStates = { readonly windows: StateDescriptor<MapState<number, unknown>> };

/** `keyed.window(tumbling).reduce` and `.aggregate`. */
export function tumblingWindows(spec: WindowSpec): KeyedFactory {
  return () => new TumblingWindows(spec) as KeyedProcessFunction<unknown, unknown, StateShape, unknown>;
}

/** Start of the window of a time. Exact for all safe integers, before the epoch too. */
export function windowStart(timestamp: number, sizeMs: number, offsetMs: number): number {
  const past = (timestamp - offsetMs) % sizeMs;
  return timestamp - (past < 0 ? past + sizeMs : past);
}

class TumblingWindows implements KeyedProcessFunction<unknown, unknown, WindowStates, unknown> {
  readonly state: WindowStates = { windows: mapState<number, unknown>() };
  readonly #spec: WindowSpec;
  readonly #fold: Fold;
  readonly #sizeMs: number;
  #late: Counter | undefined;

  constructor(spec: WindowSpec) {
    this.#spec = spec;
    this.#fold = spec.fold;
    this.#sizeMs = spec.assigner.sizeMs;
  }

  open(ctx: RuntimeContext): void {
    this.#late = ctx.metrics.counter(lateRecordsCounter);
  }

  processElement(value: unknown, ctx: KeyedContext<WindowStates, unknown>, out: Collector<unknown>): void {
    const timestamp = ctx.timestamp();
    if (timestamp === undefined) throw withoutTimestamp();
    const start = windowStart(timestamp, this.#sizeMs, this.#spec.assigner.offsetMs);
    const last = start + this.#sizeMs - 1;
    const watermark = ctx.timerService.currentWatermark();
    const over = this.#overAt(last);
    if (over <= watermark) {
      this.#drop(value, ctx);
      return;
    }

    const { windows } = ctx.state;
    const before = windows.get(start);
    const isNew = before === undefined && !windows.has(start); // an accumulator may be undefined
    const accumulator = isNew ? this.#fold.first(value) : this.#fold.next(value, before);
    windows.put(start, accumulator);
    if (isNew) {
      if (last > watermark) ctx.timerService.registerEventTimeTimer(last);
      if (over !== last) ctx.timerService.registerEventTimeTimer(over);
    }
    if (last <= watermark) this.#emit(start, accumulator, ctx, out);
  }

  onTimer(at: number, ctx: OnTimerContext<WindowStates, unknown>, out: Collector<unknown>): void {
    const { windows } = ctx.state;
    const ending = at + 1 - this.#sizeMs;
    if (windows.has(ending)) this.#emit(ending, windows.get(ending), ctx, out);
    if (at === finalWatermark) windows.clear();
    else windows.remove(ending - this.#spec.latenessMs);
  }

  /** The watermark at which a window with this last instant takes no more records. */
  #overAt(last: number): number {
    return Math.min(last + this.#spec.latenessMs, finalWatermark);
  }

  #emit(start: number, accumulator: unknown, ctx: KeyedContext<WindowStates, unknown>, out: Collector<unknown>): void {
    const result = this.#fold.result(accumulator);
    const { output } = this.#spec;
    const window: TimeWindow = { start, end: start + this.#sizeMs };
    out.collect(output === undefined ? result : output(ctx.getCurrentKey(), window, [result]));
  }

  #drop(value: unknown, ctx: KeyedContext<WindowStates, unknown>): void {
    if (this.#spec.lateTag === undefined) this.#late?.inc();
    else ctx.output(this.#spec.lateTag, value);
  }
}

function withoutTimestamp(): SluiceError {
  return new SluiceError('RECORD_WITHOUT_TIMESTAMP', {
    message: 'a window of event time got a record without a timestamp; give the source watermarks, or call assignTimestampsAndWatermarks',
    next: 'fix-the-job',
  });
}
