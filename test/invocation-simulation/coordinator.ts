// Whoever coordinates: pulses that come, overlap, die and stay away for long, and people who restore, pause and resume. Each works as a process of
// its own kind, which can be killed or frozen anywhere.

import type { Plan } from '../../lib/graph/plan.ts';
import type { Control } from '../../lib/invocation/control.ts';
import type { PulseMemory } from '../../lib/invocation/coordinator/facts.ts';
import { requestPause, requestResume } from '../../lib/invocation/coordinator/job-life.ts';
import { pulse } from '../../lib/invocation/coordinator/pulse.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import type { JobItem } from '../../lib/invocation/job-item.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import { createContextOf } from '../../lib/invocation/sinks/planned-sinks.ts';
import { createSettler } from '../../lib/invocation/sinks/settler.ts';
import type { SeededRandom, SimulatedProcess } from '../../lib/testing/index.ts';
import { type ActorOptions, attempt, ifInState } from './actor.ts';
import { pause } from './fleet.ts';

export interface CoordinatorRates {
  /** Rest between two pulses, ms at most. */
  readonly restMs: number;
  readonly noPulseForLong: number;
  readonly atOnce: number;
  readonly tick: number;
  /** A barrier that is handed to a subtask does not come to it; never when absent. */
  readonly lostBarrier?: number;
  /** Each once in a rest of the person. */
  readonly restore: number;
  readonly pause: number;
}

export interface CoordinatorOptions extends ActorOptions {
  readonly rates: CoordinatorRates;
  /** A pulse that has not ended by then is left behind. A minute by default. */
  readonly pulseMsMax?: number;
  readonly mayRewind: boolean;
  readonly portsOf: (process: SimulatedProcess) => InvocationPorts;
  readonly planOf: (process: SimulatedProcess) => Plan;
  /** As the auditors saw it last. */
  readonly item: () => JobItem | undefined;
  readonly onRewind: () => void;
  readonly onDefect: (error: unknown, what: string) => void;
}

/** Whoever has not answered by then is left behind. */
const waitMsMax = 60_000;

export class Coordinator {
  readonly #o: CoordinatorOptions;
  readonly #random: SeededRandom;
  #process: SimulatedProcess | undefined;
  #plan: Plan | undefined;
  #memory: PulseMemory | undefined;
  #born = 0;
  #people = 0;

  constructor(options: CoordinatorOptions) {
    this.#o = options;
    this.#random = options.random.fork('coordinator');
  }

