// Timers of one operator and subtask, as keyed state with a time index. A timer is identified by (domain, time, key): registering it twice
// keeps one, and it fires once. Order of firing is time, then encoded key, so that it is the same after a restore at any parallelism.

import { CowTree, type ReadonlyCowTree } from '../core/cow-tree.ts';
import { encodedOf, type StateKey } from '../core/key-codec.ts';

export type TimeDomain = 'event' | 'processing';

export interface Timer {
  readonly time: number;
  readonly key: StateKey;
  /** What set it, where the job carries origins and (time, key) does not tell it from an earlier timer. */
  readonly cause: string | undefined;
}

const bits = new DataView(new ArrayBuffer(8));

/** Eight characters that sort as the number does (IEEE bits, sign folded). */
function sortableTime(time: number): string {
  bits.setFloat64(0, time + 0); // -0 is the same time as 0
  let high = bits.getUint32(0);
  let low = bits.getUint32(4);
  if (high >>> 31 === 1) {
    high = ~high >>> 0;
    low = ~low >>> 0;
  } else {
    high = (high | 0x80000000) >>> 0;
  }
  return String.fromCharCode(high >>> 16, high & 0xffff, low >>> 16, low & 0xffff);
}

/** Timers of one time domain, earliest first. */
export class TimerIndex {
  readonly #timers = new CowTree<Timer>();

  get size(): number {
    return this.#timers.size;
  }

  register(time: number, key: StateKey): void {
    this.#timers.set(sortableTime(time) + encodedOf(key), { time: time + 0, key, cause: undefined });
  }

  /** As `register`, for a timer that is known by what set it first. */
  registerCaused(time: number, key: StateKey, cause: string): void {
    const place = sortableTime(time) + encodedOf(key);
    if (!this.#timers.has(place)) this.#timers.set(place, { time: time + 0, key, cause });
  }

  remove(time: number, key: StateKey): void {
    this.#timers.delete(sortableTime(time) + encodedOf(key));
  }

  find(time: number, key: StateKey): Timer | undefined {
    return this.#timers.get(sortableTime(time) + encodedOf(key));
  }

  /** The time of the earliest timer. */
  next(): number | undefined {
    return this.#timers.firstValue()?.time;
  }

  /** Takes the earliest timer that is due at `now` (inclusive). */
  takeDue(now: number): Timer | undefined {
    const first = this.#timers.firstValue();
    if (first === undefined || first.time > now) return undefined;
    this.#timers.deleteFirst();
    return first;
  }

  snapshot(): ReadonlyCowTree<Timer> {
    return this.#timers.snapshot();
  }
}

export interface Timers {
  readonly event: TimerIndex;
  readonly processing: TimerIndex;
}

export function newTimers(): Timers {
  return { event: new TimerIndex(), processing: new TimerIndex() };
}
