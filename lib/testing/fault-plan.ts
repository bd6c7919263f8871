// fault-plan.ts owns what goes wrong in a simulation, and when. Faults are planned before the world starts and strike one after the other: each
// waits until it has seen a number of calls that it could hit, so that a plan means the same in every run of its seed.
//   P1  A fault is counted when it strikes; a plan knows which of its faults never did.
//   P2  A fault that asks for a certain place hits another one after a while rather than never.
//   P3  Zombies are left alone: their life is a fault already.

import { diskError } from './fake-disk.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { BentCall, Call, Faults, World } from './world.ts';

export const faultKinds = [
  'kill', // dies with its calls under way, each of which may or may not happen
  'kill-after', // dies when an effect has happened and before it hears of it
  'torn', // dies in the middle of a write or of a removal
  'power-cut', // every process dies and what was not synced may be gone
  'error', // a call fails and does nothing
  'short-write', // a write fails in the middle
  'lost-reply', // a call does its work and fails
  'slow', // a call takes very long
  'disk-full', // nothing can be written for a while
  'stop', // SIGSTOP, and some time later SIGCONT
  'clock-jump', // the process's clock jumps
  'throw', // user code throws
  'cancel', // somebody asks the job to end
] as const;

export type FaultKind = (typeof faultKinds)[number];

export interface PlannedFault {
  readonly kind: FaultKind;
  /** Calls that it could have hit and lets pass. */
  readonly after: number;
  /** Only calls whose method and place, written `method place`, contain this. */
  readonly at?: string;
}

/** A method that changes nothing and asks nothing of the outside: it can be where a process dies, but it cannot fail. */
const cannotFail = new Set(['sleep', 'breathe', 'close', 'release']);
const writes = new Set(['append', 'createFile', 'createDirectory', 'createDirectoryTree', 'sync']);
const inParts = new Set(['append', 'removeTree', 'createDirectoryTree']);
const patienceFactor = 12;

export class FaultPlan implements Faults {
  readonly planned: readonly PlannedFault[];
  /** Kinds that struck, in order. */
  readonly struck: FaultKind[] = [];
  /** Calls, and records of user code, that a fault has touched so far. */
  touched = 0;
  /** Called when a `cancel` strikes. */
  onCancel: (() => void) | undefined;
  /** Virtual time until which the disk is full. */
  #fullUntil = 0;
  #fullCalls = 0;
  #passed = 0;
  #passedElsewhere = 0;
  #isQuiet = false;
  readonly #random: SeededRandom;

  constructor(planned: readonly PlannedFault[], random: SeededRandom) {
    this.planned = planned;
    this.#random = random.fork('faults');
  }

