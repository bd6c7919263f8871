// Who died of what. Markers are watched as they are stored: a process that ends, or is given up, while a marker of its own says that it runs one record
// alone has died of that record as far as anybody can tell. So has one whose record another process runs at the same time. A record that is fine may
// be parked after so many of these, and not before.

import { decodeValue } from '../../../lib/core/value-codec.ts';
import type { Marker } from '../../../lib/invocation/poison/marker.ts';

interface Guarded {
  readonly name: string;
  readonly marker: Marker;
}

export class Blame {
  /** By generation, and the record's name. */
  readonly #deaths = new Map<string, number>();
  readonly #guarded = new Map<string, Guarded>();
  /** Names of puts that were seen. */
  readonly #writers = new Set<string>();

  /** A marker is stored. @param isBusy  the invocation is under way */
  marked(invocation: string, name: string, bytes: Uint8Array, isBusy: boolean): void {
    const [, marker, writer] = decodeValue(bytes) as [number, Marker, string];
    if (this.#writers.has(writer)) {
      this.#guarded.delete(invocation); // what was found is put back
      return;
    }
    this.#writers.add(writer);
    for (const [other, guarded] of this.#guarded) {
      if (other !== invocation && guarded.name === name && guarded.marker.first === marker.first && isAlone(guarded.marker))
        this.#count(guarded.marker);
    }
    if (isBusy) this.#guarded.set(invocation, { name, marker });
    else if (isAlone(marker)) this.#count(marker);
  }

  unmarked(invocation: string): void {
    this.#guarded.delete(invocation);
  }

  /** It died, was given up, or ended without taking its marker back. */
  ended(invocation: string): void {
    const guarded = this.#guarded.get(invocation);
    this.#guarded.delete(invocation);
    if (guarded !== undefined && isAlone(guarded.marker)) this.#count(guarded.marker);
  }

  /** What it had marked is committed; it has not died of that any more. */
  committed(invocation: string): void {
    this.#guarded.delete(invocation);
  }

  isGuarded(invocation: string): boolean {
    return this.#guarded.has(invocation);
  }

  /** @param record  place and record, as the letter would say; or what a replay calls its redrive. Deaths of a record in one generation: a restore makes it another story. */
  deathsOf(record: string, generation: number): number {
    return this.#deaths.get(`${generation}/${record}`) ?? 0;
  }

  #count({ group, first, generation }: Marker): void {
    const name = `${generation}/${fullName(group, first)}`;
    this.#deaths.set(name, (this.#deaths.get(name) ?? 0) + 1);
  }
}

function isAlone({ size }: Marker): boolean {
  return size === 1;
}

/** Markers of groups leave out the place. Other ones (of a replay, of messages between stages) name the record whole. */
function fullName(group: string, first: string): string {
  if (first.includes('/')) return first;
  return group === first ? `in/${first}` : `in/${group}/${first}`;
}
