// A replay reads what a sealed parent had read already, from the subtask's own position on: what its caller knows may be a generation old.
// Where records are counted it may take the good record behind that along; a place is never passed. Where the source tells places, records that are missing show by theirs: a count alone would take later ones for them.
// It is over when a call finds nothing left after the newest entry has been delivered, not when a log shows the position.

import { SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import { sourceOf } from '../coordinator/owners.ts';
import { replayEndsOf } from '../coordinator/restored-entry.ts';
import type { SplitProgress } from '../entry.ts';
import { type EventPart, readRecords } from '../event-records.ts';
import type { Answer, EventRecord, Invocation } from '../invocation.ts';
import { isReplayDue, type ReplayEnd } from '../replay-end.ts';
import { type RecordsEvent, takeRecords } from './records.ts';
import type { UnitServices } from './services.ts';
import { done, refuse, type Session } from './session.ts';
import type { WarmSubtask } from './warm-subtask.ts';

export async function replay(session: Session, invocation: Extract<Invocation, { kind: 'replay' }>): Promise<Answer> {
  const admission = await session.admit(true);
  if (admission.kind === 'refused') return refuse(admission.why);
  const { warm } = admission;
  if (warm.ring.generation !== invocation.generation) return refuse('other-generation');
  const ends = replayEndsOf(warm.item, session.subtask, sourceOf(warm.stage));
  const progress = warm.newest.head.splits.find((split) => isReplayDue(split, ends));
  if (progress === undefined) return done;
  const end = ends(progress.ordinal);
  const { records, isLast, at } = await readOn(warm, { progress, end, recordsMax: invocation.recordsMax }, session.services);
  const reached = records.at(-1)?.after.index ?? progress.position?.index ?? 0;
  if (isLast && reached < progress.replayUntil) throw inputGone(warm, progress, reached);
  if (hasHole(progress, end, records)) throw inputThinned(warm, progress);
  const given = upTo(end, { records, isLast, at });
  const answer = await takeRecords(session, {
    subtask: session.subtask,
    split: progress.ordinal,
    ...given,
    reread: rereading(given.records),
    // The end of a split that gives way to others is not the end of what it says; that is the coordinator's to find out. A topic only ends for now.
    isLast: isLast && sourceOf(warm.stage)?.evolution === undefined && sourceOf(warm.stage)?.splitOf === undefined,
    isReplay: true,
    isAgain: true,
  });
  // Not over yet: the next call reads on, or finds that nothing is left.
  return answer.kind === 'done' ? { kind: 'partial', count: records.length, why: 'replay-first' } : answer;
}

/** Values that cannot be stored are given to each run as they are. */
function rereading(records: readonly EventRecord[]): RecordsEvent['reread'] {
  const again = records.map((record): (() => EventRecord) => {
    try {
      const bytes = encodeValue(record.value);
      return () => ({ ...record, value: decodeValue(bytes) });
    } catch {
      return () => record;
    }
  });
  return () => again.map((one) => one());
}

/** Pure: a record that the sealed parent cannot have read stands in the place of one that it has. */
function hasHole({ replayUntil }: SplitProgress, end: ReplayEnd | undefined, records: EventPart['records']): boolean {
  return records.some(({ side, after }) => side === undefined && after.index <= replayUntil && isBehind(after.at, end));
}

function isBehind(at: unknown, end: ReplayEnd | undefined): boolean {
  return isAt(at, end) && end!.comparePlaces!(at, end!.place) > 0;
}

/** At the end or behind it, where that is a place. */
function isAt(at: unknown, end: ReplayEnd | undefined): boolean {
  return end?.comparePlaces !== undefined && at !== undefined && end.comparePlaces(at, end.place) >= 0;
}

/** Pure: what the sealed parent had taken of this. `through`: that was all of it, whatever has become of what lies at the place itself. */
function upTo(end: ReplayEnd | undefined, { records, isLast, at }: ReadPart): Pick<RecordsEvent, 'records' | 'through'> {
  if (end?.comparePlaces === undefined) return { records };
  const own = records.filter(({ after }) => !isBehind(after.at, end));
  return isLast || isAt(at, end) ? { records: own, through: end.place } : { records: own };
}

/** Ending here would pass over, without a word, what was read before. */
function inputGone(warm: WarmSubtask, { split, replayUntil }: SplitProgress, reached: number): SluiceError {
  const { subtask } = warm.ring;
  return new SluiceError('INPUT_CHANGED', {
    message: `split ${split.id} of subtask ${subtask} ends behind record ${reached} now, and had been read up to record ${replayUntil} before the restore`,
    next: 'repair-state',
    advice: 'bring the input back, or restore a checkpoint that had not read so far',
    subtask,
  });
}

function inputThinned(warm: WarmSubtask, { split, replayUntil }: SplitProgress): SluiceError {
  const { subtask } = warm.ring;
  return new SluiceError('INPUT_CHANGED', {
    message: `split ${split.id} of subtask ${subtask} has fewer records up to where it had been read before the restore, which was record ${replayUntil}`,
    next: 'repair-state',
    advice: 'a source that is compacted, or that drops records, cannot be read again as it was; restore a checkpoint that had read as far',
    subtask,
  });
}

interface ReadPart extends EventPart {
  /** Where the reader is. */
  readonly at: unknown;
}

async function readOn(
  warm: WarmSubtask,
  p: { readonly progress: SplitProgress; readonly end: ReplayEnd | undefined; readonly recordsMax: number },
  services: UnitServices,
): Promise<ReadPart> {
  const { end } = p;
  const { position: from, malformed, split, replayUntil } = p.progress;
  const isPlaced = end?.comparePlaces !== undefined;
  const left = Math.max(1, replayUntil - (from?.index ?? 0));
  const context = services.sourceContext(warm.stage.operators[0]!.uid);
  const reader = services.openSplit({ stage: warm.stage, split, from, context });
  try {
    const recordsMax = isPlaced ? p.recordsMax : Math.min(p.recordsMax, left);
    const part = await readRecords(reader, { recordsMax, malformed, isPlaced, isFarEnough: (at) => isAt(at, end) });
    return { ...part, at: reader.position().at };
  } finally {
    await reader.close();
  }
}