  /** All faults have struck and their effects on calls are over. */
  isSpent(now: number): boolean {
    return (this.#isQuiet || this.struck.length === this.planned.length) && !this.#isFull(now);
  }

  /** From now on nothing goes wrong any more. */
  quiet(): void {
    this.#isQuiet = true;
    this.#fullCalls = 0;
  }

  /** Asked by user code of the simulated job for each record: is it its turn to throw? */
  throwsNow(): boolean {
    const next = this.#upcoming();
    if (next?.kind !== 'throw' || this.#passed++ < next.after) return false;
    this.#strikes(next);
    return true;
  }

  /** Asked by the world before a call takes effect. `put-off`: the call waits on; `gone`: its process died. */
  strike(call: Call, world: World): BentCall | 'put-off' | 'gone' | undefined {
    if (call.process.isZombie) return undefined;
    if (this.#isFull(world.now) && needsSpace(call, world)) {
      this.#fullCalls--;
      this.touched++;
      const error = diskError('ENOSPC', 'write', call.place);
      return call.method === 'append'
        ? { kind: 'fails-in-the-middle', error, fraction: this.#random.below(90) / 100 }
        : { kind: 'fails', error };
    }
    const next = this.#upcoming();
    if (next === undefined || !couldHit(next.kind, call)) return undefined;
    // Who is asked to end is the newest process, not one that was stopped and left behind.
    if (next.kind === 'cancel' && call.process !== world.processes.at(-1)) return undefined;
    if (next.at !== undefined && !`${call.method} ${call.place}`.includes(next.at)) {
      if (this.#passedElsewhere++ < (next.after + 10) * patienceFactor) return undefined;
    } else if (this.#passed++ < next.after) return undefined;
    this.#strikes(next);
    world.note(`! ${next.kind} at ${call.process.name} ${call.method} ${call.place}`);
    return this.#bend(next.kind, call, world);
  }

  #upcoming(): PlannedFault | undefined {
    return this.#isQuiet ? undefined : this.planned[this.struck.length];
  }

  #strikes(fault: PlannedFault): void {
    this.struck.push(fault.kind);
    this.touched++;
    this.#passed = 0;
    this.#passedElsewhere = 0;
  }

  #isFull(now: number): boolean {
    return this.#fullCalls > 0 && now < this.#fullUntil;
  }

  #bend(kind: FaultKind, call: Call, world: World): BentCall | 'put-off' | 'gone' | undefined {
    const { process } = call;
    const error = diskError('EIO', call.method, call.place);
    switch (kind) {
      case 'kill':
        process.kill();
        return 'gone';
      case 'kill-after':
        return { kind: 'dies-after', die: () => process.kill() };
      case 'torn':
        call.effect(this.#random.below(100) / 100);
        process.kill();
        return 'gone';
      case 'power-cut':
        for (const p of world.processes) p.lose();
        world.disk.powerCut(this.#random);
        return 'gone';
      case 'error':
        return { kind: 'fails', error };
      case 'short-write':
        return { kind: 'fails-in-the-middle', error, fraction: this.#random.below(100) / 100 };
      case 'lost-reply':
        return { kind: 'reply-lost', error };
      case 'slow':
        call.dueAt = world.now + 20 + this.#random.skewed(120_000);
        call.isLate = true;
        return 'put-off';
      case 'disk-full':
        this.#fullUntil = world.now + 5 + this.#random.skewed(3_000);
        this.#fullCalls = this.#random.skewed(60);
        return undefined;
      case 'stop':
        process.stop();
        return 'put-off';
      case 'clock-jump':
        process.clockErrorMs += this.#random.skewed(600_000) * (this.#random.chance(0.5) ? 1 : -1);
        return undefined;
      case 'cancel':
        this.onCancel?.();
        return undefined;
      case 'throw':
        return undefined;
    }
  }
}

function needsSpace(call: Call, world: World): boolean {
  if (call.method === 'sync' || !writes.has(call.method)) return false;
  return !call.method.startsWith('createDirectory') || world.disk.find(call.place)?.kind !== 'directory';
}

function couldHit(kind: FaultKind, call: Call): boolean {
  switch (kind) {
    case 'throw':
      return false;
    case 'torn':
      return inParts.has(call.method);
    case 'short-write':
      return call.method === 'append';
    case 'disk-full':
      return writes.has(call.method);
    case 'error':
    case 'lost-reply':
      return !cannotFail.has(call.method);
    case 'slow':
      return call.method !== 'sleep' && call.method !== 'breathe';
    default:
      return true;
  }
}

/** Where a fault is most likely to hurt: the steps between a promise and its being kept. */
const soreSpots = [
  'rename',
  'link',
  'sync',
  'syncDirectory',
  '_metadata',
  'createFile',
  '_metadata~',
  'createDirectory',
  'removeTree',
  'target.commit',
  'target.prepare',
  'lock',
  'list',
];

/**
 * Draws faults for one world.
 * @param kinds which may come, drawn with equal chance
 */
export function randomFaults(random: SeededRandom, count: number, kinds: readonly FaultKind[]): PlannedFault[] {
  return Array.from({ length: count }, () => {
    const kind = random.pick(kinds);
    const isAimed = random.chance(0.4) && kind !== 'throw' && kind !== 'torn' && kind !== 'disk-full' && kind !== 'short-write';
    const after = kind === 'throw' ? random.skewed(300) : isAimed ? random.skewed(30) - 1 : random.skewed(400) - 1;
    return isAimed ? { kind, after, at: random.pick(soreSpots) } : { kind, after };
  });
}
