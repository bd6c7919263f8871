// One invocation's hold on one subtask: admitted, tail delivered, and after a lost append brought up to date.
//   N1  A session takes the cache out of its environment and gives it back when it ends well. So an invocation that froze and goes on during a
//       later one works on a cache of its own, and an error leaves no cache behind.

import type { Answer, Refusal } from '../invocation.ts';
import { keptBytesMax } from '../limits.ts';
import { roomLeft } from '../ring.ts';
import { type Admission, catchUp, recover } from './admit.ts';
import { type Committed, commit, type Proposal } from './commit.ts';
import { deliver } from './deliver.ts';
import type { InvocationEnd } from './guard.ts';
import { materialise } from './materialise.ts';
import { dropOperators } from './operators.ts';
import type { UnitServices } from './services.ts';
import type { WarmSubtask } from './warm-subtask.ts';

/** Kept free at the end of an invocation for append and deliver. */
export const commitReserveMs = 2_000;

export const done: Answer = { kind: 'done' };
export const refuse = (why: Refusal): Answer => ({ kind: 'refused', why });

export class Session {
  readonly services: UnitServices;
  readonly subtask: string;
  readonly #deadlineMs: number;
  #warm: WarmSubtask | undefined;
  /** An append was lost, or a message spoke of what the cache does not know. */
  #isStale = false;
  #isCold = false;

  constructor(
    services: UnitServices,
    p: { readonly subtask: string; readonly warm: WarmSubtask | undefined; readonly deadlineMs: number },
  ) {
    this.services = services;
    this.subtask = p.subtask;
    this.#warm = p.warm;
    this.#deadlineMs = p.deadlineMs;
  }

  /** What may be kept for the next invocation. */
  get warm(): WarmSubtask | undefined {
    return this.#isStale ? undefined : this.#warm;
  }

  /** This invocation has read all that it knows of the subtask: it may stand where another process died. */
  get isCold(): boolean {
    return this.#isCold;
  }

  /** When this invocation is killed at the latest; `undefined`: nobody knows. */
  get end(): InvocationEnd | undefined {
    const { clock } = this.services;
    return Number.isFinite(this.#deadlineMs) ? { now: () => clock.now(), untilMs: this.#deadlineMs + commitReserveMs } : undefined;
  }

  get isOutOfTime(): boolean {
    return this.services.clock.now() >= this.#deadlineMs;
  }

  /** @param isSure  compare a cache with the head of the changelog, because no append is going to */
  async admit(isSure: boolean): Promise<Admission> {
    const cached = this.#warm;
    if (cached !== undefined) cached.itemAsOf = undefined;
    if (cached !== undefined && (isSure || this.#isStale)) {
      this.#warm = await catchUp(cached, this.services);
      if (this.#warm === undefined) await dropOperators(cached);
    }
    this.#isStale = false;
    if (this.#warm === undefined) {
      const admission = await recover(this.subtask, this.services);
      if (admission.kind === 'refused') return admission;
      this.#warm = admission.warm;
      this.#isCold = true;
    }
    const warm = this.#warm;
    await deliver(warm, this.services);
    return { kind: 'admitted', warm };
  }

  /** Forgets the cache: it belongs to a generation that has passed. */
  async forget(): Promise<void> {
    const warm = this.#warm;
    this.#warm = undefined;
    if (warm !== undefined) await dropOperators(warm);
  }

  /** Appends, and delivers what was appended. */
  async commit(warm: WarmSubtask, proposal: Proposal): Promise<Committed> {
    const outcome = await commit(warm, proposal, this.services);
    if (outcome === 'lost') {
      this.#isStale = true;
      await dropOperators(warm);
      return outcome;
    }
    warm.metrics?.keep();
    this.services.observer?.committed(proposal.rowCount ?? 0);
    await deliver(warm, this.services);
    return outcome;
  }

  /** At the end of an invocation, when there is time: makes room before it is needed. */
  async tidy(): Promise<void> {
    const warm = this.warm;
    if (warm === undefined || this.isOutOfTime) return;
    const { n } = warm.newest.head;
    const room = roomLeft({ n, flushedThrough: warm.flushedThrough, slots: warm.item.ringSlots });
    const isHeavy = (warm.lane?.bytesInRing ?? 0) > keptBytesMax;
    const { flushBelowSlots, flushKeepSlots, residentKeysMax } = this.services.limits;
    if (isHeavy) await materialise(warm, 0);
    else if (room <= flushBelowSlots) await materialise(warm, flushKeepSlots);
    if (warm.state.residentKeys > residentKeysMax) warm.state.evict(residentKeysMax * 0.8); // a look at every key, so not with every unit
  }
}
