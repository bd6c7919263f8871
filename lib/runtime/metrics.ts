// Counters, gauges and histograms of one subtask, by operator.

import type { Metrics } from '../api/functions.ts';

export class SubtaskMetrics {
  #counters = new Map<string, number>();
  #kept: ReadonlyMap<string, number> = new Map();

  of(uid: string): Metrics {
    const histogram = (name: string) => ({
      update: (value: number): void => {
        this.add(`${uid}.${name}.count`, 1);
        this.add(`${uid}.${name}.sum`, value);
      },
    });
    return {
      counter: (name) => ({ inc: (by = 1) => this.add(`${uid}.${name}`, by) }),
      gauge: (name, read) => this.#gauges.set(`${uid}.${name}`, read),
      histogram,
    };
  }

  readonly #gauges = new Map<string, () => number>();

  add(name: string, by: number): void {
    this.#counters.set(name, (this.#counters.get(name) ?? 0) + by);
  }

  /** What was counted so far counts for good. */
  keep(): void {
    this.#kept = new Map(this.#counters);
  }

  /** Takes back what was counted since `keep`: the run that counted it was abandoned, and whoever runs in its place counts it again. */
  undo(): void {
    this.#counters = new Map(this.#kept);
  }

  /** What was counted; gauges are left out, because they mean nothing once their subtask is gone. */
  counters(): ReadonlyMap<string, number> {
    return this.#counters;
  }

  read(): ReadonlyMap<string, number> {
    const all = new Map(this.#counters);
    for (const [name, read] of this.#gauges) all.set(name, read());
    return all;
  }
}
