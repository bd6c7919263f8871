// What one invocation knows of records that fail, from one run of its unit to the next. The rules are those of poison/attempts.ts; this keeps the
// book between a run that threw and the run that leaves its record out, or stops before it.
//   F1  A unit is run in whole batches until a record fails, or the newest entry says that one failed before; then record by record.
//   F2  What is found out behind all of them (operator state that cannot be stored, say) is run again with fewer records, until one is left.
//   F3  What timers throw, or pass on and cannot be stored, is no record's fault: the timer itself is left out for it (timer-failures.ts).
//   F4  A failure counts when it was seen on a cache that has been compared with the head of the changelog: a cache that another writer has overtaken
//       can make user code throw. So the first one only asks for that.
//   F5  Counts are those of the newest entry. An append that was lost makes this start over.

import { isSluiceError } from '../../core/errors.ts';
import { keyOfEncoded, keyValue } from '../../core/key-codec.ts';
import type { Clock } from '../../core/ports.ts';
import type { Attempt, EntryHead, StateWrite } from '../entry.ts';
import { decideFailure, isGivenUp, isRecordsFault, isSameRecord, type RecordName, triesOf, withoutSettled } from '../poison/attempts.ts';
import { type DeadLetter, parkingWrite } from '../poison/dead-letters.ts';
import { OneByOne, type SingleRecord } from '../poison/one-by-one.ts';
import { type FailedTimer, isOfTimer, shownTimer, TimerFailures } from './timer-failures.ts';

export interface FailuresOptions {
  readonly subtask: string;
  readonly attemptsMax: number;
  readonly clock: Clock;
  /** What is found out has to be committed now, or nobody will know of it. Absent: there is always time. */
  readonly isOutOfTime?: (() => boolean) | undefined;
}

/** Timers that throw and are counted together: each costs a run of the unit. */
const timersCountedMax = 1_000;
/** Runs of one unit that may fail one after the other; more means that user code fails at random. */
const blamesMax = 10_000;

interface Cause {
  readonly operator: string;
  readonly code: string;
  readonly message: string;
}

export class Failures {
  /** Records to run at most; `undefined`: all. */
  limit: number | undefined;
  readonly timers: TimerFailures;
  readonly #o: FailuresOptions;
  #head: Pick<EntryHead, 'generation' | 'n'> | undefined;
  #before: readonly Attempt[] = [];
  #attempts: readonly Attempt[] = [];
  #stops: readonly RecordName[] = [];
  #isCareful = false;
  #isProven = false;
  #operator = '';
  #run: OneByOne | undefined;
  #blames = 0;
  readonly #causes: (readonly [name: RecordName, cause: Cause])[] = [];
  #deadly: RecordName | undefined;

  constructor(options: FailuresOptions) {
    this.#o = options;
    this.timers = new TimerFailures(options.attemptsMax);
  }

