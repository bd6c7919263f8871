// The three operators with keyed state and timers: one keyed input, two keyed inputs, one keyed and one broadcast. They differ in which
// method of the user's function a record goes to; resolving keys, selecting state, timers and snapshots are the same.

import type {
  BroadcastProcessFunction,
  CoProcessFunction,
  KeyedContext,
  KeyedProcessFunction,
  OnTimerContext,
  TimerService,
} from '../api/functions.ts';
import type { StateShape } from '../api/state.ts';
import type { OperatorRestore } from '../checkpoint/snapshot.ts';
import { batchRecordsMax, noTimestamp, noWatermark, type RecordBatch } from '../core/batch.ts';
import { SluiceError } from '../core/errors.ts';
import { keyValue, type StateKey } from '../core/key-codec.ts';
import { decodeValue, encodeValue } from '../core/value-codec.ts';
import type { KeyedStateBackend } from '../state/backend.ts';
import type { TimeDomain, Timer, TimerIndex } from '../state/timers.ts';
import { FunctionLifecycle } from './function-lifecycle.ts';
import {
  type CheckpointMoment,
  Operator,
  type OperatorEnvironment,
  type OperatorSnapshotInProgress,
  refusePromise,
  userError,
} from './operator.ts';
import { OperatorContext } from './process-operator.ts';

type Handles = Readonly<Record<string, unknown>>;
type OnTimer = (at: number, context: OnTimerContext<unknown, unknown>, out: unknown) => void;

class TimerServiceOf implements TimerService {
  readonly #operator: KeyedOperator;

  constructor(operator: KeyedOperator) {
    this.#operator = operator;
  }

  currentWatermark(): number {
    return this.#operator.watermark;
  }

  currentProcessingTime(): number {
    return this.#operator.environment.now();
  }

  registerEventTimeTimer(time: number): void {
    this.#operator.registerTimer('event', time);
  }

  registerProcessingTimeTimer(time: number): void {
    this.#operator.registerTimer('processing', time);
  }

  deleteEventTimeTimer(time: number): void {
    const { backend } = this.#operator;
    backend.timers.event.remove(time, backend.currentKey());
  }

  deleteProcessingTimeTimer(time: number): void {
    const { backend } = this.#operator;
    backend.timers.processing.remove(time, backend.currentKey());
  }
}

class KeyedOperatorContext extends OperatorContext implements KeyedContext<unknown, unknown>, OnTimerContext<unknown, unknown> {
  readonly state: KeyedContext<unknown, unknown>['state'];
  readonly timerService: TimerService;
  /** Read-only handles of broadcast state; an empty object for the other kinds. */
  readonly broadcast: Handles;
  timeDomain: TimeDomain = 'event';
  /** The time of the timer that is firing. */
  firingAt: number | undefined;
  readonly #backend: KeyedStateBackend;

  constructor(operator: KeyedOperator, broadcast: Handles) {
    super(operator);
    this.#backend = operator.backend;
    this.state = operator.backend.handles as KeyedContext<unknown, unknown>['state'];
    this.timerService = new TimerServiceOf(operator);
    this.broadcast = broadcast;
  }

  /** In `onTimer`: the time of the timer, of either domain. */
  override timestamp(): number | undefined {
    return this.firingAt ?? super.timestamp();
  }

  getCurrentKey(): unknown {
    return keyValue(this.#backend.currentKey());
  }
}

/** A method of the user's function that runs for one record of one keyed input; called on the function object. */
type ElementFunction = (value: unknown, context: never, out: never) => void;

/**
 * The list that keeps the event time of a subtask. Without it, a record that was late before a restore might not be late after it, until every
 * input has told its event time again, and a window that has given its result would give another one.
 */
const eventTimeName = 'sluice:event-time';

export abstract class KeyedOperator extends Operator {
  readonly backend: KeyedStateBackend;
  protected readonly lifecycle: FunctionLifecycle;
  protected context: KeyedOperatorContext;
  readonly #function: object;
  readonly #onTimer: OnTimer | undefined;
  #slots = new Int32Array(batchRecordsMax);

  constructor(environment: OperatorEnvironment, f: object & { readonly state?: StateShape }) {
    super(environment);
    this.#function = f;
    const { onTimer } = f as { onTimer?: OnTimer };
    this.backend = environment.createKeyedState({
      shape: f.state ?? {},
      operator: environment.uid,
      maxParallelism: environment.maxParallelism,
      hasTimers: onTimer !== undefined,
    });
    this.lifecycle = new FunctionLifecycle(f, environment);
    this.context = new KeyedOperatorContext(this, {});
    this.#onTimer = onTimer?.bind(f);
  }

