// Counts deaths. A record that kills its process leaves no entry behind, so before a group of records that may do that is run, a marker says which
// ones; whoever finds it knows that the marker's writer did not get through.
//   M1  A marker is written just before its group runs, one group at a time, and what it covers is committed before the next group is marked. So a
//       death is never counted for what had not begun.
//   M2  A marker stands for: generation, group, first record, tries committed for that record, and how many records ran. Only the same of all but the
//       last means another death. A try that was committed, a restore, or progress makes it another story.
//   M3  One marker for each invocation and what it names: an append lost to another writer is no death.
//   M4  A process that gives up alive puts back what it found.
//   M5  After a death half as many records are run. A record that died alone, as often as a record may be tried, is parked without being run.

/** As kept in the item `marker/<subtask>/<group>`. */
export interface Marker {
  readonly generation: number;
  readonly group: string;
  /** First record that ran, by its position in the group. */
  readonly first: string;
  /** Tries of that record that were committed. */
  readonly tries: number;
  /** Records that ran, from the first. */
  readonly size: number;
  /** Runs of the first record alone so far, this one included. */
  readonly ones: number;
}

/** What is about to run. */
export interface MarkedGroup {
  readonly generation: number;
  readonly group: string;
  readonly first: string;
  readonly tries: number;
  /** Records that are there. */
  readonly count: number;
}

export interface GuardDecision {
  /** Records to run, from the first. */
  readonly size: number;
  /** The first one is not run: a dead letter takes its place. */
  readonly isParked: boolean;
  /** To be put before the run. */
  readonly marker: Marker;
}

/**
 * Whether a group needs a marker.
 * @param facts.isAgain  some of its records were handed out before; `undefined`: the event source cannot tell
 * @param facts.isCold  this process has just recovered the subtask; it may stand where another one died
 */
export function needsMarker(facts: { readonly isAgain: boolean | undefined; readonly isCold: boolean }): boolean {
  return facts.isAgain ?? facts.isCold;
}

/** M3. @param mine  what this invocation has put for the group; `undefined`: nothing yet */
export function needsNewMarker(mine: Marker | undefined, now: MarkedGroup): boolean {
  return mine === undefined || !isSameRecord(mine, now);
}

/** @param found  what the item holds, written by whoever came before */
export function decideGuard(found: Marker | undefined, now: MarkedGroup, attemptsMax: number): GuardDecision {
  const { generation, group, first, tries, count } = now;
  const died = found !== undefined && isSameRecord(found, now) ? found : undefined;
  const size = Math.min(count, sizeAfterDeath(died?.size, count));
  const onesBefore = died?.ones ?? 0;
  return {
    size,
    isParked: died?.size === 1 && onesBefore >= attemptsMax,
    marker: { generation, group, first, tries, size, ones: onesBefore + (size === 1 ? 1 : 0) },
  };
}

function isSameRecord(marker: Marker, now: MarkedGroup): boolean {
  if (marker.group !== now.group) return false;
  if (marker.first !== now.first) return false;
  if (marker.generation !== now.generation) return false;
  if (marker.tries !== now.tries) return false;
  return true;
}

/** @param died  records that ran when the process died; `undefined`: none died */
function sizeAfterDeath(died: number | undefined, count: number): number {
  return died === undefined ? count : Math.max(1, Math.floor(died / 2));
}

/** M4, at the end of an invocation. `restore`: what it had found goes back. @param isMine  the item still holds what this invocation put */
export function decideAtEnd(facts: { readonly isCommitted: boolean; readonly isMine: boolean }): 'restore' | 'remove' | 'leave' {
  if (!facts.isMine) return 'leave';
  return facts.isCommitted ? 'remove' : 'restore';
}

export function markerName(subtask: string, group: string): string {
  return `marker/${subtask}/${group}`;
}