  /**
   * To be called before each run.
   * @param head  that it goes on from
   * @param operator  uid of the stage's first operator, for errors that name none
   */
  begin(head: Pick<EntryHead, 'generation' | 'n' | 'attempts'>, operator: string): void {
    this.#operator = operator;
    if (this.#head?.n === head.n && this.#head.generation === head.generation) return;
    this.#head = head;
    this.#before = head.attempts.filter((attempt) => !isOfTimer(attempt));
    this.#attempts = this.#before;
    this.#isProven = false;
    this.#stops = [];
    this.limit = undefined;
    this.#deadly = undefined;
    this.#isCareful = head.attempts.length > 0;
  }

  /** The record is not run: it killed whoever ran it. */
  park(name: RecordName): void {
    this.#deadly = name;
    this.#isCareful = true;
  }

  get isCareful(): boolean {
    return this.#isCareful;
  }

  /** The cache has to be compared with the head of the changelog before the next run. */
  get needsProof(): boolean {
    return this.#isProven;
  }

  /** @param checkOutput  throws when what was passed on since its last call cannot be stored */
  newRun(checkOutput?: () => void): OneByOne {
    this.#run = new OneByOne((name) => this.isParked(name), checkOutput);
    this.#isCareful ||= this.timers.counts.length > 0;
    this.timers.newRun(this.#isCareful, checkOutput);
    return this.#run;
  }

  /** K2 of timer-failures.ts: enough timers are known to throw for their counts to be committed. */
  get hasEnoughTimers(): boolean {
    return this.timers.isWaiting && (this.#blames >= timersCountedMax || this.#o.isOutOfTime?.() === true);
  }

  isParked(name: RecordName): boolean {
    return isGivenUp(this.#attempts, name, this.#o.attemptsMax) || this.#isDeadly(name);
  }

  /** The record waits for its next try, and so does what is in order behind it. */
  stopsAt(name: RecordName): boolean {
    return this.#stops.some((stop) => isSameRecord(stop, name));
  }

  /** Tries of a record that are committed. */
  triesOf(name: RecordName): number {
    return triesOf(this.#before, name);
  }

  /**
   * The run threw: decides how the next one goes.
   * @throws the error, when no record can be blamed for it
   */
  blame(error: unknown): void {
    this.#blames += 1;
    if (!isRecordsFault(error) || this.#blames > blamesMax) throw error;
    if (!this.#isProven || !this.#isCareful) {
      this.#isProven = true;
      this.#isCareful = true;
      return;
    }
    const run = this.#run as OneByOne;
    const timer = run.current === undefined ? this.timers.current : undefined;
    if (timer !== undefined) {
      this.#causes.unshift([timer.name, causeOf(error, timer.operator)]);
      this.timers.blame(timer);
      return;
    }
    const name = run.current ?? this.#lastOne(run, error);
    if (name === undefined) return;
    const decision = decideFailure(this.#attempts, name, this.#o.attemptsMax);
    this.#attempts = decision.attempts;
    this.#causes.unshift([name, causeOf(error, this.#operator)]);
    if (decision.kind === 'try-again') this.#stops = [...this.#stops, name];
  }

  /** What the run that is about to be committed leaves: counts for the head, letters for the delta. */
  outcome(): Outcome {
    const run = this.#run;
    const timerAttempts = this.timers.left();
    if (!this.#isCareful || run === undefined) return { attempts: this.#before, timerAttempts, letters: [], hasNews: false };
    const attempts = withoutSettled(this.#attempts, (name) => run.isSettled(name));
    const letters = [
      ...run.parked.map((record) => this.#letterOf(record)),
      ...this.timers.parked.map((timer) => this.#letterOfTimer(timer)),
    ];
    return {
      attempts,
      timerAttempts,
      letters: letters.map((letter) => parkingWrite(this.#o.subtask, letter)),
      hasNews: letters.length > 0 || this.timers.hasNews || !isSame(attempts, this.#before),
    };
  }

  /** F2. */
  #lastOne(run: OneByOne, error: unknown): RecordName | undefined {
    const { length } = run.processed;
    const last = run.processed.at(-1);
    if (last === undefined || run.isApart) throw error;
    if (length === 1) return last;
    this.limit = Math.max(1, Math.floor(Math.min(length, this.limit ?? length) / 2));
    return undefined;
  }

  #isDeadly(name: RecordName): boolean {
    return this.#deadly !== undefined && isSameRecord(this.#deadly, name);
  }

  #causeOf(name: RecordName, operator: string): Cause {
    for (const [known, cause] of this.#causes) if (isSameRecord(known, name)) return cause;
    const { attemptsMax } = this.#o;
    if (this.#isDeadly(name)) {
      return { operator, code: 'RECORD_KILLS', message: `the process ended each time the record was run, ${attemptsMax} times` };
    }
    return { operator, code: 'USER_FUNCTION_FAILED', message: `it failed ${attemptsMax} times, the last time in an earlier invocation` };
  }

  #letterOf({ name, batch, input }: SingleRecord, owner = this.#operator): DeadLetter {
    const { generation, n } = this.#head as Pick<EntryHead, 'generation' | 'n'>;
    const { operator, code, message } = this.#causeOf(name, owner);
    const atMs = this.#o.clock.now();
    return { ...name, operator, error: { code, message }, input, generation, n, atMs, isExcerpt: false, batch };
  }

  #letterOfTimer(failed: FailedTimer): DeadLetter {
    const { name, timer } = failed;
    const shown = shownTimer(failed, keyValue(keyOfEncoded(timer.key)));
    const batch = { values: [shown], count: 1, keys: undefined, timestamps: undefined, origins: undefined };
    return { ...this.#letterOf({ name, batch, input: 0 }, failed.operator), operator: failed.operator, timer };
  }
}

/** What the run that is about to be committed leaves. */
export interface Outcome {
  /** Counts of records. */
  readonly attempts: readonly Attempt[];
  readonly timerAttempts: readonly Attempt[];
  readonly letters: readonly StateWrite[];
  readonly hasNews: boolean;
}

function causeOf(error: unknown, operator: string): Cause {
  if (!isSluiceError(error)) return { operator, code: 'USER_FUNCTION_FAILED', message: String(error) };
  const at = error.details.operator;
  return { operator: typeof at === 'string' ? at : operator, code: error.code, message: error.message };
}

function isSame(a: readonly Attempt[], b: readonly Attempt[]): boolean {
  return a.length === b.length && a.every((attempt, index) => attempt === b[index]);
}
