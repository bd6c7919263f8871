// simulated-process.ts owns one process of a simulated world: its ports, and its life: running, stopped (SIGSTOP) or dead (SIGKILL).

import type { Clock, FileSystem, Random, Scheduler } from '../core/ports.ts';
import { fakeFileSystem } from './fake-file-system.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { Call, World } from './world.ts';

/** The same shape as the ports of the embedded runtime. */
export interface SimulatedPorts {
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
}

export class SimulatedProcess {
  readonly name: string;
  readonly ports: SimulatedPorts;
  state: 'running' | 'stopped' | 'dead' = 'running';
  /** How far this process's clock is from the world's, in ms. */
  clockErrorMs = 0;
  /** A later owner took over: whatever this process still does must be harmless. */
  isZombie = false;
  readonly #world: World;
  /** Chance of what the outside does to this process. */
  readonly random: SeededRandom;
  readonly #watchers: ((state: 'stopped' | 'running' | 'dead') => void)[] = [];

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
    this.random = world.random.fork(name);
    const engineRandom = this.random.fork('engine');
    this.ports = {
      files: fakeFileSystem(this, world.disk),
      clock: this.#clock(),
      random: { bits: () => engineRandom.bits() },
      scheduler: this.#scheduler(),
    };
  }

  /**
   * One call to the world. Its effect happens at one instant between now and the answer.
   * @param effect what happens; the fraction is 1 unless the process dies or fails in the middle of it
   */
  call<T>(method: string, place: string, effect: (fraction: number) => T, afterMs: number = this.#latencyMs()): Promise<T> {
    if (this.state === 'dead') return new Promise<T>(() => {});
    return new Promise<T>((resolve, reject) => {
      this.#world.ask({
        process: this,
        method,
        place,
        effect,
        resolve: resolve as (value: unknown) => void,
        reject,
        dueAt: this.#world.now + afterMs,
        stage: 'asked',
        outcome: undefined,
        isLate: false,
      });
    });
  }

  /** kill -9: of what is under way any part may still happen, and nothing is heard of it. */
  kill(): void {
    if (this.state === 'dead') return;
    this.#world.note(`${this.name} is killed`);
    this.#become('dead');
    this.#world.drop(this, (call) => {
      if (isLeftUndone(call) || !this.random.chance(0.4)) return;
      try {
        call.effect(this.random.chance(0.5) ? 1 : this.random.below(100) / 100);
      } catch {
        // The kernel tells nobody.
      }
    });
    this.#world.disk.releaseLocks(this.name);
  }

  /** The machine loses power: nothing under way happens. The disk is the world's to cut. */
  lose(): void {
    if (this.state === 'dead') return;
    this.#become('dead');
    this.#world.drop(this, () => {});
  }

  /** SIGSTOP */
  stop(): void {
    if (this.state !== 'running') return;
    this.#world.note(`${this.name} is stopped`);
    this.#become('stopped');
  }

  /** SIGCONT */
  continue(): void {
    if (this.state !== 'stopped') return;
    this.#world.note(`${this.name} goes on`);
    this.#become('running');
  }

  /** Resolves when the process comes into this state. */
  becomes(state: 'stopped' | 'running' | 'dead'): Promise<void> {
    return new Promise((resolve) => this.#watchers.push((now) => now === state && resolve()));
  }

  #become(state: 'running' | 'stopped' | 'dead'): void {
    this.state = state;
    for (const watcher of [...this.#watchers]) watcher(state);
  }

  #latencyMs(): number {
    return this.random.chance(0.75) ? 0 : this.random.skewed(8);
  }

  #clock(): Clock {
    return {
      now: () => this.#world.now + this.clockErrorMs,
      sleep: (ms) => {
        let cancelled = (): void => {};
        const early = new Promise<void>((resolve) => {
          cancelled = resolve;
        });
        const wait = Number.isFinite(ms) ? Math.max(0, ms) : 2 ** 31;
        const done = Promise.race([this.call('sleep', `${wait} ms`, () => {}, wait), early]);
        return { done, cancel: () => this.state !== 'dead' && cancelled() };
      },
    };
  }

  #scheduler(): Scheduler {
    const random = this.random.fork('scheduler');
    return {
      pick: (runnable) => random.below(runnable),
      // Few enough that records come between, also where a state has a handful of keys.
      slice: (entries) => (random.chance(0.6) ? random.between(1, 3) : entries),
      breathe: () => {
        if (this.state !== 'dead' && !random.chance(0.35)) return undefined;
        return this.call('breathe', '', () => {}, random.chance(0.25) ? random.skewed(6) : 0);
      },
    };
  }
}

function isLeftUndone(call: Call): boolean {
  return call.method === 'sleep' || call.method === 'breathe';
}
