// The environments of a simulated function: processes that are given one event at a time, in no order that a subtask could rely on. An environment
// may be new, it may have served the subtask long ago, and it may still hold an older invocation in mid-await that nobody waits for any more.

import type { Answer, Invocation } from '../../lib/invocation/invocation.ts';
import type { ChannelElement } from '../../lib/invocation/message.ts';
import type { SeededRandom, SimulatedProcess, World } from '../../lib/testing/index.ts';
import type { Chaos } from './chaos.ts';
import type { Counts } from './counts.ts';
import { messageOf } from './decoded.ts';

export interface UnderTest {
  invoke(invocation: Invocation, o: { readonly deadlineMs: number }): Promise<Answer>;
}

interface Seat {
  readonly process: SimulatedProcess;
  readonly environment: UnderTest;
  readonly bornMs: number;
  /** Time at which the event it is busy with is given up; `undefined`: idle. */
  deadlineMs: number | undefined;
  /** Tells who waits that no answer will come. */
  giveUp: (() => void) | undefined;
  isWatched: boolean;
}

export interface FleetOptions {
  readonly world: World;
  readonly chaos: Chaos;
  readonly counts: Counts;
  readonly random: SeededRandom;
  /** Makes the environment of a new process. */
  readonly start: (process: SimulatedProcess) => UnderTest;
  readonly seatsMax: number;
  /** After this an event is given up, ms. */
  readonly timeoutMs: number;
  /** How likely a subtask is served where it was served before. */
  readonly affinity: number;
  /** Who is given up is never ended, and is given nothing else: it goes on by itself. By default one of several things becomes of it. */
  readonly isLeftBehind?: boolean;
  readonly onDefect: (error: unknown, invocation: Invocation) => void;
  /** Nobody will answer: the environment died, or was given up. */
  readonly onLost: (invocation: Invocation) => void;
  /** Two have the same subtask in hand: of what the one has marked, the other cannot tell whether it died of it. */
  readonly onOverlap: (invocation: Invocation) => void;
}

/** What an environment keeps free of its time for its last requests. */
const reserveMs = 2_000;
/** No environment lives for a day. */
const lifeMs = 12 * 3_600_000;

export class Fleet {
  readonly #o: FleetOptions;
  readonly #random: SeededRandom;
  #seats: Seat[] = [];
  #born = 0;
  /** Events that wait for an environment. */
  readonly #queue: (() => void)[] = [];
  readonly #lastServed = new Map<string, Seat>();
  readonly #underWay = new Set<Invocation>();

  constructor(options: FleetOptions) {
    this.#o = options;
    this.#random = options.random.fork('fleet');
    options.chaos.onFrozen = (process) => this.#meetFrozen(process);
  }

  /** One invocation as an event of its own. @returns `undefined` when nobody answered */
  async invoke(invocation: Invocation): Promise<Answer | undefined> {
    return (await this.event([invocation]))[0];
  }

