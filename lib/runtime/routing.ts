// Which subtask of the next stage a record goes to. A key is made here, once (B3 of batch.ts).
//   R1  Records of one sender to one receiver keep their order.
//   R2  `hash` depends on the key and the maximum parallelism only.

import { noTimestamp, type RecordBatch } from '../core/batch.ts';
import { SluiceError } from '../core/errors.ts';
import { normalizeKey, type StateKey } from '../core/key-codec.ts';
import { keyGroupOfKey, subtaskOfKeyGroup } from '../core/key-group.ts';
import { markedOrigins, type Origins, pickedOrigins } from '../core/origins.ts';
import type { Random } from '../core/ports.ts';
import type { Exchange } from '../graph/plan.ts';
import { excerpt } from '../operators/operator.ts';

export interface RouterRequest {
  readonly exchange: Exchange;
  /** The operator that the records go to, for errors. */
  readonly receiver: string;
  readonly subtask: number;
  readonly fromParallelism: number;
  readonly toParallelism: number;
  readonly toMaxParallelism: number;
  readonly random: Random;
}

export type Route = (batch: RecordBatch, send: (target: number, batch: RecordBatch) => void) => void;

/** Targets that this sender may reach: it has a channel to each of them, and to no other. */
export function reachableTargets(exchange: Exchange, subtask: number, fromParallelism: number, toParallelism: number): readonly number[] {
  if (exchange.fromEvolving === true) return numbersBelow(toParallelism);
  return recordTargets(exchange, subtask, fromParallelism, toParallelism);
}

/** Targets that its records go to. */
function recordTargets(exchange: Exchange, subtask: number, fromParallelism: number, toParallelism: number): readonly number[] {
  switch (exchange.partitioning.kind) {
    case 'forward':
      return [subtask % toParallelism];
    case 'rescale': {
      // Splits of their own may be more than the parallelism; each sends like one below it.
      const index = subtask % fromParallelism;
      if (fromParallelism >= toParallelism) return [Math.floor((index * toParallelism) / fromParallelism)];
      return numbersBelow(toParallelism).filter((target) => Math.floor((target * fromParallelism) / toParallelism) === index);
    }
    default:
      return numbersBelow(toParallelism);
  }
}

function numbersBelow(end: number): readonly number[] {
  return Array.from({ length: end }, (_, i) => i);
}

export function createRoute(request: RouterRequest): Route {
  const { originMark } = request.exchange;
  return originMark === undefined ? plainRoute(request) : markingRoute(plainRoute(request), originMark);
}

function markingRoute(route: Route, mark: string): Route {
  return (batch, send) => {
    const { origins } = batch;
    route(origins === undefined ? batch : { ...batch, origins: markedOrigins(origins, mark) }, send);
  };
}

function plainRoute(request: RouterRequest): Route {
  const { exchange, subtask, fromParallelism, toParallelism } = request;
  const { partitioning } = exchange;
  const targets = recordTargets(exchange, subtask, fromParallelism, toParallelism);
  switch (partitioning.kind) {
    case 'hash':
      return hashRoute(request, partitioning.selector);
    case 'broadcast':
      return (batch, send) => {
        for (const target of targets) send(target, batch);
      };
    case 'custom':
      return customRoute(request, partitioning.partition, partitioning.selector);
    case 'global':
      // All receivers have a channel, because barriers, watermarks and the end go to each of them.
      return (batch, send) => send(0, batch);
    case 'shuffle':
      return scatter(targets, () => request.random.bits() % targets.length);
    default: {
      // Round robin starts at the sender's own number, so that few records do not all land on the first receiver.
      let next = subtask;
      return scatter(targets, () => next++ % targets.length);
    }
  }
}

/** @param receiver  the operator that the records go to, for errors */
export function keysOf(batch: RecordBatch, selector: (value: unknown) => unknown, receiver: string): StateKey[] {
  const { values, count } = batch;
  const keys: StateKey[] = new Array(count);
  let i = 0;
  try {
    for (; i < count; i++) {
      const key = selector(values[i]);
      keys[i] = typeof key === 'string' ? key : normalizeKey(key);
    }
  } catch (error) {
    throw selectorFailed('the key selector', receiver, error, values[i]);
  }
  return keys;
}

