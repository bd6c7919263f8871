// Draws a source whose shards split and merge while its rows come: which shard holds which key is decided by the placement of the key, as in the
// engine, and nothing is put into a shard before its parents are closed.

import { murmur3Binary } from '../../lib/core/hash.ts';
import { encodedOf, normalizeKey } from '../../lib/core/key-codec.ts';
import type { SeededRandom } from '../../lib/testing/index.ts';
import { keySelector } from '../simulation/build.ts';
import type { EvolutionScript, KeyForm, Row, SplitScript } from '../simulation/spec.ts';

interface Shard {
  readonly id: string;
  readonly from: number;
  readonly to: number;
  readonly rows: Row[];
  readonly places: number[];
}

const rangeMax = 2 ** 32 - 1;

export interface EvolutionDraw {
  readonly id: string;
  /** In order; all of one `s`. */
  readonly rows: readonly Row[];
  readonly key: KeyForm;
  readonly isPinned: boolean;
  /** How likely a change lies before a row. */
  readonly changes: number;
}

/** @returns the shards as splits, and how they follow one another */
export function drawEvolution(
  random: SeededRandom,
  draw: EvolutionDraw,
): { readonly splits: readonly SplitScript[]; readonly evolution: EvolutionScript } {
  return new Evolving(random, draw).drawn();
}

class Evolving {
  readonly #random: SeededRandom;
  readonly #draw: EvolutionDraw;
  readonly #all: Shard[] = [];
  readonly #changes: { place: number; parents: string[]; children: string[] }[] = [];
  #open: Shard[] = [];
  #place = 0;

  constructor(random: SeededRandom, draw: EvolutionDraw) {
    this.#random = random;
    this.#draw = draw;
  }

  drawn(): { readonly splits: readonly SplitScript[]; readonly evolution: EvolutionScript } {
    const { rows, key, isPinned, changes } = this.#draw;
    const whole = { from: 0, to: rangeMax };
    if (this.#random.chance(0.5)) this.#open = [this.#shard(whole.from, whole.to)];
    else {
      const cut = this.#cut(whole);
      this.#open = [this.#shard(0, cut - 1), this.#shard(cut, rangeMax)];
    }
    const initial = this.#all.length;
    for (const row of rows) {
      if (this.#random.chance(changes)) this.#change();
      const at = this.#placementOf(row);
      const shard = this.#open.find(({ from, to }) => from <= at && at <= to)!;
      shard.rows.push(row);
      shard.places.push(this.#place++);
    }
    if (this.#random.chance(changes)) this.#change();
    return {
      splits: this.#all.map((s) => ({ id: s.id, rows: s.rows, pauses: {}, places: s.places })),
      evolution: {
        key,
        isPinned,
        initial,
        changes: this.#changes,
        ranges: Object.fromEntries(this.#all.map(({ id, from, to }) => [id, { from, to }])),
        length: this.#place,
      },
    };
  }

  #change(): void {
    const random = this.#random;
    const i = random.below(this.#open.length);
    const [low, high] = [this.#open[i]!, this.#open[i + 1]];
    const place = this.#place++;
    if (high !== undefined && random.chance(0.5)) {
      const merged = this.#shard(low.from, high.to);
      this.#open.splice(i, 2, merged);
      this.#changes.push({ place, parents: [low.id, high.id], children: [merged.id] });
      return;
    }
    const cut = this.#cut(low);
    const parts = [this.#shard(low.from, cut - 1), this.#shard(cut, low.to)];
    this.#open.splice(i, 1, ...parts);
    this.#changes.push({ place, parents: [low.id], children: parts.map(({ id }) => id) });
  }

  /** Between the keys of the range where there are several, so that a split parts them. */
  #cut({ from, to }: { readonly from: number; readonly to: number }): number {
    const places = [...new Set(this.#draw.rows.map((row) => this.#placementOf(row)))];
    const inside = places.filter((at) => at > from && at <= to);
    return inside.length === 0 ? Math.min(to, from + 1 + Math.floor((to - from) / 2)) : this.#random.pick(inside);
  }

  #placementOf(row: Row): number {
    return murmur3Binary(encodedOf(normalizeKey(keySelector(this.#draw.key, this.#draw.isPinned)(row))));
  }

  #shard(from: number, to: number): Shard {
    const shard: Shard = { id: `${this.#draw.id}.${this.#all.length}`, from, to, rows: [], places: [] };
    this.#all.push(shard);
    return shard;
  }
}
