// A process of the simplest world with faults: an environment, or a coordinator. It can be killed at any of its calls, frozen at one and woken
// much later, or left without a reply. Whoever works through it is told when it is gone, as a service that waits for a function is.

import { SluiceError } from '../../lib/core/errors.ts';
import type { Clock } from '../../lib/core/ports.ts';
import type { FakeCall } from '../../lib/testing/index.ts';

/** What becomes of a call. `freeze`: the process stops before the effect, `freeze-after` behind it, and goes on when it is thawed. */
export type Fate = 'go' | 'kill-before' | 'kill-after' | 'lose-reply' | 'refuse' | 'throttle' | 'freeze' | 'freeze-after';

export interface CallInfo {
  readonly process: CaseProcess;
  /** As `changelog.put`; of targets `target.commit` and the like. */
  readonly method: string;
  readonly place: string;
}

export class ProcessGone extends Error {}

const processes = new WeakMap<Clock, CaseProcess>();

const saysLittle: Says = (_call, said) =>
  said === 'unknown'
    ? new SluiceError('STORE_UNCERTAIN', { message: 'no answer', next: 'retry-invocation' })
    : new SluiceError('STORE_THROTTLED', { message: 'too fast', next: 'retry-invocation' });
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** Time of a world, and how it passes for who sleeps. */
export interface CaseTime {
  now: number;
  sleep(ms: number): Promise<void>;
}

/** Nobody waits: whoever sleeps moves the time of all. */
export function hastyTime(now: number): CaseTime {
  const time: CaseTime = {
    now,
    sleep: (ms) => {
      time.now += ms;
      return Promise.resolve();
    },
  };
  return time;
}

/** What a service says: that nothing happened, or nothing that anybody could tell. */
export type Says = (call: CallInfo, said: 'nothing' | 'unknown') => SluiceError;

export interface CaseProcessOptions {
  readonly name: string;
  readonly time: CaseTime;
  readonly fate: (call: CallInfo) => Fate;
  /** With which errors services refuse. */
  readonly says?: Says | undefined;
  /** Added to the time: a clock that is wrong. */
  readonly offsetMs?: () => number;
}

export class CaseProcess {
  readonly name: string;
  readonly clock: Clock;
  /** Time that this process has slept, ms. */
  slept = 0;
  isDead = false;
  isFrozen = false;
  readonly #fate: CaseProcessOptions['fate'];
  readonly #says: Says;
  readonly #running = new Set<Promise<unknown>>();
  #gone: PromiseWithResolvers<never> = goneOf();
  #thawed: PromiseWithResolvers<void> | undefined;

  constructor(o: CaseProcessOptions) {
    this.name = o.name;
    this.#fate = o.fate;
    this.#says = o.says ?? saysLittle;
    this.clock = {
      now: () => o.time.now + (o.offsetMs?.() ?? 0),
      sleep: (ms) => {
        this.slept += ms;
        return { done: this.isDead ? never() : o.time.sleep(ms), cancel: () => undefined };
      },
    };
    processes.set(this.clock, this);
  }

  /** The process whose clock a sink was opened with. */
  static of({ clock }: { readonly clock: Clock }): CaseProcess {
    const process = processes.get(clock);
    if (process === undefined) throw new Error('a sink was opened by no process of this world');
    return process;
  }

  readonly call: FakeCall = async (method, place, effect) => {
    if (this.isDead) return never();
    await this.#thawed?.promise;
    const info: CallInfo = { process: this, method, place };
    switch (this.#fate(info)) {
      case 'go':
        return effect();
      case 'kill-before':
        this.kill();
        return never();
      case 'kill-after':
        effect();
        this.kill();
        return never();
      case 'lose-reply':
        effect();
        throw this.#says(info, 'unknown');
      case 'refuse':
        throw this.#says(info, 'unknown');
      case 'throttle':
        throw this.#says(info, 'nothing');
      case 'freeze':
        await this.#freeze();
        return effect();
      case 'freeze-after': {
        const done = effect();
        await this.#freeze();
        return done;
      }
    }
  };

  /** @returns what the work gives; rejects with `ProcessGone` when the process dies or freezes meanwhile */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const running = work();
    this.#running.add(running);
    running.then(
      () => this.#running.delete(running),
      () => this.#running.delete(running),
    );
    return Promise.race([running, this.#gone.promise]);
  }

  kill(): void {
    this.isDead = true;
    this.#gone.reject(new ProcessGone(`${this.name} died`));
  }

  /** Lets a frozen process go on, until it has done what it was about to do. */
  async thaw(): Promise<void> {
    const thawed = this.#thawed;
    if (thawed === undefined) return;
    this.#thawed = undefined;
    this.isFrozen = false;
    this.#gone = goneOf();
    thawed.resolve();
    await Promise.race([Promise.allSettled([...this.#running]), this.#gone.promise.catch(() => undefined)]);
  }

  async #freeze(): Promise<void> {
    this.isFrozen = true;
    this.#thawed ??= Promise.withResolvers<void>();
    this.#gone.reject(new ProcessGone(`${this.name} stopped`));
    await this.#thawed.promise;
  }
}

function goneOf(): PromiseWithResolvers<never> {
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => undefined);
  return gone;
}
