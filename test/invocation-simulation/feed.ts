// The event source mapping of one split. It knows how far it was told "done" and nothing else: it cannot seek, it begins a little early at times, it
// does not always wait for an answer, and what was not acknowledged comes again.

import type { EventRecord, Invocation } from '../../lib/invocation/invocation.ts';
import type { SeededRandom } from '../../lib/testing/index.ts';
import type { SplitScript } from '../simulation/spec.ts';
import type { ActorOptions } from './actor.ts';
import { pause } from './fleet.ts';
import { type Arrivals, positionAfter } from './source.ts';

export interface FeedRates {
  /** Rest between two events, ms at most. */
  readonly restMs: number;
  readonly batchMax: number;
  /** The event begins before what was acknowledged. */
  readonly early: number;
  /** The next event is sent before this one was answered. */
  readonly overlap: number;
}

export interface FeedOptions extends ActorOptions {
  readonly arrivals: Arrivals;
  readonly rates: FeedRates;
  /** Who reads the split; `undefined` as long as nobody has a name for it. */
  readonly place: () => { readonly subtask: string; readonly ordinal: number } | undefined;
  readonly script: SplitScript;
}

/** Runs until the job is over. */
export class Feed {
  readonly #o: FeedOptions;
  readonly #random: SeededRandom;
  readonly #knowsRepeats: boolean;
  #acknowledged = 0;
  #isEndAcknowledged = false;
  #sentTo = 0;

  constructor(options: FeedOptions) {
    this.#o = options;
    this.#random = options.random.fork(`feed ${options.script.id}`);
    this.#knowsRepeats = this.#random.chance(0.5);
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  async run(): Promise<void> {
    const { world, chaos, rates, isOver } = this.#o;
    while (!isOver()) {
      await pause(world, this.#random.skewed(rates.restMs));
      const invocation = this.#next();
      if (invocation === undefined) {
        await pause(world, this.#random.between(20, 80));
        continue;
      }
      const delivered = this.#deliver(invocation);
      if (!chaos.happens(rates.overlap)) await delivered;
    }
  }

  #next(): (Invocation & { readonly kind: 'records' }) | undefined {
    const { arrivals, script, rates, chaos, counts } = this.#o;
    const place = this.#o.place();
    if (place === undefined) return undefined;
    const arrived = arrivals.arrived(script);
    // Nobody tells that a shard has ended.
    const isEnd = script.places === undefined && arrived === script.rows.length && arrivals.hasEnded(script);
    const hasNothing = this.#acknowledged >= arrived;
    if (hasNothing && (!isEnd || (this.#isEndAcknowledged && !this.#random.chance(0.02)))) return undefined;
    const from = Math.max(0, this.#acknowledged - (chaos.happens(rates.early) ? this.#random.between(1, 3) : 0));
    const to = Math.min(arrived, this.#acknowledged + this.#random.between(1, rates.batchMax));
    if (from < this.#acknowledged) counts.count('overlapping event');
    else if (from < this.#sentTo) counts.count('redelivered event');
    // Some mappings know whether they have given any of it before, others do not.
    const isAgain = this.#knowsRepeats ? from < this.#sentTo : undefined;
    this.#sentTo = Math.max(this.#sentTo, to);
    const records = script.rows.slice(from, to).map((value, i): EventRecord => ({ value, after: positionAfter(script, from + i + 1) }));
    const isLast = to === script.rows.length && isEnd;
    return { kind: 'records', subtask: place.subtask, split: place.ordinal, records, isLast, isAgain };
  }

  async #deliver(invocation: Invocation & { readonly kind: 'records' }): Promise<void> {
    const { fleet, counts } = this.#o;
    const answer = await fleet.invoke(invocation);
    if (answer === undefined) return;
    if (answer.kind === 'refused') {
      counts.count('event refused');
      if (answer.why === 'not-an-owner') counts.count('event of a shard without an owner');
      return;
    }
    if (answer.kind === 'partial') counts.count('part of an event acknowledged');
    const count = answer.kind === 'done' ? invocation.records.length : answer.count;
    const last = invocation.records[count - 1];
    if (last !== undefined) this.#acknowledged = Math.max(this.#acknowledged, last.after.index);
    if (answer.kind === 'done' && invocation.isLast) this.#isEndAcknowledged = true;
  }
}
