// What the steps of one pulse share: what the pulse was given, and the job item as it was last seen.

import { settingsWhenOff } from '../../checkpoint/coordinator-options.ts';
import type { JobItem, SubtaskHandle } from '../job-item.ts';
import type { PulseEvent, PulseOptions } from './pulse.ts';
import { changeFrom, changeUnderSame, type ReadJob, readExistingJob } from './read-job.ts';

export type CheckpointsOfPlan = typeof settingsWhenOff & { readonly intervalMs: number | undefined };

const concurrencyDefault = 32;

export class PulseRun {
  readonly options: PulseOptions;
  readonly settings: CheckpointsOfPlan;
  readonly concurrency: number;
  /** Handles of completed checkpoints that this environment has had in hand. */
  readonly handles: Map<number, readonly SubtaskHandle[]>;
  /** The job item at the beginning of the pulse. */
  readonly before: JobItem;
  /** Something ended in this pulse, so there may be something to clean up. */
  hasEnded = false;
  /** A checkpoint was aborted in this pulse: who waits for its barriers should look. */
  hasAborted = false;
  #job: ReadJob;

  constructor(options: PulseOptions, job: ReadJob) {
    this.options = options;
    this.#job = job;
    this.before = job.item;
    this.handles = options.memory?.handles ?? new Map();
    if (options.memory !== undefined) options.memory.handles = this.handles;
    const { checkpoints } = options.plan.settings;
    this.settings = { ...settingsWhenOff, intervalMs: undefined, ...checkpoints };
    this.concurrency = options.concurrency ?? concurrencyDefault;
  }

  /** As last seen; others may have changed it since. */
  get item(): JobItem {
    return this.#job.item;
  }

  /** Every change is decided again from the item as it is when it is stored. */
  async change(decide: (item: JobItem) => JobItem): Promise<JobItem> {
    this.#job = await changeFrom(this.options.ports, this.#job, decide);
    return this.item;
  }

  /** Changes the item only if it is the one that this run has gone by. @returns false: it is another one by now */
  async changeUnderSame(wanted: JobItem): Promise<boolean> {
    const changed = await changeUnderSame(this.options.ports, this.#job, wanted);
    if (changed === 'overtaken') await this.refresh();
    else this.#job = changed;
    return changed !== 'overtaken';
  }

  async refresh(): Promise<JobItem> {
    this.#job = await readExistingJob(this.options.ports);
    return this.item;
  }

  /** Reads the item again. @returns whether it is another one than this pulse went by */
  async isOvertaken(): Promise<boolean> {
    const { revision } = this.#job;
    await this.refresh();
    return this.#job.revision !== revision;
  }

  ring(subtask: string): { readonly generation: number; readonly subtask: string } {
    return { generation: this.item.generation, subtask };
  }

  tell(event: PulseEvent): void {
    this.options.onEvent?.(event);
  }

  notice(what: string, error: unknown): void {
    this.tell({ kind: 'notice', message: `${what}: ${error instanceof Error ? error.message : String(error)}` });
  }
}
