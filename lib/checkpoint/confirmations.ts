// confirmations.ts tells the sinks that a checkpoint is complete, until they have confirmed it.
//   N1  One at a time, in order of completion; a later one waits until the one before it is confirmed.
//   N2  A failure is tried again, ever less often, for as long as the job runs. Nothing is dropped from the queue but by confirmation.

import type { Clock } from '../core/ports.ts';
import { retryDelayMs } from './decide/retry.ts';

export interface ConfirmationsOptions {
  readonly clock: Clock;
  /** Resolves when every sink has confirmed; rejects when one could not. */
  readonly notifyCompleted: (checkpoint: number) => Promise<void>;
  readonly onFailure: (checkpoint: number, error: unknown, retryMs: number) => void;
}

export class Confirmations {
  readonly #options: ConfirmationsOptions;
  readonly #queue: number[] = [];
  #running: Promise<void> | undefined;
  #sleep: { cancel(): void } | undefined;
  #isStopping = false;
  #confirmed = 0;

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
  }

  /** The highest confirmed checkpoint; 0 before the first. */
  get confirmed(): number {
    return this.#confirmed;
  }

  get isIdle(): boolean {
    return this.#queue.length === 0;
  }

  add(checkpoint: number): void {
    this.#queue.push(checkpoint);
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is left to be confirmed, or when `stop` ended the trying. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Makes the try under way, or one last try, the last one; waits for it. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#sleep?.cancel();
    await this.settled();
  }

  async #run(): Promise<void> {
    try {
      for (let failures = 0; this.#queue.length > 0; ) {
        const checkpoint = this.#queue[0]!;
        const error = await this.#try(checkpoint);
        if (error === undefined) {
          failures = 0;
          this.#queue.shift();
          this.#confirmed = checkpoint;
          continue;
        }
        failures++;
        const retryMs = retryDelayMs(failures);
        this.#options.onFailure(checkpoint, error.cause, retryMs);
        if (this.#isStopping) return;
        const sleep = this.#options.clock.sleep(retryMs);
        this.#sleep = sleep;
        await sleep.done;
        this.#sleep = undefined;
      }
    } finally {
      this.#running = undefined;
    }
  }

  async #try(checkpoint: number): Promise<{ readonly cause: unknown } | undefined> {
    try {
      await this.#options.notifyCompleted(checkpoint);
      return undefined;
    } catch (cause) {
      return { cause };
    }
  }
}
