// The timers of one operator, each change noted: for the entry of the unit, and to be taken back when the unit is abandoned.
//   J1  All timers of a subtask's key groups are in memory or none; the first touch of any loads them.
//   J2  A change that changes nothing is not noted: replays of the notes give the same timers, whatever was there.

import type { ReadonlyCowTree } from '../../core/cow-tree.ts';
import { encodedOf, keyOfEncoded, type StateKey } from '../../core/key-codec.ts';
import { type TimeDomain, type Timer, TimerIndex, type Timers } from '../../state/timers.ts';
import type { TimerChange } from '../entry.ts';

interface Note {
  readonly change: TimerChange;
  readonly before: Timer | undefined;
}

export class NotedTimers implements Timers {
  readonly event: NotedTimerIndex;
  readonly processing: NotedTimerIndex;
  notes: Note[] = [];

  /** @param load  puts all timers there, or throws because they are not known */
  constructor(operator: string, load: () => void) {
    this.event = new NotedTimerIndex(operator, 'event', this.#note, load);
    this.processing = new NotedTimerIndex(operator, 'processing', this.#note, load);
  }

  readonly #note = (note: Note): void => void this.notes.push(note);

  commit(): void {
    if (this.notes.length > 0) this.notes = [];
  }

  undo(): void {
    for (const { change, before } of this.notes.reverse()) this[change.domain].put(change.time, keyOfEncoded(change.key), before);
    this.commit();
  }

  /** A change that is committed. */
  apply({ domain, time, key, isSet, cause }: TimerChange): void {
    const stateKey = keyOfEncoded(key);
    this[domain].put(time, stateKey, isSet ? { time, key: stateKey, cause } : undefined);
  }
}

export class NotedTimerIndex extends TimerIndex {
  readonly #operator: string;
  readonly #domain: TimeDomain;
  readonly #tell: (note: Note) => void;
  readonly #load: () => void;

  constructor(operator: string, domain: TimeDomain, tell: (note: Note) => void, load: () => void) {
    super();
    this.#operator = operator;
    this.#domain = domain;
    this.#tell = tell;
    this.#load = load;
  }

  override get size(): number {
    this.#load();
    return super.size;
  }

  override register(time: number, key: StateKey): void {
    this.#load();
    const before = this.find(time, key);
    if (before !== undefined && before.cause === undefined) return;
    super.register(time, key);
    this.#noteSet(time, key, undefined, before);
  }

  override registerCaused(time: number, key: StateKey, cause: string): void {
    this.#load();
    if (this.find(time, key) !== undefined) return;
    super.registerCaused(time, key, cause);
    this.#noteSet(time, key, cause, undefined);
  }

  override remove(time: number, key: StateKey): void {
    this.#load();
    const before = this.find(time, key);
    if (before === undefined) return;
    super.remove(time, key);
    this.#noteGone(before);
  }

  override next(): number | undefined {
    this.#load();
    return super.next();
  }

  override takeDue(now: number): Timer | undefined {
    this.#load();
    const taken = super.takeDue(now);
    if (taken !== undefined) this.#noteGone(taken);
    return taken;
  }

  override snapshot(): ReadonlyCowTree<Timer> {
    this.#load();
    return super.snapshot();
  }

  /** Makes a timer what it is given as, and notes nothing. */
  put(time: number, key: StateKey, timer: Timer | undefined): void {
    super.remove(time, key);
    if (timer?.cause !== undefined) super.registerCaused(time, key, timer.cause);
    else if (timer !== undefined) super.register(time, key);
  }

  #noteSet(time: number, key: StateKey, cause: string | undefined, before: Timer | undefined): void {
    this.#tell({
      change: { operator: this.#operator, domain: this.#domain, isSet: true, time: time + 0, key: encodedOf(key), cause },
      before,
    });
  }

  #noteGone(before: Timer): void {
    const { time, key } = before;
    const change = { operator: this.#operator, domain: this.#domain, isSet: false, time, key: encodedOf(key), cause: undefined };
    this.#tell({ change, before });
  }
}
