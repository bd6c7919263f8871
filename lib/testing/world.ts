// world.ts owns what happens next in a simulation. Everything that a process of the world asks of its ports is a call that waits here; the
// world takes one call at a time, in an order that the seed decides, lets its effect happen and then its reply. Nothing else runs: between two
// steps all promises that can settle have settled.
//   W1  One seed, one trace: no wall clock, no real I/O, no order that the seed does not decide.
//   W2  Time stands while a call can run, and then moves to the next call that waits for time (or by a fault).
//   W3  A dead process is never answered again and its later calls do nothing; of calls under way, any part may have happened.
//   W4  A stopped process is answered when it goes on; calls under way may take effect meanwhile.
//   W5  A world that has nothing to do before its scenario ended is stuck, and so is one that takes too many steps: both fail.

import { FakeDisk } from './fake-disk.ts';
import { mixText, type SeededRandom, seededRandom } from './seeded-random.ts';
import { SimulatedProcess } from './simulated-process.ts';

/** One request to a port, from the moment it was asked to the moment it was answered. */
export interface Call {
  readonly process: SimulatedProcess;
  /** What is asked, such as `rename`, `sleep` or `target.commit`. */
  readonly method: string;
  /** Whom it concerns: a path, a name. */
  readonly place: string;
  /** Carries it out, wholly or, when a process dies in the middle, up to a fraction of it. */
  readonly effect: (fraction: number) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  dueAt: number;
  stage: 'asked' | 'done';
  outcome: { readonly value: unknown } | { readonly error: unknown } | undefined;
  /** It was already put off by a fault. */
  isLate: boolean;
}

export interface WorldOptions {
  readonly seed: number;
  /** What goes wrong; nothing when absent. */
  readonly faults?: Faults;
  /** Steps after which the world counts as stuck. Default 400,000. */
  readonly stepsMax?: number;
  /** Virtual time after which the world counts as stuck. Default one virtual day. */
  readonly timeMsMax?: number;
  /** Keep the lines of the trace, not only their hash. */
  readonly keepTrace?: boolean;
}

/** Decides, just before a call takes effect, whether and how it goes wrong. */
export interface Faults {
  /** `put-off`: the call waits on; `gone`: its process died. */
  strike(call: Call, world: World): BentCall | 'put-off' | 'gone' | undefined;
}

/** Thrown when nothing can happen any more, or too much did (W5). */
export class StuckWorld extends Error {
  override readonly name: string = 'StuckWorld';
}

/** Virtual time begins here, so that it looks like a date. */
export const worldBeginsAt = 1_700_000_000_000;

export class World {
  readonly random: SeededRandom;
  readonly disk: FakeDisk = new FakeDisk();
  readonly faults: Faults | undefined;
  /** Virtual time in ms. */
  now: number = worldBeginsAt;
  steps = 0;
  /** Hash of everything that happened, in order. */
  traceHash = 0;
  readonly trace: string[] = [];
  readonly processes: SimulatedProcess[] = [];
  readonly #options: WorldOptions;
  #calls: Call[] = [];
  #alarms: { readonly at: number; readonly ring: () => void }[] = [];
  #firstAlarmAt = Number.POSITIVE_INFINITY;
  readonly #runnable: number[] = [];

  constructor(options: WorldOptions) {
    this.#options = options;
    this.random = seededRandom(options.seed).fork('world');
    this.faults = options.faults;
    this.disk.observers.push((c) => this.note(`  ${c.kind} ${c.path}${c.from === undefined ? '' : ` from ${c.from}`}`));
  }

  process(name: string): SimulatedProcess {
    const process = new SimulatedProcess(this, name);
    this.processes.push(process);
    return process;
  }

  /** Rings once virtual time has come there; belongs to no process. */
  alarm(afterMs: number, ring: () => void): void {
    const at = this.now + afterMs;
    this.#alarms.push({ at, ring });
    this.#firstAlarmAt = Math.min(this.#firstAlarmAt, at);
  }

