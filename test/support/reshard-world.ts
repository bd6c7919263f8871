// An invocation world whose source is made of shards. Every shard has a mapping of its own that delivers whenever it is asked to, children before
// anybody owns them too, and never goes back.

import type { SourceContext } from '../../lib/api/source.ts';
import { knownSplits } from '../../lib/invocation/coordinator/changes.ts';
import { type PulseEvent, pulse } from '../../lib/invocation/coordinator/pulse.ts';
import { pollRecords } from '../../lib/invocation/event-records.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import { type FakeCall, fakePorts } from '../../lib/testing/index.ts';
import { InvocationWorld, type InvocationWorldOptions } from './invocation-world.ts';
import type { Shards } from './shards.ts';

export class ReshardWorld<T> extends InvocationWorld {
  readonly shards: Shards<T>;
  readonly events: PulseEvent[] = [];
  /** Requests of pulses so far. */
  requests = 0;
  /** The request of this number, and all later ones of its pulse, do not happen; `after`: its reply alone is lost. */
  cutAt: { readonly request: number; readonly when: 'before' | 'after' } | undefined;
  readonly #coordinatorPorts: InvocationPorts;
  readonly #read = new Map<string, number>();
  readonly #batch: number;
  #isCut = false;

  constructor(shards: Shards<T>, o: InvocationWorldOptions) {
    super(o);
    this.shards = shards;
    this.#batch = o.batch ?? 2;
    const call: FakeCall = async (_method, _place, effect) => {
      if (this.#isCut) throw new Error('cut off');
      const cut = this.cutAt;
      this.requests += 1;
      this.#isCut = cut?.request === this.requests;
      if (this.#isCut && cut?.when === 'before') throw new Error('cut off');
      const reply = effect();
      if (this.#isCut) throw new Error('cut off');
      return reply;
    };
    this.#coordinatorPorts = fakePorts(this.service, call);
  }

  override async pulse(): Promise<void> {
    this.now += 1_000;
    this.#isCut = false;
    const { plan, clock, random, settler } = this;
    const once = pulse({
      ports: this.#coordinatorPorts,
      plan,
      control: { invoke: (i) => this.invoke(i) },
      settler,
      clock,
      random,
      ticks: () => true,
      sourceContext: () => ({}) as SourceContext,
      onEvent: (event) => this.events.push(event),
    });
    await once.catch((error: unknown) => {
      if (!this.#isCut) throw error;
    });
  }

  override async feed(): Promise<boolean> {
    let hasFed = false;
    const ordinals = new Map([...(await knownSplits(this.ports, 0))].map(([ordinal, { id }]) => [id, ordinal]));
    for (const { split } of this.shards.all) {
      const ordinal = ordinals.get(split.id);
      const at = this.#read.get(split.id) ?? 0;
      if (ordinal === undefined) continue;
      const { records } = pollRecords(this.shards.open(split.id, { index: at, at }), { recordsMax: this.#batch, malformed: 0 });
      if (records.length === 0) continue;
      const answer = await this.invoke({ kind: 'records', subtask: `0-s${ordinal}`, split: ordinal, records, isLast: false });
      if (answer.kind !== 'done') continue;
      hasFed = true;
      this.#read.set(split.id, records.at(-1)!.after.index);
    }
    return hasFed;
  }

  /** Until nothing is left to do but what the next interval brings. */
  async settle(rounds = 12): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      while (await this.feed());
      while (await this.drain());
      await this.pulse();
    }
  }

  async finish(roundsMax = 200): Promise<void> {
    this.shards.end();
    for (let round = 0; round < roundsMax; round++) {
      await this.feed();
      while (await this.drain());
      await this.pulse();
      if ((await this.item()).status === 'finished') return;
    }
    throw new Error(`not finished: ${JSON.stringify(await this.item())} ${JSON.stringify(this.events.slice(-5))}`);
  }

  /** Every mapping has been told that its records are done. */
  get isAllAcknowledged(): boolean {
    return this.shards.all.every(({ split, records }) => (this.#read.get(split.id) ?? 0) === records.length);
  }
}
