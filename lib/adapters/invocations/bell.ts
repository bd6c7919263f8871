import type { Clock } from '../../core/ports.ts';

/** Lets a loop sleep until there is something to do, or some time has passed. A ring that nobody waits for is kept for the next wait. */
export class Bell {
  readonly #clock: Clock;
  #isRung = false;
  #waiting: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    if (this.#waiting.length === 0) this.#isRung = true;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async wait(ms: number): Promise<void> {
    if (this.#isRung) {
      this.#isRung = false;
      return;
    }
    const sleep = this.#clock.sleep(ms);
    this.#waiting.push(sleep.cancel);
    await sleep.done;
  }
}
