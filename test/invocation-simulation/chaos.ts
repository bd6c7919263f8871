// What goes wrong with calls and processes, and how often. Rates are drawn once a seed, many of them zero, so that every seed leans elsewhere.
//   C1  A fault strikes a call at the instant of its effect; one draw decides.
//   C2  What a process had asked for before it died or froze may still happen: at once, later, or never.
//   C3  After `quiet` nothing goes wrong any more; what was frozen goes on within a bounded time.

import type { BentCall, Call, Faults, SeededRandom, SimulatedProcess, World } from '../../lib/testing/index.ts';
import type { Ambush } from './ambush.ts';
import type { Counts } from './counts.ts';
import { kindOfError, type Said, serviceError } from './service-errors.ts';

/** Faults that one call can meet. */
export const callFaults = [
  'throttled',
  'reply lost',
  'late effect',
  'slow call',
  'crash',
  'crash after effect',
  'frozen',
  'clock jump',
] as const;
export type CallFault = (typeof callFaults)[number];

export type Rates = Readonly<Record<CallFault | 'outage', number>>;

export function drawRates(random: SeededRandom): Rates {
  return {
    throttled: random.pick([0, 0.01, 0.04]),
    'reply lost': random.pick([0, 0.004, 0.02]),
    'late effect': random.pick([0, 0.004, 0.02]),
    'slow call': random.pick([0, 0.005, 0.02]),
    crash: random.pick([0, 0.002, 0.006, 0.012]),
    'crash after effect': random.pick([0, 0.001, 0.004]),
    frozen: random.pick([0, 0.002, 0.006, 0.012]),
    'clock jump': random.pick([0, 0.002]),
    outage: random.pick([0, 0.1, 0.4]),
  };
}

/** Asks nothing of the outside, so that it cannot fail. */
const cannotFail = new Set(['sleep', 'breathe', 'control.answer']);

export class Chaos implements Faults {
  readonly #random: SeededRandom;
  readonly #rates: Rates;
  readonly #counts: Counts;
  /** After this an event is given up, ms. */
  readonly #timeoutMs: number;
  /** For a while nothing goes wrong. */
  isHushed = false;
  #isQuiet = false;
  /** Time until which the table throttles all puts. */
  #outUntil = 0;
  /** Where somebody waits, whatever chance says. */
  ambush: Ambush | undefined;
  /** Told when a process freezes, before anything else happens. */
  onFrozen: ((process: SimulatedProcess) => void) | undefined;

  constructor(p: {
    readonly random: SeededRandom;
    readonly rates: Rates;
    readonly counts: Counts;
    readonly timeoutMs: number;
  }) {
    this.#random = p.random.fork('chaos');
    this.#rates = p.rates;
    this.#counts = p.counts;
    this.#timeoutMs = p.timeoutMs;
  }

  get isQuiet(): boolean {
    return this.#isQuiet;
  }

  quiet(): void {
    this.#isQuiet = true;
  }

  /** True with this probability while things go wrong. */
  happens(probability: number): boolean {
    return !this.#isQuiet && !this.isHushed && this.#random.chance(probability);
  }

  strike(call: Call, world: World): BentCall | 'put-off' | 'gone' | undefined {
    if (this.#isQuiet || this.isHushed) return undefined;
    if (this.ambush?.strikes(call) === true) return 'put-off';
    const fault = this.#isOut(call, world) ? 'throttled' : this.#drawn(call);
    if (fault === undefined) return undefined;
    if (fault !== 'slow call' || !call.isLate) this.#counts.count(fault);
    return this.#bend(fault, call, world);
  }

  #drawn(call: Call): CallFault | undefined {
    let left = this.#random.bits() / 2 ** 32;
    // Few calls go to targets, and what comes late there matters most. People think between what they see and what they do.
    const times = call.method.startsWith('target.') ? 6 : 1;
    const isPerson = call.process.name.startsWith('person');
    for (const fault of callFaults) {
      left -= isPerson && fault === 'slow call' ? 0.2 : this.#rates[fault] * times;
      if (left < 0) return this.canHit(fault, call) ? fault : undefined;
    }
    return undefined;
  }

