// Counts deaths. A record that kills its process leaves no entry behind, so before a group of records that may do that is run, a marker says which
// ones; whoever finds it knows that the marker's writer did not get through.
//   M1  A marker is written just before its group runs, one group at a time, and what it covers is committed before the next group is marked. So a
//       death is never counted for what had not begun.
//   M2  A marker stands for: generation, group, first record, tries committed for that record, and how many records ran. Only the same of all but the
//       last means another death. A try that was committed, a restore, or progress makes it another story.
//   M3  One marker for each invocation and what it names: an append lost to another writer is no death.
//   M4  A process that gives up alive puts back what it found.
//   M5  After a death half as many records are run. A record that died alone, as often as a record may be tried, is parked without being run.
//   M6  A run whose invocation may still be under way is no death yet: deliveries overlap, and each of them finds the marker of the others. It becomes one
//       when its invocation must be over and has not taken its part of the marker back. Clocks that are wrong make that earlier or later; who does
//       not know when its invocation ends counts at once, and so do many such runs together.

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
  /** Runs of the first record alone so far that count as deaths, this one included where it is not among `alone`. */
  readonly ones: number;
  /** Runs of the first record alone that may still be under way (M6). Absent: none. */
  readonly alone?: readonly RunAlone[] | undefined;
}

export interface RunAlone {
  readonly writer: string;
  /** When its invocation is over at the latest, ms. */
  readonly untilMs: number;
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

/**
 * @param found  what the item holds, written by whoever came before
 * @param run  of this invocation (M6); `undefined`: nobody knows when it is over
 */
export function decideGuard(
  found: Marker | undefined,
  now: MarkedGroup,
  attemptsMax: number,
  run?: RunAlone & { readonly nowMs: number },
): GuardDecision {
  const { generation, group, first, tries, count } = now;
  const died = found !== undefined && isSameRecord(found, now) ? found : undefined;
  const size = Math.min(count, sizeAfterDeath(died?.size, count));
  const before = died?.alone ?? [];
  const alive = before.filter(({ untilMs }) => run !== undefined && run.nowMs <= untilMs + clocksMarginMs);
  const onesBefore = (died?.ones ?? 0) + before.length - alive.length;
  const isAlone = size === 1;
  const own = isAlone && run !== undefined ? [{ writer: run.writer, untilMs: run.untilMs }] : [];
  const aloneMax = attemptsMax * overlapsOfTry;
  const alone = [...alive, ...own].slice(0, aloneMax);
  return {
    size,
    isParked: died?.size === 1 && (onesBefore >= attemptsMax || onesBefore + alive.length >= aloneMax),
    marker: {
      ...{ generation, group, first, tries, size },
      ones: onesBefore + (isAlone && run === undefined ? 1 : 0),
      ...(alone.length === 0 ? {} : { alone }),
    },
  };
}

/** What clocks may be wrong by. */
const clocksMarginMs = 2_000;
/** Three times as many runs as tries are not under way at once: a killer comes again at once, and may not go on killing until its first run must be over. */
const overlapsOfTry = 3;

/** M6, of a process that gives up alive, when others have marked the same group since. `undefined`: nothing of it is left there. */
export function withoutRun(marker: Marker, writer: string): Marker | undefined {
  const alone = marker.alone?.filter((run) => run.writer !== writer);
  return alone === undefined || alone.length === marker.alone?.length ? undefined : { ...marker, alone };
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
