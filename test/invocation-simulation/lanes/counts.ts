// What happened to lanes, over all seeds; see the counts of the other scenario.

import { Tally } from '../tally.ts';

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

export class LaneCounts extends Tally<LaneHappening> {
  constructor() {
    super(laneHappenings);
  }
}