  /** An event that mixes subtasks, one part after the other in one environment. */
  async event(parts: readonly Invocation[]): Promise<readonly (Answer | undefined)[]> {
    const seat = await this.#seat(parts[0]!.subtask);
    let isGone = false;
    const gone = new Promise<undefined>((resolve) => {
      seat.giveUp = () => {
        isGone = true;
        resolve(undefined);
      };
    });
    this.#watch(seat);
    const answers: (Answer | undefined)[] = [];
    for (const part of parts) {
      answers.push(await Promise.race([this.#run(seat, part), gone]));
      if (!isGone) continue;
      this.#o.onLost(part);
      return answers;
    }
    this.#release(seat);
    return answers;
  }

  /** Whoever is frozen goes on; nothing starts any more unless it is asked to. */
  thaw(): void {
    for (const p of this.#o.world.processes) p.continue();
  }

  /** A day is over: no environment of yesterday is left. */
  retireAll(): void {
    for (const seat of this.#seats) seat.process.lose();
    for (const p of this.#o.world.processes) if (p.name.startsWith('env-')) p.lose();
    this.#seats = [];
  }

  async #run(seat: Seat, part: Invocation): Promise<Answer | undefined> {
    const before = this.#lastServed.get(part.subtask);
    if (before !== undefined && before !== seat) this.#o.counts.count('another environment');
    this.#lastServed.set(part.subtask, seat);
    for (const other of this.#underWay) {
      if (other.subtask !== part.subtask) continue;
      this.#o.onOverlap(part);
      this.#o.onOverlap(other);
    }
    this.#underWay.add(part);
    this.#o.world.note(`${seat.process.name} is asked: ${tellInvocation(part)}`);
    // The environment's clock says when its time is over. It is told a little more than it has, since it keeps a reserve; or a little less.
    const deadlineMs =
      seat.deadlineMs! + seat.process.clockErrorMs + this.#random.pick([reserveMs, reserveMs, reserveMs - this.#o.timeoutMs / 2]);
    try {
      const answer = await seat.environment.invoke(part, { deadlineMs });
      this.#o.world.note(`${seat.process.name} answers: ${part.kind} ${part.subtask} ${tellAnswer(answer)}`);
      return answer;
    } catch (error) {
      this.#o.world.note(
        `${seat.process.name} throws: ${part.kind} ${part.subtask} ${error instanceof Error ? error.message : String(error)}`,
      );
      this.#o.onDefect(error, part);
      return undefined;
    } finally {
      this.#underWay.delete(part);
    }
  }

  async #seat(subtask: string): Promise<Seat> {
    for (;;) {
      const seat = this.#take(subtask);
      if (seat !== undefined) {
        seat.deadlineMs = this.#o.world.now + this.#o.timeoutMs;
        return seat;
      }
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    }
  }

  #take(subtask: string): Seat | undefined {
    const { world, affinity, seatsMax } = this.#o;
    this.#seats = this.#seats.filter((s) => s.process.state !== 'dead' && (s.deadlineMs !== undefined || world.now - s.bornMs < lifeMs));
    const idle = this.#seats.filter((s) => s.deadlineMs === undefined);
    const before = this.#lastServed.get(subtask);
    if (before !== undefined && idle.includes(before) && this.#random.chance(affinity)) return this.#wake(before);
    if (this.#seats.length < seatsMax && (idle.length === 0 || this.#random.chance(0.1))) return this.#start();
    return idle.length === 0 ? undefined : this.#wake(this.#random.pick(idle));
  }

  #start(): Seat {
    const process = this.#o.world.process(`env-${++this.#born}`);
    this.#o.counts.count('cold start');
    const seat: Seat = {
      process,
      environment: this.#o.start(process),
      bornMs: this.#o.world.now,
      deadlineMs: undefined,
      giveUp: undefined,
      isWatched: false,
    };
    void process.becomes('dead').then(() => {
      seat.giveUp?.();
      this.#callNext();
    });
    this.#seats.push(seat);
    return seat;
  }

  #wake(seat: Seat): Seat {
    if (seat.process.state === 'stopped') {
      this.#o.counts.count('thawed by a later invocation');
      seat.process.continue();
    }
    return seat;
  }

  #release(seat: Seat): void {
    seat.deadlineMs = undefined;
    seat.giveUp = undefined;
    this.#callNext();
  }

  /** One of those who wait for an environment looks again. */
  #callNext(): void {
    if (this.#queue.length === 0) return;
    const [next] = this.#queue.splice(this.#random.below(this.#queue.length), 1);
    next!();
  }

  /** Gives up events whose time is over. One alarm a seat, whatever the number of its events. */
  #watch(seat: Seat): void {
    if (seat.isWatched) return;
    seat.isWatched = true;
    const { world } = this.#o;
    const look = (): void => {
      if (seat.deadlineMs === undefined || seat.process.state === 'dead') {
        seat.isWatched = false;
        return;
      }
      if (world.now >= seat.deadlineMs) this.#timeOut(seat);
      world.alarm(Math.max(1, (seat.deadlineMs ?? world.now + this.#o.timeoutMs) - world.now), look);
    };
    world.alarm(this.#o.timeoutMs, look);
  }

  #timeOut(seat: Seat): void {
    const { chaos, counts, world } = this.#o;
    counts.count('timed out');
    world.note(`${seat.process.name} is given up`);
    const giveUp = seat.giveUp;
    this.#release(seat);
    giveUp?.();
    const fate = this.#o.isLeftBehind === true || chaos.ambush?.holds(seat.process) === true ? 1 : this.#random.below(3);
    // The platform ends it; or it is left in mid-await, to go on by itself or when it is given something else to do.
    if (fate === 0) chaos.kill(seat.process, world);
    else if (fate === 1) {
      this.#seats = this.#seats.filter((s) => s !== seat);
      this.#callNext();
    }
  }

  #meetFrozen(process: SimulatedProcess): void {
    const { counts, world } = this.#o;
    const seat = this.#seats.find((s) => s.process === process);
    const { deadlineMs } = seat ?? {};
    const until = deadlineMs ?? world.now;
    void process.becomes('running').then(() => {
      if (seat !== undefined) counts.count(world.now <= until ? 'thawed in time' : 'thawed as zombie');
    });
  }
}

export function pause(world: World, ms: number): Promise<void> {
  return new Promise((resolve) => world.alarm(ms, resolve));
}

export function tellInvocation(i: Invocation): string {
  switch (i.kind) {
    case 'records':
      return `${i.subtask} records ${i.split}:${(i.records[0]?.after.index ?? 0) - 1}+${i.records.length}${i.isLast ? ' last' : ''}`;
    case 'messages':
      return `${i.subtask} messages ${i.messages.map(tellMessage).join(' ')}`;
    case 'barrier':
      return `${i.subtask} barrier ${i.checkpoint} of generation ${i.generation}`;
    case 'replay':
      return `${i.subtask} replay ${i.recordsMax} of generation ${i.generation}`;
    default:
      return `${i.subtask} ${i.kind}`;
  }
}

export function tellMessage(bytes: Uint8Array): string {
  const m = messageOf(bytes);
  const what = 'elements' in m ? m.elements.map(tellElement).join('+') : 'claim';
  return `${m.generation}/${m.exchange}/${m.sender}:${m.sequence}:${what}`;
}

function tellElement(e: ChannelElement): string {
  if (e.kind === 'barrier') return `barrier ${e.checkpoint}`;
  return e.kind === 'records' ? `${e.batch.count}` : e.kind;
}

export function tellAnswer(a: Answer): string {
  return a.kind === 'done' ? 'done' : `${a.kind}${a.kind === 'partial' ? ` ${a.count}` : ''} (${a.why})`;
}
