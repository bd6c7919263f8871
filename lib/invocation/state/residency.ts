// Which slots of an operator's cells hold what is known of their keys. A slot whose key was missed is not asked for again in the same unit.

const state = { unknown: 0, resident: 1, missed: 2 } as const;

export class Residency {
  #of = new Uint8Array(1024);
  #missed: number[] = [];

  isResident(slot: number): boolean {
    return this.#of[slot] === state.resident;
  }

  isMissed(slot: number): boolean {
    return this.#of[slot] === state.missed;
  }

  /** @param slots  that there may be now */
  becomesResident(slot: number, slots: number): void {
    this.#reserve(slot, slots);
    this.#of[slot] = state.resident;
  }

  misses(slot: number, slots: number): void {
    this.#reserve(slot, slots);
    this.#of[slot] = state.missed;
    this.#missed.push(slot);
  }

  forget(slot: number): void {
    this.#of[slot] = state.unknown;
  }

  /** What was missed has been loaded by now, or is asked for again. */
  endUnit(): void {
    for (const slot of this.#missed) if (this.isMissed(slot)) this.forget(slot);
    this.#missed = [];
  }

  #reserve(slot: number, slots: number): void {
    if (slot < this.#of.length) return;
    const grown = new Uint8Array(slots);
    grown.set(this.#of);
    this.#of = grown;
  }
}
