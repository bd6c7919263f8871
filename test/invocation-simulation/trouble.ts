// Records that fail, and who is to blame: what user functions were told to do with them, how often, and how often an environment died or was given up
// while it had them in hand. At the end every poisoned record is parked, and no other one without a reason.

import type { Invocation } from '../../lib/invocation/invocation.ts';
import { isClaim } from '../../lib/invocation/message-codec.ts';
import type { ListedLetter } from '../../lib/invocation/unit/look.ts';
import type { FakeService } from '../../lib/testing/index.ts';
import { rowText } from '../simulation/oracle.ts';
import type { Row } from '../simulation/spec.ts';
import type { Counts } from './counts.ts';
import { messageOf } from './decoded.ts';
import type { Setting } from './random-job.ts';

export class Trouble {
  readonly #setting: Setting;
  readonly #service: FakeService;
  readonly #counts: Counts;
  /** By id of a row: times that a function threw, and that whoever had it in hand was lost. */
  readonly #throws = new Map<string, number>();
  readonly #losses = new Map<string, number>();
  /** Rows whose fault was mended. */
  readonly #mended = new Set<string>();
  /** Processes that died of a record. */
  readonly #kills = new Map<string, number>();

  constructor(setting: Setting, service: FakeService, counts: Counts) {
    this.#setting = setting;
    this.#service = service;
    this.#counts = counts;
  }

  /** What a function does with this row, whenever it is given it. */
  fateOf(row: Row): 'throws' | 'kills' | undefined {
    return this.#mended.has(row.id) ? undefined : this.#setting.poison.get(row.id);
  }

  /** From now on functions survive it. */
  mend(row: Row): void {
    this.#mended.add(row.id);
  }

  isMended(row: Row): boolean {
    return this.#mended.has(row.id);
  }

  hasThrown(row: Row): void {
    this.#counts.count('user code throws');
    add(this.#throws, row.id);
  }

  hasKilled(row: Row): void {
    this.#counts.count('a record kills');
    add(this.#kills, row.id);
  }

  /** Two environments had it in hand at once: each takes the mark of the other for that of a dead one. */
  overlapped(invocation: Invocation): void {
    this.lost(invocation);
  }

  /** An environment died, or was given up, with this in hand. */
  lost(invocation: Invocation): void {
    for (const id of rowsIn(invocation, (name) => this.#service.objects.peek(name))) add(this.#losses, id);
  }

  /** @returns what is wrong with what was parked */
  *judged(letters: readonly ListedLetter[]): Generator<string> {
    for (const { subtask, letter } of letters) {
      if (letter.timer !== undefined) continue;
      const row = letter.batch.values[0] as Row;
      const fate = this.#setting.poison.get(row.id);
      this.#counts.count(fate === 'kills' ? 'killer parked' : fate === 'throws' ? 'thrower parked' : 'parked by bad luck');
      if (fate !== undefined) continue;
      const reasons = (this.#throws.get(row.id) ?? 0) + (this.#losses.get(row.id) ?? 0);
      if (reasons < this.#setting.attemptsMax)
        yield `${subtask} has parked ${row.id} after ${reasons} failures (${letter.error.code}: ${letter.error.message})`;
    }
    for (const [id, times] of this.#kills) if (times > killsMax) yield `${id} has killed ${times} processes`;
  }
}

/** A record may kill once for each halving, and again after each restore. */
const killsMax = 60;

/** Rows that letters keep out of the job: `<uid of the operator that was given them> <text>` → how many. */
export function parkedRows(letters: readonly ListedLetter[], headOf: (subtask: string) => string): ReadonlyMap<string, number> {
  const parked = new Map<string, number>();
  for (const { subtask, letter } of letters)
    if (letter.timer === undefined) add(parked, `${headOf(subtask)} ${rowText(letter.batch.values[0] as Row)}`);
  return parked;
}

function rowsIn(invocation: Invocation, peek: (object: string) => Uint8Array | undefined): readonly string[] {
  if (invocation.kind === 'records') return invocation.records.map((r) => (r.value as Row).id);
  if (invocation.kind !== 'messages') return [];
  return invocation.messages.flatMap((bytes) => {
    const m = messageOf(bytes);
    const stored = isClaim(m) ? peek(m.object) : undefined;
    const whole = isClaim(m) ? stored && messageOf(stored) : m;
    if (whole === undefined || isClaim(whole)) return [];
    return whole.elements.flatMap((e) => (e.kind === 'records' ? e.batch.values.slice(0, e.batch.count).map((v) => (v as Row).id) : []));
  });
}

function add(times: Map<string, number>, name: string): void {
  times.set(name, (times.get(name) ?? 0) + 1);
}
