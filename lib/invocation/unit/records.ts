// Records of a source: those that are not taken yet are run and committed with the position behind them. A large event is run in slices, so that
// an invocation that runs out of time commits what it has.
//   T1  Dropping repeats needs no look at the changelog; saying that a replay is due, or that something is missing, does.
//   T2  The end of the last split ends the subtask: event time ends, what is due fires, and the end goes on to everyone, in one entry.
//   T3  Under AT_MOST_ONCE the position is committed before anything runs: a crash in between loses records, and repeats none. Time that is nearly over
//       loses none: a slice is promised and then run to its end, before the next one is promised. A replay runs nothing at all: what it reads was taken
//       before.
//   T4  Of a subtask that has given way to others, what is known to be read is done (departed.ts).

import type { Source } from '../../api/source.ts';
import { batchRecordsMax, type RecordBatch } from '../../core/batch.ts';
import { SluiceError } from '../../core/errors.ts';
import type { PlannedOperator } from '../../graph/plan.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import { sourceOrigin } from '../../runtime/source-progress.ts';
import { replayEndsOf } from '../coordinator/restored-entry.ts';
import { type EntryHead, emptyBody } from '../entry.ts';
import type { Answer, EventRecord, Invocation, Refusal } from '../invocation.ts';
import { appendTriesMax } from '../limits.ts';
import { isRecordsFault } from '../poison/attempts.ts';
import type { OneByOne } from '../poison/one-by-one.ts';
import { SourceIntake, type SourceTarget, type SplitEvent, type Taken } from '../source-intake.ts';
import { makeRoom } from './commit.ts';
import { isReadForGood } from './departed.ts';
import { commitCounts, type Failures, failuresOf, tryRun, withLetters } from './failing-run.ts';
import { givenToRuns } from './fresh.ts';
import { Guard } from './guard.ts';
import { proposalOf } from './proposal.ts';
import { done, refuse, type Session } from './session.ts';
import { end } from './timers.ts';
import type { WarmSubtask } from './warm-subtask.ts';

interface Step {
  readonly intake: SourceIntake;
  readonly taken: Taken;
  /** Records of the event, from the first, that were looked at. */
  readonly count: number;
  /** A record comes next that failed, or that may have killed. */
  readonly isStopped: boolean;
  readonly hasEnded: boolean;
}

export type RecordsEvent = SplitEvent & Pick<Extract<Invocation, { readonly kind: 'records' }>, 'subtask' | 'reread' | 'isAgain'>;

export async function takeRecords(session: Session, event: RecordsEvent): Promise<Answer> {
  const { services } = session;
  const guard = new Guard({
    items: services.ports.items,
    subtask: event.subtask,
    attemptsMax: services.limits.attemptsMax,
    isAgain: event.isAgain,
    newWriter: services.newWriter,
    end: session.end,
  });
  try {
    return await (services.mode === 'AT_MOST_ONCE' ? takeInSlices(session, event, guard) : takeGuarded(session, event, guard));
  } finally {
    await guard.end();
  }
}

/** T3. */
async function takeInSlices(session: Session, event: RecordsEvent, guard: Guard): Promise<Answer> {
  for (let count = 0; ; ) {
    const slice = sliceOf(event, count, batchRecordsMax);
    const [from, to] = [count, count + slice.records.length];
    const reread = event.reread && ((): readonly EventRecord[] => event.reread!().slice(from, to));
    const answer = await takeGuarded(session, { ...event, ...slice, reread }, guard);
    if (answer.kind === 'partial') return { ...answer, count: count + answer.count };
    if (answer.kind === 'refused') return count > 0 ? { kind: 'partial', count, why: answer.why } : answer;
    count += slice.records.length;
    if (count === event.records.length) return done;
    if (session.isOutOfTime) return { kind: 'partial', count, why: 'out-of-time' };
  }
}

