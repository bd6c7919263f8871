// Keeps back what was said a moment ago: a pulse that meets the same trouble as the one before tells it in the same words.

import type { Clock } from '../../core/ports.ts';

const againAfterMs = 10_000;
const textsMax = 100; // more different ones are not of one trouble

export class Repeats {
  readonly #clock: Clock;
  readonly #saidMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a text has not been said lately; it counts as said then. */
  isNews(text: string): boolean {
    const now = this.#clock.now();
    const saidMs = this.#saidMs.get(text);
    if (saidMs !== undefined && now >= saidMs && now - saidMs < againAfterMs) return false;
    if (this.#saidMs.size >= textsMax) this.#saidMs.clear();
    this.#saidMs.set(text, now);
    return true;
  }
}
