// Drives an intake over the messages of an event, for the run and before it.
//   V1  What an event sets free runs with it, and may be all that runs: who asks what a run could die of has to let the same messages through the same
//       intake, as far as the next barrier entry, which is committed before anything behind it runs.
//   V2  Whoever is out of time stops between two messages, so that what is done is committed; the first one runs in any case.

import type { Intake, IntakeTarget, StoredMessage } from '../intake.ts';
import type { RecordName } from '../poison/attempts.ts';
import type { DecodedMessage } from './fresh.ts';

export interface Incoming extends DecodedMessage {
  readonly stored: StoredMessage;
}

export interface Taken {
  /** Messages, from the first, that are taken or need not be. */
  readonly taken: number;
  /** `failed`: a record of the next message failed, or the message may have killed. */
  readonly stop: 'newer-generation' | 'gap' | 'failed' | 'out-of-time' | undefined;
}

export function takeEvent(
  intake: Intake,
  incoming: readonly Incoming[],
  to: IntakeTarget & { readonly isOutOfTime?: () => boolean },
): Taken {
  let taken = 0;
  let released = 0;
  let stop: Taken['stop'];
  const release = (): void => {
    while (intake.dueBarrier === undefined && intake.hasReleasable && stop === undefined) {
      if (released > 0 && to.isOutOfTime?.() === true) stop = 'out-of-time';
      else if (!intake.release(to)) stop = 'failed';
      else released += 1;
    }
  };
  release();
  for (const { message, stored } of incoming) {
    if (intake.dueBarrier !== undefined || stop !== undefined) break;
    if (taken + released > 0 && to.isOutOfTime?.() === true) {
      stop = 'out-of-time';
      break;
    }
    const verdict = intake.offer(message, stored, to);
    if (verdict === 'newer-generation') stop = verdict;
    if (verdict === 'gap' || verdict === 'unknown-channel') stop = 'gap';
    if (verdict === 'cut') stop = 'failed';
    if (stop !== undefined) break;
    taken += 1;
    release();
  }
  return { taken, stop };
}

/** Records that a run would process, in its order. @param intake  is used up */
export function recordsAhead(
  intake: Intake,
  incoming: readonly Incoming[],
): { readonly first: RecordName | undefined; readonly count: number } {
  let first: RecordName | undefined;
  let count = 0;
  takeEvent(intake, incoming, {
    records: (batch, _input, at) => {
      if (batch.count > 0) first ??= { place: at.place, record: at.record(0) };
      count += batch.count;
    },
    watermark: () => {},
    idle: () => {},
  });
  return { first, count };
}
