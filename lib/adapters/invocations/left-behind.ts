// What a job has left for the last lines of its run: parked records, and accumulators.

import type { Plan } from '../../graph/plan.ts';
import type { JobItem } from '../../invocation/job-item.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { createServices } from '../../invocation/unit/create-environment.ts';
import { listLetters } from '../../invocation/unit/look.ts';
import type { UnitObserver, UnitServices } from '../../invocation/unit/services.ts';
import { nodeByteStreams } from '../embedded/node-byte-streams.ts';
import { nodeFileSystem } from '../embedded/node-file-system.ts';
import { systemClock as clock, systemRandom as random } from '../embedded/system-clock.ts';
import { type Ask, finalAccumulators, keepResults } from './final-accumulators.ts';
import { askReopened } from './reopened-accumulators.ts';

export interface LeftBehindOptions {
  /** The one that workers run. */
  readonly plan: Plan;
  readonly ports: InvocationPorts;
  readonly print: (line: string) => void;
  readonly notice: (message: string) => void;
  /** User code that does not come back is not waited for longer than this. */
  readonly patienceMs: number;
}

export class LeftBehind {
  readonly #o: LeftBehindOptions;

  constructor(o: LeftBehindOptions) {
    this.#o = o;
  }

  /** How many records are parked. `undefined` when it cannot be known: a job that was cancelled may have lost its changelogs with that. */
  async deadLetters(): Promise<number | undefined> {
    return listLetters(this.#services()).then(
      (letters) => letters.length,
      () => undefined,
    );
  }

  /**
   * The job has finished, so that what user code says when its accumulators are read fails nothing.
   * @param workers  those that are left
   */
  async accumulators(item: JobItem, workers: readonly Ask[]): Promise<Readonly<Record<string, unknown>>> {
    const { ports, notice, patienceMs } = this.#o;
    try {
      const reopened = askReopened({ servicesOf: (log) => this.#services(log), item, clock, patienceMs });
      const { results, unread } = await finalAccumulators(ports, item, [...workers, ...reopened]);
      for (const name of unread) {
        notice(`accumulator ${name} cannot be read: no worker that is left has used it; one that a function names in open is found again`);
      }
      await keepResults(ports, item.generation, results).catch((error: unknown) =>
        notice(`accumulators are told now and not again: ${textOf(error)}`),
      );
      return results;
    } catch (error) {
      notice(`accumulators cannot be read: ${textOf(error)}`);
      return {};
    }
  }

  /** Of an environment in this process. */
  #services(observer?: UnitObserver): UnitServices {
    const { plan, ports, print, notice: report } = this.#o;
    const machine = { clock, random, files: nodeFileSystem, streams: nodeByteStreams };
    return createServices({ ...machine, plan, ports, observer, print, report });
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
