// What the host asks of an operator. An operator is pure over its environment: it reads what it is given and leaves its output in `output`
// and `sides`; it knows no channel, no other operator and no runtime.

import type { AggregateFunction, RuntimeContext } from '../api/functions.ts';
import type { OperatorRestore, OperatorSnapshot } from '../checkpoint/snapshot.ts';
import { noWatermark, type RecordBatch } from '../core/batch.ts';
import { SluiceError } from '../core/errors.ts';
import type { KeyedStateFactory, RunningSnapshot } from '../state/backend.ts';
import type { TimeDomain, Timer } from '../state/timers.ts';
import type { Emitter } from './emitter.ts';
import { emitterFor, OriginTracker } from './origin-tracker.ts';

/** Looks on while timers fire, one by one, where one of them may throw. */
export interface TimerWatch {
  /** It has to be asked, and the output of each timer is to be passed on before the next one fires. */
  readonly isWatching: boolean;
  /** A timer is about to fire. @returns false: it is passed by, and is gone */
  fires(operator: string, domain: TimeDomain, timer: Timer): boolean;
  /** None is left that is due at `now`, and the output of all is passed on. */
  passed(operator: string, domain: TimeDomain, now: number): void;
}

export interface OperatorEnvironment {
  readonly uid: string;
  readonly name: string;
  readonly subtask: { readonly index: number; readonly parallelism: number };
  readonly maxParallelism: number;
  readonly metrics: RuntimeContext['metrics'];
  readonly createKeyedState: KeyedStateFactory;
  readonly accumulator: <I, A, O>(name: string, f: AggregateFunction<I, A, O>) => { add(value: I): void };
  /** Processing time, ms. */
  readonly now: () => number;
  /** A sink behind it asks what caused its rows. */
  readonly carriesOrigins?: boolean;
  readonly timerWatch?: TimerWatch | undefined;
}

export interface CheckpointMoment {
  readonly checkpointId: number;
  readonly timestamp: number;
}

/** The part of an operator's snapshot that is ready at once, and the keyed part that is still being encoded. */
export interface OperatorSnapshotInProgress {
  readonly lists: OperatorSnapshot['lists'];
  readonly keyed:
    | { readonly states: readonly { name: string; kind: string; version: number }[]; readonly running: RunningSnapshot }
    | undefined;
}

export const emptySnapshot: OperatorSnapshotInProgress = { lists: [], keyed: undefined };

export abstract class Operator {
  readonly environment: OperatorEnvironment;
  /** Present where the job carries origins. */
  readonly origins: OriginTracker | undefined;
  readonly output: Emitter;
  readonly sides: Map<string, Emitter> = new Map();
  /** Event time here; set by the host before timers fire. */
  watermark: number = noWatermark;

  constructor(environment: OperatorEnvironment) {
    this.environment = environment;
    this.origins = environment.carriesOrigins === true ? new OriginTracker() : undefined;
    this.output = emitterFor(this.origins);
  }

  open(_restore: OperatorRestore | undefined): void | Promise<void> {}

  abstract process(batch: RecordBatch, input: 0 | 1): void;

  /** Fires at most `max` event-time timers that are due. True when none is left. */
  fireEventTimers(_max: number): boolean {
    return true;
  }

  fireProcessingTimers(_now: number, _max: number): boolean {
    return true;
  }

  /** Fires one timer that is not set any more. */
  fireAgain(_domain: TimeDomain, _timer: Timer): void {
    const { uid } = this.environment;
    throw new SluiceError('STATE_WITHOUT_OPERATOR', {
      message: `operator ${uid} has no timers, and one of it was to be fired again`,
      next: 'fix-the-job',
      operator: uid,
    });
  }

  /** When the next processing-time timer is due, ms. */
  nextProcessingTimer(): number | undefined {
    return undefined;
  }

  /** The watermark that should follow the last batch, for operators that make their own. */
  ownWatermark(): number | undefined {
    return undefined;
  }

  /** The watermark that stood here when the restored checkpoint was taken, for operators that make their own; asked for once, after `open`. */
  restoredWatermark(): number | undefined {
    return undefined;
  }

  /** Whether watermarks of the input pass through. */
  get forwardsWatermarks(): boolean {
    return true;
  }

  snapshot(_moment: CheckpointMoment): OperatorSnapshotInProgress {
    return emptySnapshot;
  }

  close(): void | Promise<void> {}

  emitSide(tag: string, value: unknown, timestamp: number): void {
    let side = this.sides.get(tag);
    if (side === undefined) {
      side = emitterFor(this.origins);
      this.sides.set(tag, side);
    }
    side.begin(true);
    side.timestamp = timestamp;
    side.collect(value);
  }
}

const excerptCharacters = 200;

/** What user code threw, with the record, the operator and the key in the message. */
export function userError(cause: unknown, environment: OperatorEnvironment, during: string, record: unknown, key?: unknown): SluiceError {
  const thrown = cause instanceof Error ? cause.message : String(cause);
  const keyText = key === undefined ? '' : `, key ${excerpt(key)}`;
  return new SluiceError('USER_FUNCTION_FAILED', {
    message: `${during} of ${environment.name} (${environment.uid}) failed: ${thrown}; record ${excerpt(record)}${keyText}`,
    next: 'fix-the-job',
    cause,
    operator: environment.uid,
    ...(key === undefined ? {} : { key }),
  });
}

/** A function that is not declared `async` may still give a promise, which is seen only now. Nothing waits for it. */
export function refusePromise(result: unknown): void {
  if (typeof (result as PromiseLike<unknown> | null)?.then !== 'function') return;
  Promise.resolve(result).catch(() => {});
  throw new SluiceError('FUNCTION_ASYNC', {
    message: 'it gave a promise, but records are handled without waiting; read ahead in a source, or write through a sink',
    next: 'fix-the-job',
  });
}

export function excerpt(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : v)) ?? String(value);
  } catch {
    text = String(value);
  }
  return text.length <= excerptCharacters ? text : `${text.slice(0, excerptCharacters)}…`;
}