async function takeGuarded(session: Session, event: RecordsEvent, guard: Guard): Promise<Answer> {
  const { services } = session;
  const failures = failuresOf(session, services.mode === 'AT_MOST_ONCE' ? 1 : services.limits.attemptsMax);
  let isSure = event.isReplay;
  const given = givenToRuns(event, event.reread && (() => ({ ...event, records: event.reread!() })));
  let promised: EntryHead | undefined; // under AT_MOST_ONCE: the head before the event's position was committed
  for (let tries = 0; tries < appendTriesMax; ) {
    const admission = await session.admit(isSure || failures.needsProof);
    if (admission.kind === 'refused')
      return admission.why === 'not-an-owner' && (await isReadForGood(event, services)) ? done : refuse(admission.why);
    const { warm } = admission;
    if (!(await makeRoom(warm))) return refuse('ring-full');
    if (services.mode === 'AT_MOST_ONCE' && promised === undefined) {
      const { head } = warm.newest;
      tries += 1;
      if ((await commitPosition(session, warm, given())) === 'lost') continue;
      if (event.isReplay) return done;
      promised = head;
      continue; // two entries of one invocation each need room of their own
    }
    // Another environment read on meanwhile and has ended the subtask: behind the end nothing may be sent any more, and these records are lost.
    if (promised !== undefined && warm.newest.head.hasEnded && !promised.hasEnded) return done;
    const before = promised ?? warm.newest.head;
    failures.begin(warm.newest.head, warm.stage.operators[0]?.uid ?? warm.stage.name);
    await mark(guard, failures, { session, warm, event, before });
    const ran = await tryRun(warm, services, failures, (host, one) =>
      step(host, warm, { event: given(), before, isPromised: promised !== undefined, session, failures, one }),
    );
    if (ran === 'again') continue;
    if (ran === 'wait') {
      tries += 1;
      if ((await commitCounts(session, warm, failures)) === 'committed') return refuse('record-failed');
      continue;
    }
    const { intake, taken, hasEnded } = ran.value;
    const { attempts, timerAttempts, letters, hasNews } = failures.outcome();
    if (!intake.hasChanged && !hasEnded && !hasNews) {
      warm.state.abandonUnit();
      if (taken.kind === 'all' || isSure) return answerTo(ran.value, event);
      isSure = true;
      continue;
    }
    const { splits } = intake.parts();
    const watermark = Math.max(intake.parts().watermark, warm.newest.head.watermark);
    const { messages, sent } = ran.outgoing;
    const ended = hasEnded ? { hasEnded } : {};
    const head = {
      splits: promised === undefined ? splits : warm.newest.head.splits,
      watermark,
      sent,
      attempts: [...attempts, ...timerAttempts],
      ...ended,
    };
    const outcome = await session.commit(warm, await proposalOf(warm, withLetters(ran, letters), { head, messages, services }));
    if (outcome === 'committed') {
      guard.committed();
      if (promised !== undefined && ran.value.isStopped && taken.kind === 'all') {
        promised = { ...promised, splits }; // nobody else takes the rest of what was promised
        continue;
      }
      return answerTo(ran.value, event);
    }
    tries += 1;
  }
  return refuse('contended');
}

/** Says what is about to run, where that may kill the process. */
async function mark(
  guard: Guard,
  failures: Failures,
  p: { readonly session: Session; readonly warm: WarmSubtask; readonly event: RecordsEvent; readonly before: EntryHead },
): Promise<void> {
  const { session, warm, event, before } = p;
  const { count, first } = new SourceIntake(intakeOptions(warm, before)).pending(event);
  if (first === undefined) return;
  const { generation } = warm.newest.head;
  const group = { generation, group: String(event.split), first: first.record, tries: failures.triesOf(first), count };
  const marked = await guard.before(group, session.isCold);
  if (marked === undefined) return;
  if (marked.isParked) failures.park(first);
  if (marked.size < count) failures.limit = Math.min(marked.size, failures.limit ?? marked.size);
}

function step(
  host: OperatorHost,
  warm: WarmSubtask,
  p: {
    readonly event: SplitEvent;
    readonly before: EntryHead;
    readonly isPromised: boolean;
    readonly session: Session;
    readonly failures: Failures;
    readonly one: OneByOne;
  },
): Step {
  const { before, session, failures, one } = p;
  const intake = new SourceIntake(intakeOptions(warm, before));
  const event = intake.counted(p.event);
  const to = targetOf(host, warm, failures.isCareful ? one : undefined);
  let taken: Taken = { kind: 'all' };
  let count = 0;
  const limit = failures.limit === undefined ? event.records.length : limitOf(event.records, intake.pending(event).count - failures.limit);
  let isStopped = limit < event.records.length;
  do {
    const slice = sliceOf(event, count, failures.isCareful ? 1 : Math.min(batchRecordsMax, limit - count));
    const last = slice.records.at(-1);
    if (failures.isCareful && last !== undefined && last.side === undefined) {
      const name = intake.nameOf(event.split, last.after);
      isStopped ||= failures.stopsAt(name);
      if (failures.stopsAt(name)) break;
      taken = one.during(name, () => intake.take({ ...event, ...slice, isParked: failures.isParked(name) }, to));
    } else taken = intake.take({ ...event, ...slice }, to);
    if (taken.kind !== 'all') return { intake, taken, count: taken.kind === 'gap' ? count + taken.count : 0, isStopped, hasEnded: false };
    count += slice.records.length;
  } while (count < limit && (p.isPromised || !session.isOutOfTime));
  const hasEnded = !warm.newest.head.hasEnded && intake.hasEnded;
  if (hasEnded) one.apart(() => end(host, session.services.clock.now()));
  return { intake, taken, count, isStopped, hasEnded };
}

