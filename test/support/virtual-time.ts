import type { CaseTime } from './case-process.ts';

/** Time in which everybody sleeps at once: it stands while anything can go on, and then moves to whoever wakes first. */
export class VirtualTime implements CaseTime {
  now: number;
  #sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  constructor(now: number) {
    this.now = now;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => this.#sleepers.push({ at: this.now + ms, wake }));
  }

  /** Lets time pass until this is done. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    work.then(over, over);
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve)); // everything that can settle has
      if (isOver) return work;
      this.#moveOn();
    }
  }

  #moveOn(): void {
    const at = Math.min(...this.#sleepers.map((sleeper) => sleeper.at));
    const woken = this.#sleepers.filter((sleeper) => sleeper.at === at);
    if (woken.length === 0) throw new Error('everybody waits, and nobody for time');
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.at !== at);
    this.now = Math.max(this.now, at);
    for (const { wake } of woken) wake();
  }
}
