// Faults on purpose, for `--chaos` and for tests: what the cloud does now and then, much more often. One seed draws them in one order; what they
// meet depends on the machine.

import type { Clock, Random } from '../../core/ports.ts';
import type { Answer, Invocation } from '../../invocation/invocation.ts';
import type { WorkerHandle } from './worker-pool.ts';

export interface Invoker {
  invoke(invocation: Invocation): Promise<Answer>;
}

interface Workers extends Invoker {
  readonly handles: readonly WorkerHandle[];
}

/** Of 100 deliveries of input. */
const duplicated = 10;
const redeliveredEarly = 10;
/** Of 100 moments. */
const killed = 35;
const stopped = 25;
/** Of 100 pulses. */
const pulsedTwice = 25;
const momentMs = { min: 200, max: 1_200 };
const earlyMsMax = 30;

/** How often each was done. */
export interface Unrest {
  duplicated: number;
  redelivered: number;
  killed: number;
  stopped: number;
  pulsedTwice: number;
}

export class Chaos {
  readonly done: Unrest = { duplicated: 0, redelivered: 0, killed: 0, stopped: 0, pulsedTwice: 0 };
  readonly #random: Random;
  readonly #workers: Workers;
  readonly #redeliveryMs: number;
  readonly #clock: Clock;

  constructor(o: { readonly random: Random; readonly workers: Workers; readonly redeliveryMs: number; readonly clock: Clock }) {
    this.#random = o.random;
    this.#workers = o.workers;
    this.#redeliveryMs = o.redeliveryMs;
    this.#clock = o.clock;
  }

  /** Delivers to two workers at once, or again before the first has answered. */
  async invoke(invocation: Invocation): Promise<Answer> {
    const draw = this.#below(100);
    if (draw < duplicated) {
      this.done.duplicated += 1;
      return firstOf([this.#workers.invoke(invocation), this.#workers.invoke(invocation)]);
    }
    const first = this.#workers.invoke(invocation);
    if (draw >= duplicated + redeliveredEarly) return first;
    this.done.redelivered += 1;
    first.catch(() => {}); // nobody listens to it any more
    await this.#clock.sleep(this.#below(earlyMsMax)).done;
    return this.#workers.invoke(invocation);
  }

  /** Pulses to make at once. */
  pulses(): number {
    if (this.#below(100) >= pulsedTwice) return 1;
    this.done.pulsedTwice += 1;
    return 2;
  }

  /** Kills and stops workers until the run is over. */
  async run(over: Promise<void>): Promise<void> {
    let isOver = false;
    void over.then(() => {
      isOver = true;
    });
    while (!isOver) {
      const sleep = this.#clock.sleep(momentMs.min + this.#below(momentMs.max - momentMs.min));
      await Promise.race([sleep.done, over]);
      sleep.cancel();
      if (!isOver) this.#disturb(over);
    }
  }

  #disturb(over: Promise<void>): void {
    const { handles } = this.#workers;
    const draw = this.#below(100);
    const victim = handles[this.#below(Math.max(1, handles.length))];
    if (victim === undefined || draw >= killed + stopped) return;
    if (draw < killed) {
      this.done.killed += 1;
      victim.kill('SIGKILL');
      return;
    }
    this.done.stopped += 1;
    victim.kill('SIGSTOP');
    const sleep = this.#clock.sleep(this.#below(2 * this.#redeliveryMs));
    void Promise.race([sleep.done, over]).then(() => {
      sleep.cancel();
      victim.kill('SIGCONT');
    });
  }

  #below(n: number): number {
    return Math.floor((this.#random.bits() / 2 ** 32) * n);
  }
}

/** The first answer; a failure only when there is no answer. */
async function firstOf(tries: readonly Promise<Answer>[]): Promise<Answer> {
  try {
    return await Promise.any(tries);
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
}