/** The next records of the event, cut behind a good one. */
function sliceOf(event: SplitEvent, from: number, max: number): Pick<SplitEvent, 'records' | 'isLast' | 'isPart'> {
  const { records } = event;
  let to = Math.min(from + Math.max(1, max), records.length);
  while (to < records.length && records[to - 1]?.side !== undefined) to += 1;
  const isPart = to < records.length || event.isPart === true;
  return { records: records.slice(from, to), isLast: event.isLast && !isPart, isPart };
}

/** Length of the event without its last good records, cut behind a good one. */
function limitOf(records: readonly EventRecord[], withoutLast: number): number {
  let to = records.length;
  if (withoutLast <= 0) return to;
  for (let left = withoutLast; left >= 0 && to > 0; to -= 1) {
    if (records[to - 1]?.side !== undefined) continue;
    if (left === 0) break;
    left -= 1;
  }
  return to;
}

function targetOf(host: OperatorHost, { state }: WarmSubtask, one: OneByOne | undefined): SourceTarget {
  const process = (batch: RecordBatch): void => {
    try {
      host.process(batch, 0);
    } catch (e) {
      // The run is worth nothing any more, but the batches behind this one say what they miss, so that all of it is loaded together.
      if (!state.isSuspended) throw e;
    }
  };
  return {
    records: (batch, at) => {
      if (one === undefined) process(batch);
      else one.feed(batch, 0, at, (single) => host.process(single, 0));
    },
    side: (tag, value, cause) => host.emitSide(tag, value, Number.NEGATIVE_INFINITY, cause),
    watermark: (timestamp) => {
      const advance = (): void => {
        while (!host.advanceWatermark(timestamp));
      };
      if (one === undefined) advance();
      else one.apart(advance);
    },
  };
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
    comparePlaces: source.comparePlaces,
    splitOf: splitsOf(source, warm),
    replayEnds: replayEndsOf(warm.item, warm.ring.subtask, source),
    origins: operator.carriesOrigins === true ? sourceOrigin(operator.uid, source, warm.ring.generation) : undefined,
  };
}

/** Splits that a source adds are dealt out as those that it began with. */
function splitsOf({ splitOf }: Source<unknown>, { owner, stage }: WarmSubtask): ConstructorParameters<typeof SourceIntake>[0]['splitOf'] {
  if (splitOf === undefined) return undefined;
  return (ordinal) => (ordinal % stage.parallelism === owner.index ? splitOf(ordinal) : undefined);
}

function answerTo({ taken, count, isStopped }: Step, event: SplitEvent): Answer {
  const first = (why: Refusal): Answer => (count > 0 ? { kind: 'partial', count, why } : refuse(why));
  switch (taken.kind) {
    case 'all':
      if (isStopped) return first('record-failed');
      return count === event.records.length ? done : first('out-of-time');
    case 'gap':
      return first('gap');
    case 'replay-first':
      return refuse('replay-first');
    case 'unknown-split':
      return refuse('not-an-owner');
  }
}

const ignore: SourceTarget = { records: () => undefined, side: () => undefined, watermark: () => undefined };

function positioned(warm: WarmSubtask, event: SplitEvent): SourceIntake {
  const options = intakeOptions(warm, warm.newest.head);
  const intake = new SourceIntake(options);
  try {
    intake.take(event, ignore);
    return intake;
  } catch (e) {
    // A record whose time cannot be told is for the run to park. The position needs no times.
    if (!isRecordsFault(e)) throw e;
    const timeless = new SourceIntake(options);
    timeless.take({ ...event, isParked: true }, ignore);
    return timeless;
  }
}

/** Commits how far the event goes, and nothing of what it does. */
async function commitPosition(session: Session, warm: WarmSubtask, event: SplitEvent): Promise<'committed' | 'lost'> {
  const intake = positioned(warm, event);
  if (!intake.hasChanged) return 'committed';
  warm.state.beginUnit();
  return session.commit(warm, { kind: 'data', head: { splits: intake.parts().splits }, body: emptyBody });
}
