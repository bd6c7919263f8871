// progress.ts turns the events of a run into what a person reads: one line at the bottom of a terminal that is drawn over and over, plain
// lines in a pipe every few seconds, objects under `--json`.
import type { Progress, RunEvent, RunResult } from '../adapters/embedded/run-types.ts';
import { formatDuration } from '../core/duration.ts';
import { describeError } from '../core/errors.ts';
import { failureFields } from './failure.ts';
import type { Output } from './output.ts';

const redrawEveryMs = 100; // more often is not seen
const lineEveryMs = 5_000; // a log that is read later; the first line comes after one of these, so a short run has none

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export function countText(n: number): string {
  return grouped.format(n);
}

/** Bytes in the unit that keeps the number short. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** A time span as a person says it: exact below a second, else in seconds, minutes or hours. */
export function spanText(ms: number): string {
  if (ms < 1_000) return formatDuration(Math.round(ms));
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

export function progressText(p: Progress): string {
  const parts = [`${countText(p.recordsIn)} in`, `${countText(p.recordsOut)} out`, `${countText(p.recordsPerSecond)}/s`];
  if (p.watermarkLagMs !== undefined) parts.push(`lag ${spanText(Math.max(0, p.watermarkLagMs))}`);
  if (p.lastCheckpoint !== undefined) parts.push(`checkpoint ${p.lastCheckpoint}`);
  return parts.join('  ');
}

/** Workers count, and one that is lost takes along what it had not told; what it did is done again, and counted again. */
export function countedText(count: number, { workersReplaced = 0 }: RunResult): string {
  return `${workersReplaced > 0 ? 'about ' : ''}${countText(count)}`;
}

/** The last line of a run. */
export function summaryOf(job: string, result: RunResult): string {
  const { state, recordsIn, recordsOut, seconds, lastCheckpoint, workersReplaced: lost = 0 } = result;
  const checkpoint = lastCheckpoint === undefined ? '' : `, last checkpoint ${lastCheckpoint}`;
  const replaced = lost === 0 ? '' : `; ${lost} ${lost === 1 ? 'worker was' : 'workers were'} replaced`;
  return `${job} ${state} after ${seconds.toFixed(1)} s: ${countText(recordsIn)} records in, ${countedText(recordsOut, result)} out${checkpoint}${replaced}`;
}

export class Reporter {
  readonly #output: Output;
  readonly #nowMs: () => number;
  #job = '';
  #shownAtMs: number;

  /** @param nowMs  a clock that never goes back */
  constructor(output: Output, nowMs: () => number) {
    this.#output = output;
    this.#nowMs = nowMs;
    this.#shownAtMs = nowMs();
  }

  report(event: RunEvent): void {
    switch (event.kind) {
      case 'progress':
        this.#progress(event.progress);
        return;
      case 'started':
        this.#job = event.job;
        if (event.restored !== undefined) this.#output.note(`${event.job} goes on from checkpoint ${event.restored}`);
        break;
      case 'notice':
        this.#output.note(event.message);
        break;
      case 'checkpoint-completed':
        break; // the progress line names it; a line of its own each second would be noise
      case 'checkpoint-failed':
        this.#output.note(`checkpoint ${event.checkpoint} failed: ${event.reason}`);
        break;
      case 'restarting':
        this.#output.note(`${describeError(event.error)}\nrestart ${event.attempt} of ${this.#job} in ${formatDuration(event.delayMs)}`);
        this.#output.object({ ...event, error: failureFields(event.error, this.#output.verbose) });
        return;
    }
    this.#output.object(event);
  }

  #progress(progress: Progress): void {
    const now = this.#nowMs();
    if (now - this.#shownAtMs < (this.#output.isWatched ? redrawEveryMs : lineEveryMs)) return;
    this.#shownAtMs = now;
    const text = `${this.#job}  ${progressText(progress)}`;
    if (this.#output.isWatched) this.#output.status(text);
    else this.#output.note(text);
    this.#output.object({ kind: 'progress', ...progress });
  }
}