  /** Takes steps until the promise settles. @throws StuckWorld */
  async run<T>(scenario: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    scenario.then(over, over);
    for (;;) {
      await settled();
      if (isOver) return scenario;
      if (!this.#step()) await this.#moveOn();
    }
  }

  /** Takes up to `steps` steps, while there is something to do before virtual time `until`. */
  async idle(steps: number, until: number): Promise<void> {
    for (let i = 0; i < steps; i++) {
      await settled();
      const next = this.#next();
      if (next === undefined || next > until) return;
      this.#step();
    }
  }

  ask(call: Call): void {
    this.#calls.push(call);
  }

  /** Calls of this process that wait. */
  waiting(process: SimulatedProcess): readonly Call[] {
    return this.#calls.filter((c) => c.process === process);
  }

  /** Takes calls out without an answer (W3); `apply` may let part of what is under way happen. */
  drop(process: SimulatedProcess, apply: (call: Call) => void): void {
    const dropped = this.waiting(process);
    this.#calls = this.#calls.filter((c) => c.process !== process);
    for (const call of dropped) if (call.stage === 'asked') apply(call);
  }

  note(line: string): void {
    this.traceHash = mixText(this.traceHash, line);
    if (this.#options.keepTrace === true) this.trace.push(line);
  }

  #next(): number | undefined {
    let next = this.#firstAlarmAt;
    for (const c of this.#calls) if (c.process.state !== 'stopped' && c.dueAt < next) next = c.dueAt;
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  /** Indexes of the calls that can run now; the same list each time, since one is made at every step. */
  #runnableNow(): readonly number[] {
    const runnable = this.#runnable;
    runnable.length = 0;
    for (let i = 0; i < this.#calls.length; i++) {
      const c = this.#calls[i]!;
      if (c.dueAt <= this.now && c.process.state !== 'stopped') runnable.push(i);
    }
    return runnable;
  }

  /** @returns false when there is nothing to do */
  #step(): boolean {
    if (++this.steps > (this.#options.stepsMax ?? 400_000)) throw this.#stuck(`it took ${this.steps - 1} steps`);
    this.disk.step = this.steps;
    return this.#act();
  }

  #act(): boolean {
    if (this.#firstAlarmAt <= this.now) {
      this.#ring();
      return true;
    }
    // Time stands while a call can run.
    let runnable = this.#runnableNow();
    if (runnable.length === 0) {
      const next = this.#next();
      if (next === undefined) return false;
      this.#moveTime(next);
      if (this.#firstAlarmAt <= this.now) {
        this.#ring();
        return true;
      }
      runnable = this.#runnableNow();
    }
    this.#advance(runnable[this.random.below(runnable.length)]!);
    return true;
  }

  /** A promise that needs the real event loop would break W1; it gets a chance so that the failure names what is wrong. */
  async #moveOn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    await settled();
    if (!this.#act()) throw this.#stuck('nothing can happen any more');
  }

  #moveTime(next: number): void {
    if (next <= this.now) return;
    this.now = next;
    if (this.now - worldBeginsAt > (this.#options.timeMsMax ?? 86_400_000)) throw this.#stuck('a virtual day has passed');
  }

  /** The first alarm that was set of those that are due. */
  #ring(): void {
    const alarms = this.#alarms;
    let rung: number | undefined;
    let first = Number.POSITIVE_INFINITY;
    for (let i = 0; i < alarms.length; i++) {
      const { at } = alarms[i]!;
      if (rung === undefined && at <= this.now) rung = i;
      else if (at < first) first = at;
    }
    const [alarm] = alarms.splice(rung!, 1);
    this.#firstAlarmAt = first;
    alarm!.ring();
  }

  #advance(at: number): void {
    const call = this.#calls[at]!;
    if (call.stage === 'done') {
      this.#calls.splice(at, 1);
      this.#answer(call);
      return;
    }
    const fault = this.faults?.strike(call, this);
    if (fault === 'put-off') return;
    if (fault === 'gone') return; // with all calls of its process
    this.#calls.splice(at, 1);
    this.note(
      `${this.steps} ${this.now - worldBeginsAt} ${call.process.name} ${call.method} ${call.place}${fault === undefined ? '' : ` ! ${fault.kind}`}`,
    );
    if (fault?.kind === 'late') this.alarm(fault.afterMs, () => this.#happens(call));
    call.outcome = carriedOut(call, fault);
    call.stage = 'done';
    if (fault?.kind === 'dies-after') {
      fault.die();
      return;
    }
    // Most answers come at once; some come after others that were asked later.
    if (call.process.state === 'running' && this.random.chance(0.8)) this.#answer(call);
    else {
      call.dueAt = this.now + (this.random.chance(0.5) ? 0 : this.random.skewed(20));
      this.#calls.push(call);
    }
  }

  /** The effect of a call that nobody waits for any more. */
  #happens(call: Call): void {
    this.note(`${this.steps} ${this.now - worldBeginsAt} ${call.process.name} ${call.method} ${call.place} comes late`);
    carriedOut(call, undefined);
  }

  #answer(call: Call): void {
    const outcome = call.outcome!;
    if ('error' in outcome) call.reject(outcome.error);
    else call.resolve(outcome.value);
  }

  #stuck(why: string): StuckWorld {
    const waiting = this.#calls.slice(0, 12).map((c) => `${c.process.name} (${c.process.state}) ${c.method} ${c.place}`);
    return new StuckWorld(`${why}; waiting: ${waiting.length === 0 ? 'no call' : waiting.join(', ')}`);
  }
}

/** How a fault bends one call; what bends whole processes happens inside `Faults.strike`. */
export type BentCall =
  | { readonly kind: 'fails'; readonly error: unknown }
  | { readonly kind: 'fails-in-the-middle'; readonly error: unknown; readonly fraction: number }
  | { readonly kind: 'reply-lost'; readonly error: unknown }
  /** The caller is told that it failed, and its effect comes all the same when this time is over, whatever has become of the caller. */
  | { readonly kind: 'late'; readonly error: unknown; readonly afterMs: number }
  | { readonly kind: 'dies-after'; readonly die: () => void };

function carriedOut(call: Call, fault: BentCall | undefined): NonNullable<Call['outcome']> {
  if (fault?.kind === 'fails' || fault?.kind === 'late') return { error: fault.error };
  try {
    const value = call.effect(fault?.kind === 'fails-in-the-middle' ? fault.fraction : 1);
    return fault?.kind === 'fails-in-the-middle' || fault?.kind === 'reply-lost' ? { error: fault.error } : { value };
  } catch (error) {
    return { error };
  }
}

/** Resolves when every promise that could settle has: Node empties the queue of promises before it takes the next tick. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
