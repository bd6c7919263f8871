// `process` on a stream without keys: user code, side outputs and operator state, no keyed state and no timers.

import type { Context, OutputTag, ProcessFunction, RuntimeContext } from '../api/functions.ts';
import type { OperatorRestore } from '../checkpoint/snapshot.ts';
import { noTimestamp, type RecordBatch } from '../core/batch.ts';
import { FunctionLifecycle } from './function-lifecycle.ts';
import {
  type CheckpointMoment,
  Operator,
  type OperatorEnvironment,
  type OperatorSnapshotInProgress,
  refusePromise,
  userError,
} from './operator.ts';

/** The context of every kind of process function; keyed ones add to it. */
export class OperatorContext implements Context {
  readonly subtask: RuntimeContext['subtask'];
  readonly metrics: RuntimeContext['metrics'];
  readonly accumulator: RuntimeContext['accumulator'];
  protected readonly operator: Operator;

  constructor(operator: Operator) {
    const { subtask, metrics, accumulator } = operator.environment;
    this.operator = operator;
    this.subtask = subtask;
    this.metrics = metrics;
    this.accumulator = accumulator as RuntimeContext['accumulator'];
  }

  timestamp(): number | undefined {
    const { timestamp } = this.operator.output;
    return timestamp === noTimestamp ? undefined : timestamp;
  }

  currentWatermark(): number {
    return this.operator.watermark;
  }

  output<X>(tag: OutputTag<X>, value: X): void {
    this.operator.emitSide(tag.id, value, this.operator.output.timestamp);
  }
}

export class ProcessOperator extends Operator {
  readonly #function: Pick<ProcessFunction<unknown, unknown>, 'processElement'>;
  readonly #lifecycle: FunctionLifecycle;
  readonly #context: OperatorContext;

  constructor(environment: OperatorEnvironment, f: ProcessFunction<unknown, unknown>) {
    super(environment);
    this.#function = this.origins === undefined ? f : { processElement: this.origins.watching(f.processElement.bind(f)) };
    this.#lifecycle = new FunctionLifecycle(f, environment);
    this.#context = new OperatorContext(this);
  }

  override open(restore: OperatorRestore | undefined): Promise<void> {
    return this.#lifecycle.open(restore);
  }

  process(batch: RecordBatch): void {
    this.origins?.beginBatch(batch);
    const { values, count, timestamps } = batch;
    const f = this.#function;
    const context = this.#context;
    const { output } = this;
    output.begin(timestamps !== undefined, count);
    let i = 0;
    try {
      for (; i < count; i++) {
        if (timestamps !== undefined) output.timestamp = timestamps[i] as number;
        const result: unknown = f.processElement(values[i], context, output);
        if (result !== undefined) refusePromise(result);
      }
    } catch (error) {
      throw userError(error, this.environment, 'processElement', values[i]);
    }
  }

  override snapshot(moment: CheckpointMoment): OperatorSnapshotInProgress {
    return { lists: this.#lifecycle.snapshot(moment), keyed: undefined };
  }

  override close(): Promise<void> {
    return this.#lifecycle.close();
  }
}
