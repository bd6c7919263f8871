// Drives one keyed function alone, with the simplest state that can work: plain maps for each key, values copied by nothing. It knows no engine,
// so what is wrong here is wrong in the function.
import type { KeyedFactory } from '../../../lib/api/compositions.ts';
import type { KeyedProcessFunction, OnTimerContext, OutputTag } from '../../../lib/api/functions.ts';
import type { StateDescriptor, StateShape } from '../../../lib/api/state.ts';

type Cells = Map<string, unknown>;

export class KeyedDriver {
  readonly out: unknown[] = [];
  readonly sides = new Map<string, unknown[]>();
  readonly counters = new Map<string, number>();
  watermark: number = Number.MIN_SAFE_INTEGER;
  readonly #f: KeyedProcessFunction<unknown, unknown, StateShape, unknown>;
  readonly #cells = new Map<unknown, Cells>();
  readonly #timers = new Map<unknown, Set<number>>();
  #key: unknown;
  #timestamp: number | undefined;

  constructor(factory: KeyedFactory) {
    this.#f = factory();
    void this.#f.open?.(this.#context());
  }

  process(key: unknown, value: unknown, timestamp?: number): void {
    this.#key = key;
    this.#timestamp = timestamp;
    this.#f.processElement(value, this.#context(), { collect: (row) => this.out.push(row) });
  }

  /** Fires what is due, in order of time, keys in order of their first timer. */
  advance(watermark: number): void {
    this.watermark = watermark;
    for (let due = this.#nextTimer(); due !== undefined; due = this.#nextTimer()) {
      this.#timers.get(due.key)?.delete(due.at);
      this.#key = due.key;
      this.#timestamp = due.at;
      this.#f.onTimer?.(due.at, this.#context(), { collect: (row) => this.out.push(row) });
    }
  }

  get entries(): number {
    return [...this.#cells.values()]
      .flatMap((cells) => [...cells.values()])
      .reduce<number>((n, cell) => n + (cell instanceof Map ? cell.size : 1), 0);
  }

  get timers(): number {
    return [...this.#timers.values()].reduce((n, { size }) => n + size, 0);
  }

  #nextTimer(): { key: unknown; at: number } | undefined {
    const due = [...this.#timers].flatMap(([key, times]) => [...times].filter((at) => at <= this.watermark).map((at) => ({ key, at })));
    return due.sort((a, b) => a.at - b.at)[0];
  }

  #context(): OnTimerContext<StateShape, unknown> {
    const timers = (): Set<number> => getOrMake(this.#timers, this.#key, () => new Set());
    const handles = Object.entries(this.#f.state ?? {}).map(([name, d]) => [name, this.#handle(name, d)]);
    return {
      subtask: { index: 0, parallelism: 1 },
      metrics: {
        counter: (name) => ({ inc: (by = 1) => void this.counters.set(name, (this.counters.get(name) ?? 0) + by) }),
        gauge: () => {},
        histogram: () => ({ update: () => {} }),
      },
      accumulator: () => ({ add: () => {} }),
      timestamp: () => this.#timestamp,
      currentWatermark: () => this.watermark,
      output: <X>(tag: OutputTag<X>, value: X) => void getOrMake(this.sides, tag.id, () => []).push(value),
      timeDomain: 'event',
      getCurrentKey: () => this.#key,
      timerService: {
        currentWatermark: () => this.watermark,
        currentProcessingTime: () => 0,
        registerEventTimeTimer: (at) => void timers().add(at),
        registerProcessingTimeTimer: () => {},
        deleteEventTimeTimer: (at) => void timers().delete(at),
        deleteProcessingTimeTimer: () => {},
      },
      state: Object.fromEntries(handles),
    };
  }

  #handle(name: string, descriptor: StateDescriptor<unknown>): unknown {
    const cells = (): Cells => getOrMake(this.#cells, this.#key, () => new Map());
    switch (descriptor.kind) {
      case 'value':
        return {
          value: () => cells().get(name),
          update: (v: unknown) => void cells().set(name, v),
          clear: () => void cells().delete(name),
        };
      case 'map':
        return mapHandle(() => getOrMake(cells(), name, () => new Map()) as Map<unknown, unknown>);
      case 'aggregating': {
        const { aggregate } = descriptor;
        return {
          add: (v: unknown) => void cells().set(name, aggregate.add(v, cells().get(name) ?? aggregate.createAccumulator())),
          get: () => (cells().has(name) ? aggregate.getResult(cells().get(name)) : undefined),
        };
      }
      default:
        throw new Error(`the driver has no ${descriptor.kind} state`);
    }
  }
}

function mapHandle(map: () => Map<unknown, unknown>): Record<string, unknown> {
  return {
    get: (k: unknown) => map().get(k),
    put: (k: unknown, v: unknown) => void map().set(k, v),
    has: (k: unknown) => map().has(k),
    remove: (k: unknown) => void map().delete(k),
    clear: () => map().clear(),
  };
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
