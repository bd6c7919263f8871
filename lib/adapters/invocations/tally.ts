// Counts what a run has delivered and what its workers have told, and says so about once a second.

import type { Clock } from '../../core/ports.ts';
import type { RunEvent } from '../embedded/run-types.ts';
import type { Counts } from './ipc.ts';

const reportEveryMs = 1_000;
const rowsName = 'recordsOut';

export class Tally {
  recordsIn = 0;
  lastCheckpoint: number | undefined;
  readonly #clock: Clock;
  readonly #report: (event: RunEvent) => void;
  readonly #counts = new Map<string, number>();
  #timer: { cancel(): void } | undefined;
  #isOver = false;

  constructor(clock: Clock, report: (event: RunEvent) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  count(counts: Counts): void {
    for (const [name, by] of Object.entries(counts)) this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  get recordsOut(): number {
    return this.#counts.get(rowsName) ?? 0;
  }

  /** Of user functions and of the runtime, by name. A unit that ran and was not committed may be counted; what a worker that was killed knew is not. */
  counters(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].filter(([name]) => name !== rowsName));
  }

  begin(): void {
    void this.#tell();
  }

  end(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  async #tell(): Promise<void> {
    for (let before = this.recordsIn; !this.#isOver; before = this.recordsIn) {
      const sleep = this.#clock.sleep(reportEveryMs);
      this.#timer = sleep;
      await sleep.done;
      if (this.#isOver) return;
      const { recordsIn, recordsOut, lastCheckpoint } = this;
      const recordsPerSecond = Math.round(((recordsIn - before) * 1_000) / reportEveryMs);
      const progress = { recordsIn, recordsOut, recordsPerSecond, watermarkLagMs: undefined, lastCheckpoint };
      this.#report({ kind: 'progress', progress });
    }
  }
}
