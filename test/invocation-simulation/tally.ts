// Counts of things by name, over one world or a range of seeds.

export class Tally<Name extends string> {
  readonly #names: readonly Name[];
  readonly #mayStayAway: readonly Name[];
  readonly #counts = new Map<string, number>();

  /** @param mayStayAway  names that a long range need not come to */
  constructor(names: readonly Name[], mayStayAway: readonly Name[] = []) {
    this.#names = names;
    this.#mayStayAway = mayStayAway;
  }

  count(what: Name, times = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  add(other: Readonly<Record<string, number>>): void {
    for (const [what, times] of Object.entries(other)) this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  get(what: Name): number {
    return this.#counts.get(what) ?? 0;
  }

  /** What has to come in a long range and did not. */
  get never(): readonly Name[] {
    return this.#names.filter((what) => this.get(what) === 0 && !this.#mayStayAway.includes(what));
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