  override async open(restore: OperatorRestore | undefined): Promise<void> {
    for (const { states, groups } of restore?.keyed ?? []) this.backend.restore(states, groups);
    await this.lifecycle.open(restore === undefined ? undefined : this.#takeEventTime(restore));
  }

  /** @returns what is left of the restore */
  #takeEventTime(restore: OperatorRestore): OperatorRestore {
    const stored = restore.lists.find(({ name }) => name === eventTimeName);
    // At an aligned barrier all subtasks stand at one time. Where they did not, the earliest makes nothing late that was not.
    if (stored !== undefined) this.watermark = Math.min(...stored.elements.map((element) => decodeValue(element) as number));
    return { ...restore, lists: restore.lists.filter((list) => list !== stored) };
  }

  registerTimer(domain: TimeDomain, time: number): void {
    if (this.#onTimer === undefined || !Number.isFinite(time)) {
      const why = this.#onTimer === undefined ? 'the function has no onTimer' : `its time is ${time}, which is no finite number of ms`;
      throw new SluiceError('TIMER_INVALID', {
        message: `a timer of ${this.environment.uid} can not be registered: ${why}`,
        next: 'fix-the-job',
        operator: this.environment.uid,
      });
    }
    const timers = this.backend.timers[domain];
    const cause = this.origins?.registration(domain, time, this.watermark);
    if (cause === undefined) timers.register(time, this.backend.currentKey());
    else timers.registerCaused(time, this.backend.currentKey(), cause);
  }

  protected processKeyed(batch: RecordBatch, element: ElementFunction, method: string): void {
    this.origins?.beginBatch(batch);
    const { values, count, timestamps } = batch;
    const keys = batch.keys as StateKey[];
    const { backend, output } = this;
    const context = this.context as never;
    const f = this.#function;
    if (count > this.#slots.length) this.#slots = new Int32Array(count);
    const slots = this.#slots;
    backend.resolve(keys, count, slots);
    output.begin(timestamps !== undefined, count);
    let i = 0;
    do {
      try {
        for (; i < count; i++) {
          backend.select(slots[i] as number);
          if (timestamps !== undefined) output.timestamp = timestamps[i] as number;
          const result: unknown = element.call(f, values[i], context, output as never);
          if (result !== undefined) refusePromise(result);
        }
      } catch (error) {
        if (backend.isSuspended !== true) throw userError(error, this.environment, method, values[i], keyValue(keys[i] as StateKey));
        i += 1; // the other records tell what else is missing
      }
    } while (i < count);
    backend.endBatch();
  }

  override fireEventTimers(max: number): boolean {
    return this.#fire(this.backend.timers.event, 'event', this.watermark, max);
  }

  override fireProcessingTimers(now: number, max: number): boolean {
    return this.#fire(this.backend.timers.processing, 'processing', now, max);
  }

  override nextProcessingTimer(): number | undefined {
    return this.backend.timers.processing.next();
  }

  #fire(timers: TimerIndex, domain: TimeDomain, now: number, max: number): boolean {
    const { uid, timerWatch } = this.environment;
    const watch = timerWatch?.isWatching === true ? timerWatch : undefined;
    const most = watch === undefined ? max : 1;
    this.output.begin(true);
    let timer = timers.takeDue(now);
    for (let fired = 0; timer !== undefined; timer = timers.takeDue(now)) {
      if (watch !== undefined && !watch.fires(uid, domain, timer)) continue;
      this.#callBack(domain, timer);
      fired += 1;
      if (fired === most) break;
    }
    this.context.firingAt = undefined;
    this.backend.endBatch();
    if (timer === undefined) watch?.passed(uid, domain, now);
    return timer === undefined;
  }

  #callBack(domain: TimeDomain, timer: Timer): void {
    const { backend, output, context, origins } = this;
    // What a processing-time timer emits happened at no event time.
    output.timestamp = domain === 'event' ? timer.time : noTimestamp;
    context.timeDomain = domain;
    context.firingAt = timer.time;
    if (origins !== undefined) origins.beginTimer(this.environment.uid, domain, timer);
    try {
      backend.selectKey(timer.key);
      const result: unknown = this.#onTimer?.(timer.time, context, output);
      if (result !== undefined) refusePromise(result);
    } catch (error) {
      if (backend.isSuspended !== true) throw userError(error, this.environment, 'onTimer', timer.time, keyValue(timer.key));
    }
  }

