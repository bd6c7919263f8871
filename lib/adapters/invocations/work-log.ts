// What a worker has seen of its operators: what they counted, and how their accumulators are read.

import type { AggregateFunction } from '../../api/functions.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { UnitObserver } from '../../invocation/unit/services.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import type { SubtaskMetrics } from '../../runtime/metrics.ts';
import type { AccumulatorValues, Counts } from './ipc.ts';

type Aggregate = AggregateFunction<unknown, unknown, unknown>;

interface Seen {
  /** Operators go when a cache is dropped. */
  readonly host: WeakRef<OperatorHost>;
  readonly metrics: SubtaskMetrics;
  /** How much of each counter has been told. */
  readonly told: Map<string, number>;
}

export class WorkLog implements UnitObserver {
  #rows = 0;
  readonly #seen = new Set<Seen>();
  readonly #aggregates = new Map<string, Aggregate>();

  opened(host: OperatorHost, metrics: SubtaskMetrics): void {
    this.#seen.add({ host: new WeakRef(host), metrics, told: new Map() });
  }

  committed(rows: number): void {
    this.#rows += rows;
  }

  /** What was counted since the last call. */
  takeCounts(): Counts {
    this.#learn();
    const counts: Record<string, number> = this.#rows === 0 ? {} : { recordsOut: this.#rows };
    this.#rows = 0;
    for (const seen of this.#seen) {
      const { host, metrics, told } = seen;
      for (const [name, value] of metrics.counters()) {
        const by = value - (told.get(name) ?? 0);
        if (by !== 0) counts[name] = (counts[name] ?? 0) + by;
        told.set(name, value);
      }
      if (host.deref() === undefined) this.#seen.delete(seen);
    }
    return counts;
  }

  /** Results of the accumulators that operators of this process have named. */
  accumulated(values: AccumulatorValues): readonly (readonly [name: string, result: Uint8Array])[] {
    this.#learn();
    return values.flatMap(([name, all]) => {
      const aggregate = this.#aggregates.get(name);
      if (aggregate === undefined) return [];
      const merged = all.map((bytes) => decodeValue(bytes)).reduce((a, b) => aggregate.merge(a, b));
      return [[name, encodeValue(aggregate.getResult(merged))] as const];
    });
  }

  /** Names are given while records are processed, so they are looked up after each invocation. */
  #learn(): void {
    for (const { host: reference } of this.#seen) {
      const host = reference.deref();
      if (host === undefined) continue;
      const total: Parameters<OperatorHost['accumulators'][number]['mergeInto']>[0] = new Map();
      for (const accumulators of host.accumulators) accumulators.mergeInto(total);
      for (const [name, { aggregate }] of total) this.#aggregates.set(name, aggregate);
    }
  }
}
