// Replay of a lane: what its sealed parent had taken, and the restored checkpoint had not, is taken again from kept input. It comes before anything
// that the queue delivers, in the order in which it was settled.
//   K1  The place in the replay is the head's. Positions do not count against kept input: it may be older than what is remembered.
//   K2  A redrive is a unit of its own, since it acts on the state that everything before it left. When it fails this time, its letter stays.
//   K3  What is replayed is kept again.
//   K4  Under AT_MOST_ONCE a replay runs nothing: it says again what is taken, since the restore took the positions of groups back, and the queue may
//       not have heard that it is to forget.

import type { Answer, Invocation, Refusal } from '../invocation.ts';
import { decodeUnit, encodeUnit, type KeptUnit } from '../lane/kept-format.ts';
import { isKeptDue, readSegment, replayLeft } from '../lane/kept-input.ts';
import type { LaneMemory } from '../lane/lane-memory.ts';
import { type LaneRecord, laneRecord } from '../lane/queues.ts';
import { appendTriesMax } from '../limits.ts';
import { isRecordsFault } from '../poison/attempts.ts';
import { letterAddress } from '../poison/dead-letters.ts';
import { makeRoom } from './commit.ts';
import { commitCounts, failuresOf, tryRun } from './failing-run.ts';
import { Guard } from './guard.ts';
import { commitPositions, laneProposal, laneStep } from './lane-run.ts';
import { redriveProposal, runLetter } from './redrive.ts';
import { done, refuse, type Session } from './session.ts';
import type { WarmSubtask } from './warm-subtask.ts';

type ReplayInvocation = Extract<Invocation, { kind: 'replay' }>;

/** Name of the marker: kept input is one group. No group of a queue is empty. */
const replayGroup = '';

export async function replayKept(session: Session, invocation: ReplayInvocation): Promise<Answer> {
  const { services, subtask } = session;
  const { newWriter, limits, ports } = services;
  const guard = new Guard({ items: ports.items, subtask, attemptsMax: limits.attemptsMax, isAgain: true, newWriter, end: session.end });
  try {
    return await replayGuarded(session, invocation, guard);
  } finally {
    await guard.end();
  }
}

async function replayGuarded(session: Session, invocation: ReplayInvocation, guard: Guard): Promise<Answer> {
  const failures = failuresOf(session, session.services.limits.attemptsMax);
  for (let tries = 0; tries < appendTriesMax; ) {
    const admission = await session.admit(true);
    if (admission.kind === 'refused') return refuse(admission.why);
    const { warm } = admission;
    if (warm.ring.generation !== invocation.generation) return refuse('other-generation');
    if (!isKeptDue(warm.newest.head)) return done;
    if (!(await makeRoom(warm))) return refuse('ring-full');
    const units = await dueUnits(session, warm, invocation.recordsMax);
    const isOnce = session.services.mode === 'AT_MOST_ONCE';
    const taken = isOnce ? await passOver(session, warm, units) : await takeUnits(session, warm, { units, guard, failures });
    if (taken === 'again') continue;
    if (taken !== 'lost') return taken;
    tries += 1;
  }
  return refuse('contended');
}

/** A run of messages, or one redrive. */
async function dueUnits(session: Session, warm: WarmSubtask, max: number): Promise<readonly KeptUnit[]> {
  const { objects } = session.services.ports;
  const units: KeptUnit[] = [];
  for (const { object, skip, count } of await replayLeft(objects, warm.newest.head.lane?.replay)) {
    const segment = await readSegment(objects, object);
    for (const bytes of segment.units.slice(skip, skip + count)) {
      const unit = decodeUnit(bytes);
      if (units.length === max || (unit.kind === 'redrive' && units.length > 0)) return units;
      units.push(unit);
      if (unit.kind === 'redrive') return units;
    }
  }
  return units;
}

interface Due {
  readonly units: readonly KeptUnit[];
  readonly guard: Guard;
  readonly failures: ReturnType<typeof failuresOf>;
}

/** Not over yet: the next call goes on, or finds that nothing is left. */
const goesOn = (count: number, why: Refusal = 'replay-first'): Answer => ({ kind: 'partial', count, why });

