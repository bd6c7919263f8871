// The operator host: one subtask of a stage. A batch, a watermark, a barrier or a tick goes in; effects come out. It knows no runtime, no
// channel and no clock but the one it was given, and nothing in it awaits between `open` and `close`.
//   H1  Operators run one after the other over a whole batch, in the order of the stage; each output goes to its targets before the next batch.
//   H2  A watermark passes an operator only after the timers that it makes due have fired, `timersPerStep` at a time.
//   H3  A snapshot is the state between two calls: every earlier batch is in it, no later one.

import type { OperatorRestore, SubtaskRestore } from '../checkpoint/snapshot.ts';
import { batchRecordsMax, type RecordBatch } from '../core/batch.ts';
import { SluiceError } from '../core/errors.ts';
import type { Random } from '../core/ports.ts';
import type { PlannedOperator, Stage, Target } from '../graph/plan.ts';
import { createOperator } from '../operators/create.ts';
import type { CheckpointMoment, Operator, OperatorEnvironment, TimerWatch } from '../operators/operator.ts';
import { SinkOperator } from '../operators/sink-operator.ts';
import { BatchOperator } from '../operators/stateless.ts';
import type { KeyedStateFactory } from '../state/backend.ts';
import type { TimeDomain, Timer } from '../state/timers.ts';
import { Accumulators } from './accumulators.ts';
import { Effects } from './effects.ts';
import { HostSnapshot, type OperatorPart } from './host-snapshot.ts';
import type { SubtaskMetrics } from './metrics.ts';
import { createRoute, keysOf, type Route, reachableTargets } from './routing.ts';

/** Timers fired before their output is passed on. */
const timersPerStep = batchRecordsMax;

export interface HostRequest {
  readonly stage: Stage;
  readonly subtask: number;
  /** Parallelism and maximum parallelism of every stage, by id. */
  readonly stages: readonly Stage[];
  readonly createKeyedState: KeyedStateFactory;
  readonly metrics: SubtaskMetrics;
  readonly random: Random;
  readonly now: () => number;
  readonly restore: SubtaskRestore | undefined;
  readonly timerWatch?: TimerWatch | undefined;
}

interface Outlet {
  readonly route: Route;
  readonly targets: readonly number[];
}

export class OperatorHost {
  readonly operators: readonly Operator[];
  readonly stage: Stage;
  readonly subtask: number;
  readonly accumulators: readonly Accumulators[];
  #effects = new Effects();
  readonly #outlets: readonly Outlet[];
  readonly #restores: readonly (OperatorRestore | undefined)[];
  readonly #planned: readonly PlannedOperator[];

