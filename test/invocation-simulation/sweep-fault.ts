// One fault in one world: which call it strikes and what becomes of the call and its process. Nothing here is drawn, so a fault is the same each time.
//   W1  It strikes once, at the instant of an effect, and the call must be the one that the undisturbed run had there.
//   W2  What comes late comes behind others: some entries later, or when nobody writes any more; whoever stands still goes on when it was given up
//       and others have written.
//   W3  A request that only reads does nothing that could come late or survive its process: kinds that differ in that alone are not told apart.

import { type BentCall, type Call, type FakeService, type SimulatedProcess, seededRandom, type World } from '../../lib/testing/index.ts';
import { Chaos, callFaults, type Rates } from './chaos.ts';
import type { Counts } from './counts.ts';
import { serviceError } from './service-errors.ts';

export const sweepFaults = [
  'throttle', // nothing happens, and the caller is told so
  'lost', // it happens, and the caller is told that it failed
  'late', // the caller is told that it failed, and it happens behind what others write
  'crash', // the process dies, and nothing of what it asked for happens
  'crash-after', // the process dies when this has happened
  'crash-late', // the process dies, and all that it asked for happens behind what others write
  'freeze', // the process stands still, others go on, and then it asks as if nothing had been
  'freeze-after', // the same when this has happened and before it hears of it
  'partial', // a batch leaves some of its work
] as const;
export type SweepFault = (typeof sweepFaults)[number];

/** Call of a process: one place where one fault of each kind strikes. */
export interface Point {
  /** Such as `environment`. */
  readonly role: string;
  readonly method: string;
  /** Without what is only a name of this run. */
  readonly place: string;
  /** How many of the same there were before it. */
  readonly nth: number;
}

export function tellPoint({ role, method, place, nth }: Point): string {
  return `${role} ${method} ${place}${nth === 0 ? '' : ` (${nth + 1})`}`;
}

/** Entries by others behind which something late comes, and ms after which it comes in any case. */
const entriesBefore = 3;
const lateMsMax = 400;
const lookMs = 15;

const silent = new Set(['sleep', 'breathe', 'control.answer']);
const batches = new Set(['table.readMany', 'table.putMany', 'exchange.send']);
const reads = /\.(get|list|readPage|readMany|readPartition|read|enumerate|changes|endOf)$/;

export function canStrike(fault: SweepFault, { method }: Point): boolean {
  if (fault === 'partial') return batches.has(method);
  if (fault === 'crash' || fault === 'freeze') return true;
  if (silent.has(method)) return false;
  if (fault === 'lost' || fault === 'late' || fault === 'crash-after' || fault === 'crash-late') return !reads.test(method);
  return true;
}

export interface SingleFaultOptions {
  readonly counts: Counts;
  readonly service: FakeService;
  /** After this an event is given up, ms. */
  readonly timeoutMs: number;
  /** `undefined`: nothing goes wrong, and points are only noted. */
  readonly strikes: { readonly at: number; readonly fault: SweepFault } | undefined;
}

export class SingleFault extends Chaos {
  /** Every call so far, until the fault struck. */
  readonly points: Point[] = [];
  /** What was put off and has not come yet. */
  outstanding = 0;
  hasStruck = false;
  readonly #o: SingleFaultOptions;
  readonly #known = new Map<string, number>();
  #entries = 0;

  constructor(o: SingleFaultOptions) {
    const rates = Object.fromEntries(callFaults.map((fault) => [fault, 0])) as Rates;
    super({ random: seededRandom(0), rates, counts: o.counts, timeoutMs: o.timeoutMs });
    this.#o = o;
    o.service.observers.push(({ kind }) => {
      if (kind === 'entry') this.#entries++;
    });
    const whole = o.service.hooks.leave;
    o.service.hooks.leave = (count, method) => {
      if (!this.#isPartial) return whole(count, method);
      this.#isPartial = false;
      return Array.from({ length: count }, (_, i) => i).filter((i) => i % 2 === 0);
    };
  }

  #isPartial = false;

  override happens(): boolean {
    return false;
  }

  override strike(call: Call, world: World): BentCall | 'put-off' | 'gone' | undefined {
    if (this.hasStruck) return undefined;
    const { strikes } = this.#o;
    this.points.push(this.#pointOf(call));
    if (strikes === undefined || this.points.length - 1 !== strikes.at) return undefined;
    this.hasStruck = true;
    world.note(`! ${strikes.fault} at ${call.process.name} ${call.method} ${call.place}`);
    return this.#bent(strikes.fault, call, world);
  }

  #pointOf(call: Call): Point {
    const name = call.process.name.replace(/-\d+$/, '');
    const role = name === 'env' ? 'environment' : name;
    // Names of writers and receipts are drawn in each run.
    const place = call.place.replace(/-[a-z0-9]+\.\d+(?=\/|$)/g, '-…');
    const what = `${role} ${call.method} ${place}`;
    const nth = this.#known.get(what) ?? 0;
    this.#known.set(what, nth + 1);
    return { role, method: call.method, place, nth };
  }

  #bent(fault: SweepFault, call: Call, world: World): BentCall | 'put-off' | 'gone' | undefined {
    const { process } = call;
    switch (fault) {
      case 'throttle':
        return { kind: 'fails', error: serviceError(call, 'nothing') };
      case 'lost':
        return { kind: 'reply-lost', error: serviceError(call, 'unknown') };
      case 'late':
        this.#later(world, 0, () => this.#happensLate(call, world));
        return { kind: 'fails', error: new Error(`no answer from ${call.method}`) };
      case 'crash':
        this.#lose(process, world);
        return 'gone';
      case 'crash-after':
        return { kind: 'dies-after', die: () => this.#lose(process, world) };
      case 'crash-late': {
        const asked = world.waiting(process).filter((c) => c.stage === 'asked' && !silent.has(c.method));
        this.#lose(process, world);
        this.#later(world, 0, () => {
          for (const c of asked) this.#happensLate(c, world);
        });
        return 'gone';
      }
      case 'freeze':
        return this.#freeze(process, world);
      case 'freeze-after':
        call.outcome = outcomeOf(call);
        call.stage = 'done';
        return this.#freeze(process, world);
      case 'partial':
        this.#isPartial = true;
        return undefined;
    }
  }

  #lose(process: SimulatedProcess, world: World): void {
    world.note(`${process.name} dies`);
    process.lose();
  }

  #freeze(process: SimulatedProcess, world: World): 'put-off' {
    process.stop();
    this.#later(world, this.#o.timeoutMs + 10, () => process.continue());
    this.onFrozen?.(process);
    return 'put-off';
  }

  #happensLate(call: Call, world: World): void {
    world.note(`${call.process.name} ${call.method} ${call.place} happens late`);
    outcomeOf(call);
  }

  /** Not before this time, and behind some entries (W2). */
  #later(world: World, afterMs: number, then: () => void): void {
    this.outstanding++;
    const until = world.now + afterMs + lateMsMax;
    const look = (from: number): void => {
      if (this.#entries - from >= entriesBefore || world.now >= until) {
        this.outstanding--;
        then();
      } else world.alarm(lookMs, () => look(from));
    };
    world.alarm(afterMs, () => look(this.#entries));
  }
}

function outcomeOf(call: Call): { readonly value: unknown } | { readonly error: unknown } {
  try {
    return { value: call.effect(1) };
  } catch (error) {
    return { error };
  }
}