async function takeUnits(session: Session, warm: WarmSubtask, due: Due): Promise<Answer | 'again' | 'lost'> {
  const [first] = due.units;
  if (first?.kind === 'redrive') return redriveAgain(session, warm, { letter: first.letter, guard: due.guard });
  return takeRecords(session, warm, { records: recordsOf(due.units, warm.lane!), ...due });
}

function recordsOf(units: readonly KeptUnit[], { of }: LaneMemory): readonly LaneRecord[] {
  return units.flatMap((unit): readonly LaneRecord[] => (unit.kind === 'message' ? [laneRecord(unit.message, of)] : []));
}

/** K4. */
async function passOver(session: Session, warm: WarmSubtask, units: readonly KeptUnit[]): Promise<Answer | 'lost'> {
  const lane = warm.lane!;
  const records = recordsOf(units, lane);
  await lane.load(records, warm.state);
  return (await commitPositions(session, warm, lane, { records, replayed: units.length })) ? goesOn(units.length) : 'lost';
}

async function takeRecords(
  session: Session,
  warm: WarmSubtask,
  p: Omit<Due, 'units'> & { readonly records: readonly LaneRecord[] },
): Promise<Answer | 'again' | 'lost'> {
  const { services } = session;
  const { records, guard, failures } = p;
  const lane = warm.lane!;
  await lane.load(records, warm.state);
  const { generation, n } = warm.newest.head;
  failures.begin({ generation, n, attempts: lane.attemptsOf(records) }, lane.of.uid);
  const { name } = records[0]!;
  const first = `${name.place}/${name.record}`;
  const marked = await guard.before(
    { generation, group: replayGroup, first, tries: failures.triesOf(name), count: records.length },
    session.isCold,
  );
  if (marked?.isParked === true) failures.park(name);
  if (marked !== undefined && marked.size < records.length) failures.limit = Math.min(marked.size, failures.limit ?? marked.size);
  const ran = await tryRun(warm, services, failures, (host, one) =>
    laneStep(host, { warm, records, session, failures, one, isReplay: true }),
  );
  if (ran === 'again') return 'again';
  if (ran === 'wait') return (await commitCounts(session, warm, failures)) === 'committed' ? refuse('record-failed') : 'lost';
  const outcome = failures.outcome();
  const { length } = ran.value.settled;
  if (length === 0 && !outcome.hasNews) {
    warm.state.abandonUnit();
    return refuse('out-of-time');
  }
  const proposal = await laneProposal(session, warm, lane, { ran, outcome, records, keepsInput: services.keepsInput, replayed: length });
  if ((await session.commit(warm, proposal)) !== 'committed') return 'lost';
  guard.committed();
  return goesOn(length, ran.value.isStopped && length === 0 ? 'record-failed' : 'replay-first');
}

async function redriveAgain(
  session: Session,
  warm: WarmSubtask,
  { letter: id, guard }: { readonly letter: string; readonly guard: Guard },
): Promise<Answer | 'again' | 'lost'> {
  const { services } = session;
  const { generation } = warm.newest.head;
  const lane = { kept: [], replayed: 1, buckets: undefined };
  const stored = await warm.state.read(letterAddress(session.subtask, id));
  const marked = await guard.before({ generation, group: replayGroup, first: `redrive/${id}`, tries: 0, count: 1 }, session.isCold);
  const ran = stored !== undefined && marked?.isParked !== true ? await runLetter(warm, services, stored) : undefined;
  if (ran?.kind === 'failed' && !isRecordsFault(ran.error)) throw ran.error;
  if (ran === undefined || ran.kind === 'failed') {
    warm.state.beginUnit();
    const skipped = await session.commit(warm, {
      kind: 'data',
      head: {},
      body: { delta: { writes: [], timers: [] }, messages: [], rows: [] },
      lane,
    });
    if (skipped !== 'committed') return 'lost';
  } else {
    const kept = services.keepsInput ? [encodeUnit({ kind: 'redrive', letter: id })] : [];
    const proposal = await redriveProposal(session, warm, { ran, id });
    if ((await session.commit(warm, { ...proposal, lane: { ...lane, kept } })) !== 'committed') return 'lost';
  }
  guard.committed();
  return goesOn(1);
}
