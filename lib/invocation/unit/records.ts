// Records of a source: those that are not taken yet are run and committed with the position behind them. A large event is run in slices, so that
// an invocation that runs out of time commits what it has.
//   T1  Dropping repeats needs no look at the changelog; saying that a replay is due, or that something is missing, does.
//   T2  The end of the last split ends the subtask: event time ends, what is due fires, and the end goes on to everyone, in one entry.
//   T3  Under AT_MOST_ONCE the position is committed before anything runs: a crash in between loses records, and repeats none.

import { batchRecordsMax, finalWatermark } from '../../core/batch.ts';
import { SluiceError } from '../../core/errors.ts';
import type { PlannedOperator } from '../../graph/plan.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import { sourceOrigin } from '../../runtime/source-progress.ts';
import { type EntryHead, emptyBody } from '../entry.ts';
import type { Answer } from '../invocation.ts';
import { appendTriesMax } from '../limits.ts';
import { SourceIntake, type SourceTarget, type SplitEvent, type Taken } from '../source-intake.ts';
import { makeRoom } from './commit.ts';
import { proposalOf } from './proposal.ts';
import { run } from './run.ts';
import { done, refuse, type Session } from './session.ts';
import type { WarmSubtask } from './warm-subtask.ts';

interface Step {
  readonly intake: SourceIntake;
  readonly taken: Taken;
  /** Records of the event, from the first, that were looked at. */
  readonly count: number;
  readonly hasEnded: boolean;
}

export type RecordsEvent = SplitEvent & { readonly subtask: string };

export async function takeRecords(session: Session, event: RecordsEvent): Promise<Answer> {
  const { services } = session;
  let isSure = event.isReplay;
  let promised: EntryHead | undefined; // under AT_MOST_ONCE: the head before the event's position was committed
  for (let tries = 0; tries < appendTriesMax; tries++) {
    const admission = await session.admit(isSure);
    if (admission.kind === 'refused') return refuse(admission.why);
    const { warm } = admission;
    if (!(await makeRoom(warm))) return refuse('ring-full');
    if (services.mode === 'AT_MOST_ONCE' && promised === undefined) {
      const { head } = warm.newest;
      if ((await commitPosition(session, warm, event)) === 'lost') continue;
      promised = head;
    }
    const before = promised ?? warm.newest.head;
    const ran = await run(warm, services, (host) => step(host, warm, { event, before, session }));
    if (ran.kind === 'failed') throw ran.error;
    const { intake, taken, count, hasEnded } = ran.value;
    if (!intake.hasChanged && !hasEnded) {
      warm.state.abandonUnit();
      if (taken.kind === 'all' || isSure) return answerTo(taken, count, event);
      isSure = true;
      continue;
    }
    const { messages, sent } = warm.outbox.pack(ran.effects.emissions, warm.newest.head);
    const { splits, watermark } = intake.parts();
    const head = { splits: promised === undefined ? splits : warm.newest.head.splits, watermark, sent, ...(hasEnded ? { hasEnded } : {}) };
    const outcome = await session.commit(warm, await proposalOf(warm, ran, { head, messages, services }));
    if (outcome === 'committed') return answerTo(taken, count, event);
  }
  return refuse('contended');
}

function step(
  host: OperatorHost,
  warm: WarmSubtask,
  p: { readonly event: SplitEvent; readonly before: EntryHead; readonly session: Session },
): Step {
  const { event, before, session } = p;
  const intake = new SourceIntake(intakeOptions(warm, before));
  const to = targetOf(host);
  let taken: Taken = { kind: 'all' };
  let count = 0;
  do {
    const slice = sliceOf(event, count);
    taken = intake.take({ ...event, ...slice }, to);
    if (taken.kind !== 'all') return { intake, taken, count: taken.kind === 'gap' ? count + taken.count : 0, hasEnded: false };
    count += slice.records.length;
  } while (count < event.records.length && !session.isOutOfTime);
  const hasEnded = !warm.newest.head.hasEnded && intake.hasEnded;
  if (hasEnded) end(host);
  return { intake, taken, count, hasEnded };
}

/** The next records of the event, cut behind a good one. */
function sliceOf(event: SplitEvent, from: number): Pick<SplitEvent, 'records' | 'isLast'> {
  const { records } = event;
  let to = Math.min(from + batchRecordsMax, records.length);
  while (to < records.length && records[to - 1]?.side !== undefined) to += 1;
  return { records: records.slice(from, to), isLast: event.isLast && to === records.length };
}

export function targetOf(host: OperatorHost): SourceTarget {
  return {
    records: (batch) => host.process(batch, 0),
    side: (tag, value, cause) => host.emitSide(tag, value, Number.NEGATIVE_INFINITY, cause),
    watermark: (timestamp) => {
      while (!host.advanceWatermark(timestamp));
    },
  };
}

export function end(host: OperatorHost): void {
  while (!host.advanceWatermark(finalWatermark));
  host.broadcast({ kind: 'end' });
}

export function intakeOptions(warm: WarmSubtask, head: EntryHead): ConstructorParameters<typeof SourceIntake>[0] {
  const operator = warm.stage.operators[0] as PlannedOperator;
  const spec = operator.node.operator;
  if (spec.kind !== 'source') {
    throw new SluiceError('SUBTASK_UNKNOWN', {
      message: `subtask ${warm.ring.subtask} reads no source, and was given records`,
      next: 'report-a-bug',
    });
  }
  const { source, watermarks } = spec;
  return {
    head,
    uid: operator.uid,
    watermarks,
    isEager: source.isEager,
    origins: operator.carriesOrigins === true ? sourceOrigin(operator.uid, source, warm.ring.generation) : undefined,
  };
}

function answerTo(taken: Taken, count: number, event: SplitEvent): Answer {
  switch (taken.kind) {
    case 'all':
      return count === event.records.length ? done : { kind: 'partial', count, why: 'out-of-time' };
    case 'gap':
      return taken.count > 0 ? { kind: 'partial', count, why: 'gap' } : refuse('gap');
    case 'replay-first':
      return refuse('replay-first');
    case 'unknown-split':
      return refuse('not-an-owner');
  }
}

const ignore: SourceTarget = { records: () => undefined, side: () => undefined, watermark: () => undefined };

/** Commits how far the event goes, and nothing of what it does. */
async function commitPosition(session: Session, warm: WarmSubtask, event: SplitEvent): Promise<'committed' | 'lost'> {
  const intake = new SourceIntake(intakeOptions(warm, warm.newest.head));
  intake.take(event, ignore);
  if (!intake.hasChanged) return 'committed';
  warm.state.beginUnit();
  return session.commit(warm, { kind: 'data', head: { splits: intake.parts().splits }, body: emptyBody });
}
