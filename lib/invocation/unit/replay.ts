// A replay reads what a sealed parent had read already, from the subtask's own position on: what its caller knows may be a generation old.
// Where the source tells places, records that are missing show by theirs: a count alone would take later ones for them.
// It is over when a call finds nothing left after the newest entry has been delivered, not when a log shows the position.

import { SluiceError } from '../../core/errors.ts';
import { sourceOf } from '../coordinator/owners.ts';
import { splitName } from '../coordinator/restored-entry.ts';
import type { SplitProgress } from '../entry.ts';
import { type EventPart, readRecords } from '../event-records.ts';
import type { Answer, Invocation } from '../invocation.ts';
import { isReplayDue } from '../source-intake.ts';
import { takeRecords } from './records.ts';
import type { UnitServices } from './services.ts';
import { done, refuse, type Session } from './session.ts';
import type { WarmSubtask } from './warm-subtask.ts';

export async function replay(session: Session, invocation: Extract<Invocation, { kind: 'replay' }>): Promise<Answer> {
  const admission = await session.admit(true);
  if (admission.kind === 'refused') return refuse(admission.why);
  const { warm } = admission;
  if (warm.ring.generation !== invocation.generation) return refuse('other-generation');
  const progress = warm.newest.head.splits.find(isReplayDue);
  if (progress === undefined) return done;
  const { records, isLast } = await readOn(warm, progress, invocation.recordsMax, session.services);
  const reached = records.at(-1)?.after.index ?? progress.position?.index ?? 0;
  if (isLast && reached < progress.replayUntil) throw inputGone(warm, progress, reached);
  if (hasHole(warm, progress, records)) throw inputThinned(warm, progress);
  const answer = await takeRecords(session, {
    subtask: session.subtask,
    split: progress.ordinal,
    records,
    // The end of a split that gives way to others is not the end of what it says; that is the coordinator's to find out. A topic only ends for now.
    isLast: isLast && sourceOf(warm.stage)?.evolution === undefined && sourceOf(warm.stage)?.splitOf === undefined,
    isReplay: true,
    isAgain: true,
  });
  // Not over yet: the next call reads on, or finds that nothing is left.
  return answer.kind === 'done' ? { kind: 'partial', count: records.length, why: 'replay-first' } : answer;
}

/** Pure: a record that the sealed parent cannot have read stands in the place of one that it has. */
function hasHole({ item, ring, stage }: WarmSubtask, { ordinal, replayUntil }: SplitProgress, records: EventPart['records']): boolean {
  const comparePlaces = sourceOf(stage)?.comparePlaces;
  const place = new Map(item.places).get(splitName(ring.subtask, ordinal));
  if (comparePlaces === undefined || place === undefined) return false;
  return records.some(({ side, after }) => side === undefined && after.index <= replayUntil && comparePlaces(after.at, place) > 0);
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

async function readOn(warm: WarmSubtask, progress: SplitProgress, recordsMax: number, services: UnitServices): Promise<EventPart> {
  const { position: from, malformed, split, replayUntil } = progress;
  const context = services.sourceContext(warm.stage.operators[0]!.uid);
  const reader = services.openSplit({ stage: warm.stage, split, from, context });
  try {
    return await readRecords(reader, { recordsMax: Math.min(recordsMax, replayUntil - (from?.index ?? 0)), malformed });
  } finally {
    await reader.close();
  }
}
