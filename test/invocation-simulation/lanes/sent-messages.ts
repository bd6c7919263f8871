// Messages that were sent to the queue, and what entries tell of each: that it was taken, parked or redriven.

import type { Entry } from '../../../lib/invocation/entry.ts';
import { decodeUnit } from '../../../lib/invocation/lane/kept-format.ts';
import { type LaneQueue, laneOf, laneRecord } from '../../../lib/invocation/lane/queues.ts';
import { decodeLetter, letterId, letterIdOf, lettersAddress } from '../../../lib/invocation/poison/dead-letters.ts';
import type { ListedLetter } from '../../../lib/invocation/unit/look.ts';
import type { FakeQueue, SeededRandom } from '../../../lib/testing/index.ts';
import type { Blame } from './blame.ts';
import type { LaneCounts } from './counts.ts';
import type { LaneSetting, Letter } from './job.ts';
import type { Kind, Sent } from './judgement.ts';

export interface SentOptions {
  readonly setting: LaneSetting;
  readonly queue: FakeQueue;
  /** As the plan has it. */
  readonly planned: LaneQueue;
  readonly blame: Blame;
  readonly happened: LaneCounts;
  /** Tries of a message that fails. */
  readonly attemptsMax: number;
  readonly fail: (what: string) => void;
}

export class SentMessages {
  readonly list: Sent[] = [];
  readonly #o: SentOptions;

  constructor(options: SentOptions) {
    this.#o = options;
  }

  send(random: SeededRandom): void {
    const dice = random.below(100);
    const kind: Kind = dice < 5 ? 'throws' : dice < 10 ? 'kills' : dice < 20 ? 'buggy' : 'fine';
    const letter = { id: this.list.length, group: `g${random.below(6)}` };
    const message = this.#o.queue.send({ group: letter.group, body: letter });
    this.list.push({ letter, kind, message, kills: new Map(), isRedriven: false, hasLeft: false, wasTaken: false });
  }

  /** The message that is parked in a letter. */
  parkedIn({ letter }: Pick<ListedLetter, 'letter'>): Sent {
    return this.list[(letter.batch.values[0] as Letter).id]!;
  }

  /** Where it is parked when it is. */
  letterOf(sent: Sent): { readonly subtask: string; readonly id: string } {
    return { subtask: this.#laneOf(sent), id: this.#letterId(sent) };
  }

  /** The subtask that keeps the state of its key. */
  keeperOf(sent: Sent): string {
    return this.#o.setting.order === 'fifo' ? this.#laneOf(sent) : '1-0';
  }

  /** Told of every entry. */
  meetEntry({ head, body }: Entry): void {
    const { happened } = this.#o;
    if (head.lane?.replay !== undefined && head.kind === 'init') happened.count('kept input to replay', head.lane.replay.count);
    for (const unit of (body.kept ?? []).map(decodeUnit)) {
      if (unit.kind === 'message') this.list[(unit.message.body as Letter).id]!.wasTaken = true;
    }
    for (const { address, value } of body.delta.writes) {
      if (address.operator === '#positions' && value === undefined) happened.count('position forgotten');
      // What a restore carries over says nothing new.
      if (address.operator !== lettersAddress('').operator || head.kind === 'init') continue;
      if (value === undefined) this.#meetRedriven(letterIdOf(address.sub));
      else this.#meetParked(decodeLetter(value), head.generation);
    }
  }

  #meetRedriven(id: string): void {
    const redriven = this.list.find((one) => this.#letterId(one) === id);
    if (redriven !== undefined) redriven.hasLeft = true;
  }

  #meetParked(letter: ReturnType<typeof decodeLetter>, generation: number): void {
    const { happened, blame, attemptsMax, fail } = this.#o;
    const {
      kind,
      letter: { id },
    } = this.parkedIn({ letter });
    const isDeath = letter.error.code === 'RECORD_KILLS';
    happened.count(kind === 'kills' ? 'killer parked' : isDeath ? 'parked by bad luck' : 'thrower parked');
    const deaths = blame.deathsOf(`${letter.place}/${letter.record}`, generation);
    if (isDeath && kind !== 'kills' && deaths < attemptsMax) fail(`message ${id} (${kind}) is parked after ${deaths} deaths`);
  }

  #laneOf({ message }: Sent): string {
    return `0-${laneOf(message, this.#o.setting)}`;
  }

  #letterId({ message }: Sent): string {
    return letterId(laneRecord(message, this.#o.planned).name);
  }
}
