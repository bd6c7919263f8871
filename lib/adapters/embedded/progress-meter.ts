// Counts what a run has read and written, over all its attempts, and tells it about once a second.

import { finalWatermark, noWatermark } from '../../core/batch.ts';
import type { Clock } from '../../core/ports.ts';
import type { Progress } from './run-types.ts';
import type { Subtask } from './subtask.ts';

const reportEveryMs = 1000;

export class ProgressMeter {
  lastCheckpoint: number | undefined;
  readonly #clock: Clock;
  readonly #report: (progress: Progress) => void;
  readonly #counted = new Map<string, number>();
  /** By split: the index up to which lost records are counted. */
  readonly #lostUpTo = new Map<string, number>();
  #subtasks: readonly Subtask[] = [];
  #before = { recordsIn: 0, recordsOut: 0 };
  #lastAtMs: number;
  #lastIn = 0;

  constructor(clock: Clock, report: (progress: Progress) => void) {
    this.#clock = clock;
    this.#report = report;
    this.#lastAtMs = clock.now();
  }

  /** The subtasks of a new attempt; what the old ones counted stays counted. */
  watch(subtasks: readonly Subtask[]): void {
    this.#before = this.totals();
    this.#keepCounters();
    this.#subtasks = subtasks;
  }

  count(name: string, by: number): void {
    this.#counted.set(name, (this.#counted.get(name) ?? 0) + by);
  }

  /** Records of a split that were passed over; each counts once, though every attempt from one checkpoint passes over it. */
  countLost(split: string, from: number, to: number): void {
    const first = Math.max(from, this.#lostUpTo.get(split) ?? 0);
    if (to <= first) return;
    this.#lostUpTo.set(split, to);
    this.count('lost', to - first);
  }

  totals(): { readonly recordsIn: number; readonly recordsOut: number } {
    let { recordsIn, recordsOut } = this.#before;
    for (const { source, sinks } of this.#subtasks) {
      recordsIn += source?.recordsRead ?? 0;
      for (const sink of sinks.values()) recordsOut += sink.rowsWritten;
    }
    return { recordsIn, recordsOut };
  }

  counters(): Record<string, number> {
    const all = new Map(this.#counted);
    for (const { metrics } of this.#subtasks) for (const [name, value] of metrics.read()) all.set(name, (all.get(name) ?? 0) + value);
    return Object.fromEntries(all);
  }

  /** @returns ms until the next report */
  tick(): number {
    const now = this.#clock.now();
    const elapsedMs = now - this.#lastAtMs;
    if (elapsedMs >= 0 && elapsedMs < reportEveryMs) return reportEveryMs - elapsedMs;
    const { recordsIn, recordsOut } = this.totals();
    const recordsPerSecond = elapsedMs <= 0 ? 0 : Math.max(0, Math.round(((recordsIn - this.#lastIn) * 1000) / elapsedMs));
    this.#lastAtMs = now;
    this.#lastIn = recordsIn;
    this.#report({ recordsIn, recordsOut, recordsPerSecond, watermarkLagMs: this.#lagMs(), lastCheckpoint: this.lastCheckpoint });
    return reportEveryMs;
  }

  #lagMs(): number | undefined {
    let newest = noWatermark;
    let oldest = finalWatermark;
    for (const { host, source } of this.#subtasks) {
      newest = Math.max(newest, source?.largestTimestamp ?? noWatermark);
      for (const { watermark } of host.operators) if (watermark !== noWatermark) oldest = Math.min(oldest, watermark);
    }
    return newest === noWatermark || oldest === finalWatermark ? undefined : Math.max(0, newest - oldest);
  }

  #keepCounters(): void {
    for (const { metrics } of this.#subtasks) for (const [name, value] of metrics.counters()) this.count(name, value);
  }
}