  override fireAgain(domain: TimeDomain, timer: Timer): void {
    if (this.#onTimer === undefined) super.fireAgain(domain, timer);
    this.output.begin(true);
    this.#callBack(domain, timer);
    this.context.firingAt = undefined;
    this.backend.endBatch();
  }

  /** The method as the loop calls it. */
  protected told(element: ElementFunction): ElementFunction {
    return this.origins === undefined ? element : this.origins.watching(element);
  }

  override snapshot(moment: CheckpointMoment): OperatorSnapshotInProgress {
    const lists = [...this.lifecycle.snapshot(moment)];
    const knowsTime = this.backend.states.length > 0 || this.#onTimer !== undefined;
    if (knowsTime && this.watermark !== noWatermark) {
      lists.push({ name: eventTimeName, redistribution: 'union', elements: [encodeValue(this.watermark)] });
    }
    return { lists, keyed: { states: this.backend.states, running: this.backend.startSnapshot() } };
  }

  override close(): Promise<void> {
    return this.lifecycle.close();
  }
}

export class KeyedProcessOperator extends KeyedOperator {
  readonly #element: ElementFunction;

  constructor(environment: OperatorEnvironment, f: KeyedProcessFunction<unknown, unknown, StateShape, unknown>) {
    super(environment, f);
    this.#element = this.told(f.processElement);
  }

  process(batch: RecordBatch): void {
    this.processKeyed(batch, this.#element, 'processElement');
  }
}

export class CoProcessOperator extends KeyedOperator {
  readonly #elements: readonly [ElementFunction, ElementFunction];

  constructor(environment: OperatorEnvironment, f: CoProcessFunction<unknown, unknown, unknown, StateShape, unknown>) {
    super(environment, f);
    this.#elements = [this.told(f.processElement1), this.told(f.processElement2)];
  }

  process(batch: RecordBatch, input: 0 | 1): void {
    this.processKeyed(batch, this.#elements[input], input === 0 ? 'processElement1' : 'processElement2');
  }
}

/** Names of broadcast state are kept apart from those that the function asks for itself. */
const broadcastPrefix = 'broadcast:';

export class BroadcastProcessOperator extends KeyedOperator {
  readonly #function: BroadcastProcessFunction<unknown, unknown, unknown, StateShape, StateShape, unknown>;
  readonly #element: ElementFunction;
  readonly #broadcastElement: ElementFunction;
  readonly #shape: StateShape;
  #broadcastContext: OperatorContext & { broadcast?: Handles };

  constructor(
    environment: OperatorEnvironment,
    f: BroadcastProcessFunction<unknown, unknown, unknown, StateShape, StateShape, unknown>,
    broadcastState: StateShape,
  ) {
    super(environment, f);
    this.#function = f;
    this.#element = this.told(f.processElement);
    this.#broadcastElement = this.told(f.processBroadcastElement as ElementFunction);
    this.#shape = broadcastState;
    this.#broadcastContext = new OperatorContext(this);
  }

  override async open(restore: OperatorRestore | undefined): Promise<void> {
    await super.open(restore);
    const handles: Record<string, unknown> = {};
    const views: Record<string, unknown> = {};
    for (const [property, descriptor] of Object.entries(this.#shape)) {
      const state = this.lifecycle.state.broadcast(broadcastPrefix + (descriptor.name ?? property));
      handles[property] = state;
      views[property] = {
        get: (key: unknown) => state.get(key),
        has: (key: unknown) => state.has(key),
        entries: () => state.entries(),
        keys: () => state.keys(),
        values: () => state.values(),
        isEmpty: () => state.isEmpty(),
      };
    }
    this.context = new KeyedOperatorContext(this, views);
    this.#broadcastContext = Object.assign(new OperatorContext(this), { broadcast: handles });
  }

  process(batch: RecordBatch, input: 0 | 1): void {
    if (input === 0) {
      this.processKeyed(batch, this.#element, 'processElement');
      return;
    }
    this.origins?.beginBatch(batch);
    const f = this.#function;
    const element = this.#broadcastElement;
    const context = this.#broadcastContext as never;
    const { values, count, timestamps } = batch;
    this.output.begin(timestamps !== undefined, count);
    let i = 0;
    try {
      for (; i < count; i++) {
        if (timestamps !== undefined) this.output.timestamp = timestamps[i] as number;
        const result: unknown = element.call(f, values[i], context, this.output as never);
        if (result !== undefined) refusePromise(result);
      }
    } catch (error) {
      throw userError(error, this.environment, 'processBroadcastElement', values[i]);
    }
  }
}