  /** The table takes nothing for longer than anybody waits. */
  #isOut(call: Call, world: World): boolean {
    if (call.method !== 'table.putMany') return false;
    if (world.now >= this.#outUntil && this.#random.chance(this.#rates.outage)) {
      this.#counts.count('outage');
      this.#outUntil = world.now + this.#random.between(1_000, 4_000);
    }
    return world.now < this.#outUntil;
  }

  canHit(fault: CallFault, call: Call): boolean {
    if (fault === 'slow call') return !call.isLate && call.method !== 'sleep';
    if (fault === 'crash' || fault === 'crash after effect' || fault === 'frozen' || fault === 'clock jump') return true;
    return !cannotFail.has(call.method);
  }

  #bend(fault: CallFault, call: Call, world: World): BentCall | 'put-off' | 'gone' | undefined {
    const { process } = call;
    switch (fault) {
      case 'throttled':
        return { kind: 'fails', error: this.#said(call, 'nothing') };
      case 'reply lost':
        return { kind: 'reply-lost', error: this.#uncertain(call) };
      case 'late effect':
        return { kind: 'late', error: this.#uncertain(call), afterMs: this.#random.skewed(4 * this.#timeoutMs) };
      case 'slow call':
        call.dueAt = world.now + this.#random.skewed(2 * this.#timeoutMs);
        call.isLate = true;
        return 'put-off';
      case 'crash':
        this.kill(process, world);
        return 'gone';
      case 'crash after effect':
        return { kind: 'dies-after', die: () => this.kill(process, world) };
      case 'frozen':
        this.#freeze(process, world);
        return 'put-off';
      case 'clock jump':
        process.clockErrorMs += this.#random.skewed(3_600_000) * (this.#random.chance(0.5) ? 1 : -1);
        return undefined;
    }
  }

  /** The process ends; of what it had asked for any part may still happen, when others have gone on long since. */
  kill(process: SimulatedProcess, world: World): void {
    if (process.state === 'dead') return;
    world.note(`${process.name} dies`);
    const asked = world.waiting(process).filter((c) => c.stage === 'asked' && !cannotFail.has(c.method));
    process.lose();
    for (const call of asked) {
      if (this.#isQuiet || !this.#random.chance(0.5)) continue;
      world.alarm(this.#random.skewed(2 * this.#timeoutMs), () => {
        this.#counts.count('effect after death');
        world.note(`${process.name} ${call.method} ${call.place} happens after its death`);
        outcomeOf(call);
      });
    }
  }

  #freeze(process: SimulatedProcess, world: World): void {
    if (process.state !== 'running') return;
    process.stop();
    for (const call of world.waiting(process)) {
      if (call.stage !== 'asked' || cannotFail.has(call.method) || !this.#random.chance(0.5)) continue;
      world.alarm(this.#random.skewed(20) - 1, () => {
        if (call.stage !== 'asked' || process.state === 'dead') return;
        this.#counts.count('effect while frozen');
        world.note(`${process.name} ${call.method} ${call.place} happens while it is frozen`);
        call.outcome = outcomeOf(call);
        call.stage = 'done';
      });
    }
    // Some go on before anybody has given them up, others when all they wanted has been done by somebody else.
    const ms = this.#random.chance(0.5) ? this.#random.skewed(this.#timeoutMs) : this.#random.between(this.#timeoutMs, 3 * this.#timeoutMs);
    world.alarm(ms, () => process.continue());
    this.onFrozen?.(process);
  }

  #uncertain(call: Call): Error {
    return this.#random.chance(0.5) ? this.#said(call, 'unknown') : new Error(`no answer from ${call.method}`);
  }

  #said(call: Call, said: Said): Error {
    this.#counts.count(kindOfError(call, said));
    return serviceError(call, said);
  }
}

function outcomeOf(call: Call): { readonly value: unknown } | { readonly error: unknown } {
  try {
    return { value: call.effect(1) };
  } catch (error) {
    return { error };
  }
}
