// What one invocation knows of timers whose callback throws, or passes on what cannot be stored. A timer is tried as a record is, a bounded number of
// times, and then a letter takes its place; it belongs to no record, so its count lies beside those of records under a name of its own.
//   K1  A unit in which a timer throws is committed without it only when its tries are used up. Until then nothing of the unit is committed but the
//       counts: event time must not pass a timer that may yet fire. So the input comes again, and the timer with it.
//   K2  One invocation counts every timer of its unit that throws once, so that many are no slower to be done with than one: each costs a run, so as
//       many as there is time for. The next invocations count the others.
//   K3  A count goes when everything due up to its time has fired, been replaced by a letter, or been deleted.

import { Buffer } from 'node:buffer';
import { encodedOf } from '../../core/key-codec.ts';
import type { TimerWatch } from '../../operators/operator.ts';
import type { TimeDomain, Timer } from '../../state/timers.ts';
import type { Attempt, EntryHead } from '../entry.ts';
import { decideFailure, type RecordName, triesOf, withoutSettled } from '../poison/attempts.ts';
import type { LetterTimer } from '../poison/dead-letters.ts';

/** No uid of a source begins like this, so no record lies at such a place. */
const timerPlace = '#timer/';

export interface FailedTimer {
  readonly name: RecordName;
  readonly operator: string;
  readonly timer: LetterTimer;
}

export function isOfTimer({ place }: Pick<Attempt, 'place'>): boolean {
  return place.startsWith(timerPlace);
}

function placeOf(operator: string, domain: TimeDomain): string {
  return `${timerPlace}${domain}/${operator}`;
}

function failedTimer(operator: string, domain: TimeDomain, { time, key, cause }: Timer): FailedTimer {
  const text = encodedOf(key);
  const record = `${time}/${Buffer.from(text, 'latin1').toString('base64url')}`;
  return { name: { place: placeOf(operator, domain), record }, operator, timer: { domain, time, key: text, cause } };
}

function textOf({ place, record }: RecordName): string {
  return `${place.length}.${place}${record}`;
}

export class TimerFailures implements TimerWatch {
  isWatching = false;
  /** The timer that fires, or whose output is being passed on; of a run that threw, the one to blame. */
  current: FailedTimer | undefined;
  readonly #attemptsMax: number;
  #checkOutput: (() => void) | undefined;
  #entry = '';
  #before: readonly Attempt[] = [];
  #attempts: readonly Attempt[] = [];
  /** By `textOf`, since each is asked for in every run: tries, and those that are tried again later. */
  #tries = new Map<string, number>();
  #waiting = new Set<string>();
  #parked: FailedTimer[] = [];
  #passed = new Map<string, number>();

  constructor(attemptsMax: number) {
    this.#attemptsMax = attemptsMax;
  }

  /** Before each run: counts are those of the newest entry, with what this invocation has added to them. */
  begin({ generation, n, attempts }: Pick<EntryHead, 'generation' | 'n' | 'attempts'>): void {
    const entry = `${generation}/${n}`;
    if (this.#entry === entry) return;
    this.#entry = entry;
    this.#before = attempts.filter(isOfTimer);
    this.#attempts = this.#before;
    this.#tries = new Map(this.#before.map((attempt) => [textOf(attempt), attempt.count]));
    this.#waiting = new Set();
  }

  newRun(isWatching: boolean, checkOutput?: () => void): void {
    this.isWatching = isWatching;
    this.#checkOutput = checkOutput;
    this.current = undefined;
    this.#parked = [];
    this.#passed = new Map();
  }

  fires(operator: string, domain: TimeDomain, timer: Timer): boolean {
    this.#checkOutput?.(); // of the one before
    const failed = failedTimer(operator, domain, timer);
    this.current = failed;
    const text = textOf(failed.name);
    if ((this.#tries.get(text) ?? 0) >= this.#attemptsMax) {
      this.#parked.push(failed);
      return false;
    }
    return !this.#waiting.has(text);
  }

  passed(operator: string, domain: TimeDomain, now: number): void {
    this.#checkOutput?.();
    this.current = undefined;
    this.#passed.set(placeOf(operator, domain), now);
  }

  /** The run threw while this timer fired. */
  blame({ name }: FailedTimer): void {
    const decision = decideFailure(this.#attempts, name, this.#attemptsMax);
    this.#attempts = decision.attempts;
    this.#tries.set(textOf(name), triesOf(decision.attempts, name));
    if (decision.kind === 'try-again') this.#waiting.add(textOf(name));
  }

  /** The run left out timers that are tried again: it is worth nothing but the counts. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Timers that letters take the place of. */
  get parked(): readonly FailedTimer[] {
    return this.#parked;
  }

  /** Counts of a unit of which nothing else is committed. */
  get counts(): readonly Attempt[] {
    return this.#attempts;
  }

  /** Counts that are left when the run is committed. */
  left(): readonly Attempt[] {
    if (!this.isWatching) return this.#before;
    return withoutSettled(
      this.#attempts,
      ({ place, record }) => Number.parseFloat(record) <= (this.#passed.get(place) ?? Number.NEGATIVE_INFINITY),
    );
  }

  get hasNews(): boolean {
    const left = this.left();
    return this.#parked.length > 0 || left.length !== this.#before.length || left.some((attempt, at) => attempt !== this.#before[at]);
  }
}

/** Between the operators, which live from unit to unit, and whoever watches one of them. */
export class TimerRelay implements TimerWatch {
  to: TimerWatch | undefined;

  get isWatching(): boolean {
    return this.to?.isWatching === true;
  }

  fires(operator: string, domain: TimeDomain, timer: Timer): boolean {
    return this.to?.fires(operator, domain, timer) !== false;
  }

  passed(operator: string, domain: TimeDomain, now: number): void {
    this.to?.passed(operator, domain, now);
  }
}

/** Head with the counts, and nothing else changed. */
export function withCounts({ attempts }: Pick<EntryHead, 'attempts'>, counts: readonly Attempt[]): Pick<EntryHead, 'attempts'> {
  return { attempts: [...attempts.filter((attempt) => !isOfTimer(attempt)), ...counts] };
}

/** What a letter shows in place of a record. */
export function shownTimer({ operator, timer: { domain, time } }: FailedTimer, key: unknown): unknown {
  return { operator, timer: domain, time, key };
}