  constructor(request: HostRequest) {
    const { stage, subtask, restore } = request;
    this.stage = stage;
    this.subtask = subtask;
    this.#planned = stage.operators;
    this.#restores = stage.operators.map(
      ({ uid }) => restore?.operators.find((operator) => operator.uid === uid) ?? emptyRestore(uid, restore),
    );
    this.accumulators = this.#restores.map((own) => new Accumulators(own?.accumulators ?? []));
    this.operators = stage.operators.map((planned, index) =>
      createOperator(planned.node.operator, environmentOf(request, planned, this.accumulators[index] as Accumulators)),
    );
    this.#outlets = stage.outlets.map((exchange) => {
      const to = request.stages[exchange.toStage] as Stage;
      const route = createRoute({
        exchange,
        receiver: to.operators[0]?.uid ?? to.name,
        subtask,
        fromParallelism: stage.parallelism,
        toParallelism: to.parallelism,
        toMaxParallelism: to.maxParallelism,
        random: request.random,
      });
      return { route, targets: reachableTargets(exchange, subtask, stage.parallelism, to.parallelism) };
    });
  }

  async open(): Promise<void> {
    for (const [index, operator] of this.operators.entries()) await operator.open(this.#restores[index]);
    for (const [index, operator] of this.operators.entries()) {
      const watermark = operator.restoredWatermark();
      if (watermark !== undefined) this.#passOwnWatermark(index, watermark);
    }
  }

  /** What was done since `takeEffects`. */
  get effects(): Effects {
    return this.#effects;
  }

  /** What was done since the last call. */
  takeEffects(): Effects {
    const effects = this.#effects;
    this.#effects = new Effects();
    return effects;
  }

  /** Records for the head of the stage. */
  process(batch: RecordBatch, input: 0 | 1): void {
    this.#run(0, batch, input);
  }

  /**
   * A record that a source could not make sense of, on the side output of its head.
   * @param cause  its place in the source, where the job carries origins
   */
  emitSide(tag: string, value: unknown, timestamp: number, cause?: string): void {
    const head = this.operators[0];
    if (cause !== undefined) head?.origins?.beginSingle(cause);
    head?.emitSide(tag, value, timestamp);
    this.#forward(0);
  }

  /** @returns true when every timer that the watermark made due has fired and the watermark has been passed on; else call again */
  advanceWatermark(timestamp: number): boolean {
    const head = this.operators[0] as Operator;
    if (timestamp > head.watermark) head.watermark = timestamp;
    const isDone = head.fireEventTimers(timersPerStep);
    this.#forward(0);
    if (isDone) this.#passWatermark(0, timestamp);
    return isDone;
  }

  fireProcessingTimers(now: number): boolean {
    let isDone = true;
    for (const [index, operator] of this.operators.entries()) {
      if (!operator.fireProcessingTimers(now, timersPerStep)) isDone = false;
      this.#forward(index);
    }
    return isDone;
  }

  /** Fires one timer that is not set any more. @param uid  of its operator */
  fireAgain(uid: string, domain: TimeDomain, timer: Timer): void {
    const index = this.#planned.findIndex((planned) => planned.uid === uid);
    if (index < 0) throw new SluiceError('STATE_WITHOUT_OPERATOR', timerOfNobody(uid, this.stage));
    (this.operators[index] as Operator).fireAgain(domain, timer);
    this.#forward(index);
  }

  nextProcessingTimer(): number | undefined {
    let next: number | undefined;
    for (const operator of this.operators) {
      const own = operator.nextProcessingTimer();
      if (own !== undefined && (next === undefined || own < next)) next = own;
    }
    return next;
  }

  /** Barriers, idleness and the end go to every target of every outlet. */
  broadcast(
    element: { readonly kind: 'barrier'; readonly checkpoint: number } | { readonly kind: 'idle' } | { readonly kind: 'end' },
  ): void {
    for (const [index, { targets }] of this.#outlets.entries()) for (const target of targets) this.#effects.emit(index, target, element);
  }

  /** @throws what an operator answered that cannot give its state; then no part of the snapshot is under way */
  snapshot(moment: CheckpointMoment): HostSnapshot {
    const parts: OperatorPart[] = [];
    const snapshot = new HostSnapshot(this.stage.id, this.subtask, parts);
    try {
      for (const [index, operator] of this.operators.entries()) {
        const { uid } = this.#planned[index] as PlannedOperator;
        const accumulators = (this.accumulators[index] as Accumulators).snapshot();
        parts.push({ uid, accumulators, inProgress: operator.snapshot(moment) });
      }
    } catch (error) {
      snapshot.cancel();
      throw error;
    }
    return snapshot;
  }

  /** @throws the first error, once every operator has been closed */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (const operator of this.operators) {
      try {
        await operator.close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  #run(index: number, batch: RecordBatch, input: 0 | 1): void {
    const operator = this.operators[index] as Operator;
    operator.process(batch, input);
    this.#forward(index);
  }

  #forward(index: number): void {
    const operator = this.operators[index] as Operator;
    const planned = this.#planned[index] as PlannedOperator;
    const made = operator instanceof BatchOperator ? operator.takeResult() : operator.output.take();
    if (made !== undefined) {
      if (operator instanceof SinkOperator) this.#effects.sinkRows.push({ operator: index, rows: made });
      for (const target of planned.targets) this.#deliver(target, made);
    }
    for (const [tag, side] of operator.sides) {
      const sideBatch = side.take();
      if (sideBatch === undefined) continue;
      for (const target of planned.sideTargets.get(tag) ?? []) this.#deliver(target, sideBatch);
    }
    const watermark = operator.ownWatermark();
    if (watermark !== undefined) this.#passOwnWatermark(index, watermark);
  }

  #deliver(target: Target, batch: RecordBatch): void {
    if (target.kind === 'operator') {
      const { operator, selector } = target;
      const receiver = this.#planned[operator] as PlannedOperator;
      this.#run(operator, selector === undefined ? batch : { ...batch, keys: keysOf(batch, selector, receiver.uid) }, 0);
      return;
    }
    const { outlet } = target;
    (this.#outlets[outlet] as Outlet).route(batch, (to, part) => this.#effects.emit(outlet, to, { kind: 'records', batch: part }));
  }

  #passOwnWatermark(index: number, timestamp: number): void {
    (this.operators[index] as Operator).watermark = timestamp;
    this.#toTargets(index, timestamp);
  }

  #passWatermark(index: number, timestamp: number): void {
    const operator = this.operators[index] as Operator;
    // Operators that make their own watermarks let only the end of event time through.
    if (!operator.forwardsWatermarks && timestamp < Number.MAX_SAFE_INTEGER) return;
    if (timestamp > operator.watermark) operator.watermark = timestamp;
    if (index > 0) this.#fireDue(index);
    this.#toTargets(index, timestamp);
  }

  /** Behind the head only operators of a source that is partitioned by their key have timers. */
  #fireDue(index: number): void {
    for (let isDone = false; !isDone; ) {
      isDone = (this.operators[index] as Operator).fireEventTimers(timersPerStep);
      this.#forward(index);
    }
  }

  #toTargets(index: number, timestamp: number): void {
    const planned = this.#planned[index] as PlannedOperator;
    for (const target of [planned.targets, ...planned.sideTargets.values()].flat()) {
      if (target.kind === 'operator') {
        this.#passWatermark(target.operator, timestamp);
        continue;
      }
      for (const to of (this.#outlets[target.outlet] as Outlet).targets) {
        this.#effects.emit(target.outlet, to, { kind: 'watermark', timestamp });
      }
    }
  }
}

function timerOfNobody(
  uid: string,
  { name }: Stage,
): { readonly message: string; readonly next: 'fix-the-job'; readonly operator: string } {
  return { message: `${name} has no operator ${uid}, and a timer of it was to be fired again`, next: 'fix-the-job', operator: uid };
}

/** An operator that the checkpoint does not know starts empty, but in a restored job. */
function emptyRestore(uid: string, restore: SubtaskRestore | undefined): OperatorRestore | undefined {
  return restore === undefined ? undefined : { uid, lists: [], keyed: [], sinkStates: [], accumulators: [] };
}

function environmentOf(request: HostRequest, planned: PlannedOperator, accumulators: Accumulators): OperatorEnvironment {
  const { stage, subtask, metrics, createKeyedState, now, timerWatch } = request;
  return {
    uid: planned.uid,
    name: planned.name,
    subtask: { index: subtask, parallelism: stage.parallelism },
    maxParallelism: stage.maxParallelism,
    metrics: metrics.of(planned.uid),
    createKeyedState,
    accumulator: (name, f) => accumulators.register(name, f as never),
    now,
    carriesOrigins: planned.carriesOrigins === true,
    timerWatch,
  };
}
