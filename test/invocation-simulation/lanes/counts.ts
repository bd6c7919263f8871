// What happened to lanes, over all seeds; see the counts of the other scenario.

export const laneHappenings = [
  'received again',
  'event of several lanes',
  'part of the messages settled',
  'marker written',
  'a message kills',
  'dies under its marker',
  'dies behind its commit',
  'killer parked',
  'thrower parked',
  'parked by bad luck',
  'redriven',
  'kept input to replay',
  'position forgotten',
  'dropped by the queue',
] as const;

export type LaneHappening = (typeof laneHappenings)[number];

export class LaneCounts {
  readonly #counts = new Map<string, number>();

  count(what: LaneHappening, times = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  add(other: Readonly<Record<string, number>>): void {
    for (const [what, times] of Object.entries(other)) this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  get(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  get never(): readonly LaneHappening[] {
    return laneHappenings.filter((what) => this.get(what) === 0);
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