function hashRoute(request: RouterRequest, selector: (value: unknown) => unknown): Route {
  const { toParallelism, toMaxParallelism } = request;
  return (batch, send) => {
    const { values, count, timestamps } = batch;
    const keys = keysOf(batch, selector, request.receiver);
    if (toParallelism === 1) {
      send(0, { values, count, keys, timestamps, origins: batch.origins });
      return;
    }
    const parts = partsOf(batch, toParallelism);
    for (let j = 0; j < count; j++) {
      const group = keyGroupOfKey(keys[j] as StateKey, toMaxParallelism);
      parts.add(subtaskOfKeyGroup(group, toMaxParallelism, toParallelism), batch, j, keys[j]);
    }
    parts.send(send);
  };
}

function customRoute(
  request: RouterRequest,
  partition: (key: unknown, parallelism: number) => number,
  selector: (value: unknown) => unknown,
): Route {
  const { toParallelism, receiver } = request;
  return (batch, send) => {
    const parts = partsOf(batch, toParallelism);
    let i = 0;
    try {
      for (; i < batch.count; i++) {
        const target = partition(selector(batch.values[i]), toParallelism);
        if (!(Number.isInteger(target) && target >= 0 && target < toParallelism))
          throw partitionOutOfRange(target, toParallelism, receiver);
        parts.add(target, batch, i, undefined);
      }
    } catch (error) {
      throw selectorFailed('partitionCustom', receiver, error, batch.values[i]);
    }
    parts.send(send);
  };
}

function scatter(targets: readonly number[], pick: () => number): Route {
  const only = targets.length === 1 ? targets[0] : undefined;
  return (batch, send) => {
    if (only !== undefined) {
      send(only, batch);
      return;
    }
    const parts = partsOf(batch, Math.max(...targets) + 1);
    for (let i = 0; i < batch.count; i++) parts.add(targets[pick()] as number, batch, i, undefined);
    parts.send(send);
  };
}

/** One batch cut into one part per target. */
class Parts {
  protected readonly parts: (RecordBatch | undefined)[];

  constructor(targets: number) {
    this.parts = new Array(targets).fill(undefined);
  }

  add(target: number, from: RecordBatch, index: number, key: StateKey | undefined): void {
    let part = this.parts[target];
    if (part === undefined) {
      part = {
        values: [],
        count: 0,
        keys: key === undefined ? undefined : [],
        timestamps: from.timestamps === undefined ? undefined : [],
        origins: undefined,
      };
      this.parts[target] = part;
    }
    const at = part.count++;
    part.values[at] = from.values[index];
    if (part.keys !== undefined) part.keys[at] = key as StateKey;
    if (part.timestamps !== undefined) part.timestamps[at] = from.timestamps?.[index] ?? noTimestamp;
  }

  send(send: (target: number, batch: RecordBatch) => void): void {
    for (let target = 0; target < this.parts.length; target++) {
      const part = this.parts[target];
      if (part !== undefined) send(target, part);
    }
  }
}

/** Parts of a batch that carries origins. */
class PartsWithOrigins extends Parts {
  readonly #origins: Origins;
  readonly #picks: number[][];

  constructor(targets: number, origins: Origins) {
    super(targets);
    this.#origins = origins;
    this.#picks = Array.from({ length: targets }, () => []);
  }

  override add(target: number, from: RecordBatch, index: number, key: StateKey | undefined): void {
    super.add(target, from, index, key);
    (this.#picks[target] as number[]).push(index);
  }

  override send(send: (target: number, batch: RecordBatch) => void): void {
    super.send((target, part) => {
      part.origins = pickedOrigins(this.#origins, this.#picks[target] as number[]);
      send(target, part);
    });
  }
}

function partsOf({ origins }: RecordBatch, targets: number): Parts {
  return origins === undefined ? new Parts(targets) : new PartsWithOrigins(targets, origins);
}

function selectorFailed(what: string, receiver: string, cause: unknown, record: unknown): unknown {
  if (cause instanceof SluiceError && cause.code !== 'KEY_NOT_SUPPORTED') return cause;
  const thrown = cause instanceof Error ? cause.message : String(cause);
  return new SluiceError(cause instanceof SluiceError ? cause.code : 'USER_FUNCTION_FAILED', {
    message: `${what} before ${receiver} failed: ${thrown}; record ${excerpt(record)}`,
    next: 'fix-the-job',
    cause,
    operator: receiver,
  });
}

function partitionOutOfRange(target: number, parallelism: number, receiver: string): SluiceError {
  return new SluiceError('PARTITION_OUT_OF_RANGE', {
    message: `partitionCustom before ${receiver} gave ${target}; a whole number from 0 to ${parallelism - 1} is wanted`,
    next: 'fix-the-job',
    operator: receiver,
  });
}
