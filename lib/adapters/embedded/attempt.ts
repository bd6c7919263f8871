// One attempt at a job: all its subtasks, from the first step to the end of input or the first failure.
//   A1  One thread: the scheduler picks which runnable subtask makes the next step. Nothing runs between two steps but completions.
//   A2  After the first failure no step is made; what is still under way can only fail or be ignored.
//   A3  A checkpoint reaches sources by injection, finished subtasks at once, and a subtask whose inputs all ended before it when that one
//       finishes: so every subtask answers every checkpoint.

import type { Plan } from '../../graph/plan.ts';
import { accumulatorResults } from '../../runtime/accumulators.ts';
import type { Assembled } from './assemble.ts';
import { discardAll } from './discard.ts';
import type { EmbeddedPorts } from './run-types.ts';
import type { Subtask } from './subtask.ts';

export type AttemptEnd = { readonly kind: 'ended' } | { readonly kind: 'cancelled' } | { readonly kind: 'failed'; readonly error: unknown };

/** A promise that others resolve again and again. */
export class Bell {
  #ring: () => void = () => {};
  #rung: Promise<void>;

  constructor() {
    this.#rung = this.#renew();
  }

  /** Resolves at the next `ring` since the last `hear`. */
  hear(): Promise<void> {
    return this.#rung;
  }

  ring(): void {
    const ring = this.#ring;
    this.#rung = this.#renew();
    ring();
  }

  #renew(): Promise<void> {
    return new Promise((resolve) => {
      this.#ring = resolve;
    });
  }
}

export interface AttemptHooks {
  /** Called between steps; returns ms until it wants to be called again, if at all. */
  readonly tick: () => number | undefined;
  readonly isCancelled: () => boolean;
  /** A checkpoint waits for its files. */
  readonly isAwaitingIo?: () => boolean;
  /** When to stop although there may be more to do; by default when every subtask has finished. */
  readonly isOver?: () => boolean;
}

export class Attempt {
  readonly bell: Bell = new Bell();
  readonly #plan: Plan;
  readonly #ports: EmbeddedPorts;
  #subtasks: readonly Subtask[] = [];
  #tidy: () => Promise<void> = () => Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  /** Checkpoints injected and not yet over. */
  readonly #injected: number[] = [];

  constructor(plan: Plan, ports: EmbeddedPorts) {
    this.#plan = plan;
    this.#ports = ports;
  }

  start({ subtasks, tidy }: Assembled): void {
    this.#subtasks = subtasks;
    this.#tidy = tidy;
  }

  get plan(): Plan {
    return this.#plan;
  }

  get subtasks(): readonly Subtask[] {
    return this.#subtasks;
  }

  get haveAllFinished(): boolean {
    return this.#subtasks.every((subtask) => subtask.hasFinished);
  }

  /** Grows with whatever makes one checkpoint differ from the next. */
  get news(): number {
    return this.#subtasks.reduce((sum, subtask) => sum + subtask.news, 0);
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.bell.ring();
  }

  injectBarrier(checkpoint: number): void {
    this.#injected.push(checkpoint);
    for (const subtask of this.#subtasks) if (subtask.source !== undefined || subtask.hasFinished) subtask.injectBarrier(checkpoint);
    this.bell.ring();
  }

  abortCheckpoint(checkpoint: number): void {
    this.#forget(checkpoint);
    for (const subtask of this.#subtasks) subtask.abortCheckpoint(checkpoint);
    this.bell.ring();
  }

  /**
   * Makes the sinks keep their promises; one whose target is down holds up no other.
   * @throws what the first failing sink rejected with; the call is repeated then
   */
  async completeCheckpoint(checkpoint: number): Promise<void> {
    this.#forget(checkpoint);
    const sinks = this.#subtasks.flatMap((subtask) => [...subtask.sinks.values()]);
    await inTurn(sinks.map((sink) => () => sink.commit(checkpoint)));
  }

  onFinished(subtask: Subtask): void {
    for (const checkpoint of this.#injected) subtask.injectBarrier(checkpoint);
  }

  async run(hooks: AttemptHooks): Promise<AttemptEnd> {
    const { scheduler, clock } = this.#ports;
    const runnable: Subtask[] = [];
    for (;;) {
      if (this.#failure !== undefined) return { kind: 'failed', error: this.#failure.error };
      if (hooks.isCancelled()) return { kind: 'cancelled' };
      const nextTickMs = hooks.tick();
      if (hooks.isOver === undefined ? this.haveAllFinished : hooks.isOver()) return { kind: 'ended' };
      runnable.length = 0;
      for (const subtask of this.#subtasks) if (subtask.isRunnable) runnable.push(subtask);
      if (runnable.length > 0) {
        this.#step(runnable[scheduler.pick(runnable.length)] as Subtask);
        const breath = scheduler.breathe(hooks.isAwaitingIo?.() ?? false);
        if (breath !== undefined) await breath;
        continue;
      }
      const heard = this.bell.hear();
      const wakeInMs = Math.min(nextTickMs ?? Number.POSITIVE_INFINITY, this.#nextWakeMs());
      if (wakeInMs === Number.POSITIVE_INFINITY) {
        await heard;
        continue;
      }
      const sleep = clock.sleep(Math.max(0, wakeInMs));
      await Promise.race([heard, sleep.done]);
      sleep.cancel();
    }
  }

  /** Gives up what is open; never rejects. */
  async discard(): Promise<void> {
    await discardAll(this.#subtasks);
  }

  /** Closes everything. @throws the first error, once all have been closed */
  async close(): Promise<void> {
    const closing = this.#subtasks.flatMap(({ sinks, source, host }) => [
      ...Array.from(
        sinks.values(),
        ({ writer }) =>
          () =>
            writer.close(),
      ),
      () => source?.close(),
      () => host.close(),
    ]);
    await inTurn([...closing, this.#tidy]);
  }

  accumulators(): Record<string, unknown> {
    return accumulatorResults(this.#subtasks.flatMap((subtask) => subtask.host.accumulators));
  }

  #step(subtask: Subtask): void {
    try {
      const hadFinished = subtask.hasFinished;
      subtask.step();
      if (subtask.hasFinished && !hadFinished) this.onFinished(subtask);
    } catch (error) {
      this.fail(error);
    }
  }

  #forget(checkpoint: number): void {
    const at = this.#injected.indexOf(checkpoint);
    if (at >= 0) this.#injected.splice(at, 1);
  }

  #nextWakeMs(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const subtask of this.#subtasks) next = Math.min(next, subtask.nextWakeAt() ?? next);
    return next - this.#ports.clock.now();
  }
}

/** Makes every call, one after the other. @throws the first error, once all have been made */
async function inTurn(calls: readonly (() => void | Promise<void> | undefined)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const call of calls) {
    try {
      await call();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