  async runPulses(): Promise<void> {
    const { world, chaos, counts, rates, isOver } = this.#o;
    while (!isOver()) {
      await pause(world, chaos.isQuiet ? this.#random.between(40, 120) : this.#random.between(1, rates.restMs));
      if (chaos.happens(rates.noPulseForLong)) {
        counts.count('no pulse for long');
        await pause(world, this.#random.skewed(30_000));
      }
      const one = this.#pulse();
      if (chaos.happens(rates.atOnce)) counts.count('pulses at once');
      else await one;
    }
  }

  /** Somebody who restores, pauses and resumes, now and then. */
  async runPeople(): Promise<void> {
    const { world, chaos, rates, isOver } = this.#o;
    while (!isOver()) {
      await pause(world, this.#random.between(1, 80));
      const item = this.#o.item();
      if (item === undefined) continue;
      if (item.status === 'paused' || item.status === 'failed') {
        if (chaos.isQuiet || this.#random.chance(0.2)) await this.#resume();
      } else if (chaos.happens(rates.restore)) await this.#restore(item);
      else if (chaos.happens(rates.pause)) await this.#ask('pause asked for', (ports) => requestPause(ports));
    }
  }

  /** Somebody asks for a restore now. */
  provoke(): void {
    if (!this.#o.isOver()) void this.#ask('restore asked for', (ports) => startRestore(ports, 'latest'));
  }

  async #pulse(): Promise<void> {
    const { world, random, portsOf, rates, counts } = this.#o;
    const process = this.#living();
    const ports = portsOf(process);
    const plan = this.#plan!;
    const files = process.ports.files;
    const clock = process.ports.clock;
    const work = pulse({
      ports,
      plan,
      control: this.#control(process),
      settler: createSettler({ plan, ports, contextOf: createContextOf({ plan, files, clock, report: () => {}, print: () => {} }) }),
      clock,
      random: process.ports.random,
      ticks: () => random.chance(rates.tick),
      sourceContext: (uid) => ({ job: plan.job, uid, files, clock, countSkipped: () => {} }),
      replayRecordsMax: this.#random.between(1, 5),
      concurrency: this.#random.pick([1, 4, 32]),
      sweeps: this.#random.chance(0.03),
      ...(this.#memory === undefined ? {} : { memory: this.#memory }),
      onEvent: (event) => world.note(`  ${process.name} tells ${JSON.stringify(event)}`),
    }).then(
      () => undefined,
      (error: unknown) => this.#o.onDefect(error, `a pulse of ${process.name}`),
    );
    const late = pause(world, this.#o.pulseMsMax ?? waitMsMax).then(() => 'late');
    const left = await Promise.race([work, process.becomes('dead').then(() => 'dead'), late, this.#isHeld(process).then(() => 'late')]);
    if (left === 'dead') counts.count('coordinator crash');
    if (left === 'late' && process === this.#process) {
      if (process.state === 'stopped') counts.count('coordinator frozen');
      this.#process = undefined;
    }
  }

  /** Resolves when the process waits in ambush: others go on without it. */
  async #isHeld(process: SimulatedProcess): Promise<void> {
    while (this.#o.chaos.ambush?.holds(process) !== true) await process.becomes('stopped');
  }

  /** The coordinator as it is now, or the next one. */
  #living(): SimulatedProcess {
    if (this.#process === undefined || this.#process.state !== 'running') {
      this.#process = this.#o.world.process(`coordinator-${++this.#born}`);
      this.#plan = this.#o.planOf(this.#process);
      this.#memory = this.#random.chance(0.7) ? { heads: new Map() } : undefined;
    }
    return this.#process;
  }

  #control(process: SimulatedProcess): Control {
    return {
      invoke: async (invocation) => {
        const { lostBarrier } = this.#o.rates;
        if (invocation.kind === 'barrier' && lostBarrier !== undefined && this.#o.chaos.happens(lostBarrier)) {
          this.#o.counts.count('barrier lost');
          throw new Error(`nobody answered barrier of ${invocation.subtask}`);
        }
        const answer = await process.call('control.invoke', `${invocation.kind} ${invocation.subtask}`, () =>
          this.#o.fleet.invoke(invocation),
        );
        return process.call('control.answer', invocation.subtask, () => {
          if (answer === undefined) throw new Error(`nobody answered ${invocation.kind} of ${invocation.subtask}`);
          return answer;
        });
      },
    };
  }

  async #restore(item: JobItem): Promise<void> {
    const { counts, mayRewind } = this.#o;
    const older = item.completed.slice(0, -1);
    if (mayRewind && older.length > 0 && this.#random.chance(0.5)) {
      const { checkpoint } = this.#random.pick(older);
      this.#o.onRewind();
      counts.count('restore of an older checkpoint asked for');
      await this.#ask('restore asked for', (ports) => startRestore(ports, checkpoint));
    } else await this.#ask('restore asked for', (ports) => startRestore(ports, 'latest'));
  }

  async #resume(): Promise<void> {
    await this.#ask('resumed', (ports) => requestResume(ports));
  }

  async #ask(what: 'restore asked for' | 'pause asked for' | 'resumed', work: (ports: InvocationPorts) => Promise<unknown>): Promise<void> {
    const { world, counts, portsOf } = this.#o;
    const process = world.process(`person-${++this.#people}`);
    world.note(`${process.name}: ${what}`);
    counts.count(what);
    const onFailure = (error: unknown): void => this.#o.onDefect(error, what);
    await attempt(ifInState(work(portsOf(process))), { world, process, waitMsMax, onFailure });
  }
}
