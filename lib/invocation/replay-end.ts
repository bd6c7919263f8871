// Where a replay ends: where the sealed parents of a split were, with what lies behind their last good record and is malformed.
//   E1  An index counts good records alone. Whether more was read shows by the place or, where records are counted, by how many malformed ones there were.

import type { Source } from '../api/source.ts';
import type { SplitProgress } from './entry.ts';

export interface ReplayEnd {
  /** As `JobItem.places` has it. */
  readonly place: unknown;
  /** Of a source whose events do not count their records. */
  readonly comparePlaces: Source<unknown>['comparePlaces'];
}

/** By ordinal of the split; `undefined`: nothing is known of it but how many good records were read. */
export type ReplayEnds = (ordinal: number) => ReplayEnd | undefined;

type Progress = Pick<SplitProgress, 'ordinal' | 'position' | 'malformed' | 'replayUntil' | 'hasEnded'>;

/** Pure: the split has to be read on to where its sealed parents were, before its event source goes on. */
export function isReplayDue(split: Progress, ends: ReplayEnds): boolean {
  if (split.hasEnded) return false;
  return (split.position?.index ?? 0) < split.replayUntil || isShortOf(split, ends(split.ordinal));
}

function isShortOf({ position, malformed }: Progress, end: ReplayEnd | undefined): boolean {
  if (end === undefined) return false;
  if (end.comparePlaces === undefined) return malformed < (end.place as number);
  return position?.at === undefined || end.comparePlaces(end.place, position.at) > 0;
}
