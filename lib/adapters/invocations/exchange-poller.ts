// Takes messages of the exchange and delivers them, as the mapping of a queue does.
//   P1  One delivery of a group is under way at a time, and messages of a group go in order. What is not committed is handed out again.
//   P2  A message is taken out only when it was answered as committed and delivered.
//   P3  A store that somebody else keeps, as a worker does that is stopped in the middle of a write, fails nothing here: what was not taken out or
//       given back comes again by time.

import { isSluiceError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import type { Answer, Invocation } from '../../invocation/invocation.ts';
import type { Delivery, Exchange } from '../../invocation/ports.ts';
import { Backoff } from './backoff.ts';
import type { Bell } from './bell.ts';
import { answerOf } from './source-lane.ts';

export interface ExchangePollerOptions {
  readonly exchange: Exchange;
  readonly clock: Clock;
  readonly deliver: (invocation: Invocation) => Promise<Answer>;
  /** Rung when there may be new messages. */
  readonly bell: Bell;
  /** Looks for more only while fewer deliveries than this are under way. */
  readonly inFlightMax: number;
  /** Waits while the job stands still; `false`: the run is over. */
  readonly mayGoOn: () => Promise<boolean>;
  readonly stopped: Promise<void>;
}

const receiveMax = 10;
const lookEveryMs = 20; // another process may have sent; one look costs less than a millisecond
const againAfterMs = 20;
/** A try of a failing record was counted: the next one may come soon, but behind messages of others that are there already. */
const nextTryAfterMs = 2;

export class ExchangePoller {
  readonly #o: ExchangePollerOptions;
  readonly #underWay = new Set<Promise<void>>();
  /** By subtask: errors in a row count over all its messages. */
  readonly #tries = new Map<string, Backoff>();
  /** When the first message that was given back may be taken again, ms. */
  #againMs = Number.POSITIVE_INFINITY;
  #isStopped = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(o: ExchangePollerOptions) {
    this.#o = o;
    void o.stopped.then(() => {
      this.#isStopped = true;
    });
  }

  /** Resolves when the run is over. */
  async run(): Promise<void> {
    const { inFlightMax, bell, mayGoOn } = this.#o;
    while (!this.#isStopped) {
      if (!(await mayGoOn())) break;
      if (this.#failure !== undefined) throw this.#failure.error;
      const deliveries = this.#underWay.size < inFlightMax ? await this.#receive() : [];
      for (const group of groupsOf(deliveries)) this.#begin(group);
      if (deliveries.length === 0) await bell.wait(this.#untilNextLookMs());
    }
    await Promise.allSettled(this.#underWay);
  }

  async #receive(): Promise<readonly Delivery[]> {
    try {
      return await this.#o.exchange.receive({ max: receiveMax });
    } catch (error) {
      if (isKept(error)) return [];
      throw error;
    }
  }

  #untilNextLookMs(): number {
    const leftMs = this.#againMs - this.#o.clock.now();
    if (leftMs <= 0) this.#againMs = Number.POSITIVE_INFINITY;
    return leftMs <= 0 ? lookEveryMs : Math.min(lookEveryMs, Math.max(1, leftMs));
  }

  #begin(group: readonly Delivery[]): void {
    const work = this.#deliver(group)
      .catch((error: unknown) => {
        if (!isKept(error)) this.#failure ??= { error };
      })
      .finally(() => {
        this.#underWay.delete(work);
        this.#o.bell.ring();
      });
    this.#underWay.add(work);
  }

  async #deliver(group: readonly Delivery[]): Promise<void> {
    const { exchange, deliver } = this.#o;
    const subtask = group[0]!.group;
    const tries = this.#triesOf(subtask);
    const isAgain = group.some(({ receives }) => receives > 1);
    const answer = await answerOf(deliver({ kind: 'messages', subtask, messages: group.map(({ bytes }) => bytes), isAgain }), tries);
    const count = answer === undefined || answer.kind === 'refused' ? 0 : answer.kind === 'done' ? group.length : answer.count;
    if (count > 0) tries.reset();
    const receipts = group.map(({ receipt }) => receipt);
    if (count > 0) await exchange.settle(receipts.slice(0, count));
    if (count === receipts.length) return;
    const isTry = answer !== undefined && answer.kind !== 'done' && answer.why === 'record-failed';
    const delayMs = isTry ? nextTryAfterMs : againAfterMs;
    await exchange.release({ receipts: receipts.slice(count), delayMs });
    this.#againMs = Math.min(this.#againMs, this.#o.clock.now() + delayMs);
  }

  #triesOf(subtask: string): Backoff {
    const known = this.#tries.get(subtask);
    if (known !== undefined) return known;
    const tries = new Backoff(this.#o.clock, this.#o.stopped);
    this.#tries.set(subtask, tries);
    return tries;
  }
}

/** P3 */
function isKept(error: unknown): boolean {
  return isSluiceError(error) && error.code === 'STORE_THROTTLED';
}

function groupsOf(deliveries: readonly Delivery[]): Iterable<readonly Delivery[]> {
  return Map.groupBy(deliveries, ({ group }) => group).values();
}
