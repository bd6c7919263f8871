// Whoever redrives messages: any of them at random, whether it is parked or not, and in the end those that would not fail any more.

import type { Answer } from '../../../lib/invocation/invocation.ts';
import type { ListedLetter } from '../../../lib/invocation/unit/look.ts';
import type { SeededRandom } from '../../../lib/testing/index.ts';
import type { ActorOptions } from '../actor.ts';
import { pause } from '../fleet.ts';
import type { LaneCounts } from './counts.ts';
import type { Sent } from './judgement.ts';
import type { SentMessages } from './sent-messages.ts';

export interface RedriverOptions extends ActorOptions {
  readonly sent: SentMessages;
  readonly letters: () => Promise<readonly ListedLetter[]>;
  /** Deaths of a record in this generation. */
  readonly deathsOf: (record: string) => number;
  /** Tries of a message that fails. */
  readonly attemptsMax: number;
  readonly happened: LaneCounts;
  readonly fail: (what: string) => void;
}

export class Redriver {
  readonly #o: RedriverOptions;
  readonly #random: SeededRandom;

  constructor(options: RedriverOptions) {
    this.#o = options;
    this.#random = options.random.fork('redriver');
  }

  async run(): Promise<void> {
    const { world, chaos, sent, isOver } = this.#o;
    while (!isOver()) {
      await pause(world, this.#random.between(20, 200));
      const candidates = sent.list.filter(({ kind }) => kind !== 'kills');
      if (candidates.length === 0 || !chaos.happens(0.5)) continue;
      const one = this.#random.pick(candidates);
      await this.#redrive(one, sent.letterOf(one));
    }
  }

  /** What is parked and would not fail any more is redriven; then it must have its effect. */
  async redriveTheMended(): Promise<void> {
    const { sent, happened, attemptsMax, deathsOf, fail } = this.#o;
    for (const parked of await this.#o.letters()) {
      const one = sent.parkedIn(parked);
      if (one.kind !== 'fine' && one.kind !== 'buggy') continue;
      if (one.hasLeft && deathsOf(`redrive/${parked.id}`) < attemptsMax) fail(`the redrive of message ${one.letter.id} was undone`);
      for (let tries = 0; tries < 20; tries++) if ((await this.#redrive(one, parked))?.kind === 'done') break;
      happened.count('redriven');
    }
  }

  #redrive(sent: Sent, { subtask, id }: Pick<ListedLetter, 'subtask' | 'id'>): Promise<Answer | undefined> {
    sent.isRedriven = true;
    return this.#o.fleet.invoke({ kind: 'redrive', subtask, letter: id });
  }
}
