// Messages of a queue that belong to one lane. What the queue is told to forget is what a committed entry covers, message by message; everything
// else comes again.
//   Q1  What is handed out for the first time runs as one unit. Groups with a message that was out before run one at a time, each under its marker
//       and committed before the next one is marked, because whoever had it may have died of it.
//   Q2  A message at or below the position of its group is settled: it is told so again, and nothing else is done.
//   Q3  While a replay of kept input is due, nothing is taken.
//   Q4  Under AT_MOST_ONCE the positions are committed before anything runs, a batch at a time: what is promised is run to its end, and time that is
//       nearly over loses nothing.

import { batchRecordsMax } from '../../core/batch.ts';
import type { Answer, Invocation, Refusal } from '../invocation.ts';
import { isKeptDue } from '../lane/kept-input.ts';
import type { LaneMemory } from '../lane/lane-memory.ts';
import { type LaneQueue, type LaneRecord, laneOf, laneRecord, queueOfStage } from '../lane/queues.ts';
import { appendTriesMax } from '../limits.ts';
import { byGroup, mayForget } from '../poison/lane.ts';
import { makeRoom } from './commit.ts';
import { commitCounts, type Failures, failuresOf, tryRun } from './failing-run.ts';
import { Guard } from './guard.ts';
import { commitPositions, laneProposal, laneStep } from './lane-run.ts';
import type { UnitServices } from './services.ts';
import { done, refuse, type Session } from './session.ts';

type QueueEvent = Extract<Invocation, { kind: 'queue' }>;

export async function takeQueue(session: Session, { subtask, messages }: QueueEvent): Promise<Answer> {
  const of = queueOfSubtask(session.services, subtask);
  if (of === undefined || messages.some((message) => `${of.stage}-${laneOf(message, of.queue)}` !== subtask)) return refuse('not-an-owner');
  const records = once(messages.map((message) => laneRecord(message, of)));
  countOld(session, messages, of);
  const settled = new Set<string>();
  let why: Refusal | undefined;
  for (const part of partsOf(records)) {
    for (const batch of session.services.mode === 'AT_MOST_ONCE' ? inBatches(part) : [part]) {
      if (why !== undefined && why !== 'record-failed') break;
      if (session.isOutOfTime) why = 'out-of-time';
      else why = (await takePart(session, batch, settled)) ?? why;
    }
  }
  return answerTo(messages, settled, why);
}

/** Nobody knows any more whether such a message was settled. No queue hands one out; somebody else may, who kept it. */
function countOld({ services }: Session, messages: QueueEvent['messages'], { queue }: LaneQueue): void {
  const facts = { nowMs: services.clock.now(), retentionMs: queue.retentionMs, marginMs: services.limits.positionMarginMs };
  const old = messages.filter(({ sentMs }) => mayForget(sentMs, facts));
  if (old.length > 0) services.observer?.beyondHorizon?.(old.length);
}

/** A queue without order may hand out a message twice in one event. */
function once(records: readonly LaneRecord[]): readonly LaneRecord[] {
  return [...new Map(records.map((record) => [JSON.stringify(record.name), record])).values()];
}

/** Pure: what was not settled comes again. */
export function answerTo(messages: QueueEvent['messages'], settled: ReadonlySet<string>, why: Refusal | undefined): Answer {
  const ids = messages.filter(({ id }) => settled.has(id)).map(({ id }) => id);
  if (ids.length === messages.length) return done;
  if (ids.length === 0) return refuse(why ?? 'contended');
  return { kind: 'partial', count: ids.length, settled: ids, why: why ?? 'contended' };
}

interface Part {
  readonly records: readonly LaneRecord[];
  /** Name of the marker; `undefined`: it has not been out before. */
  readonly group: string | undefined;
}

/** Pure: Q1. What may kill comes last, so that it is not in the way of what does not. */
export function partsOf(records: readonly LaneRecord[]): readonly Part[] {
  const groups = byGroup(records);
  const again = groups.filter(([, list]) => list.some(({ message }) => message.receives > 1));
  const risky = new Set(again.map(([group]) => group));
  const fresh = records.filter(({ group }) => !risky.has(group));
  const parts = again.map(([group, list]): Part => ({ records: list, group }));
  return fresh.length === 0 ? parts : [{ records: fresh, group: undefined }, ...parts];
}

/** Pure: Q4. */
function inBatches({ records, group }: Part): readonly Part[] {
  const batches = Math.ceil(records.length / batchRecordsMax);
  return Array.from({ length: batches }, (_, at) => ({ records: records.slice(at * batchRecordsMax, (at + 1) * batchRecordsMax), group }));
}

async function takePart(session: Session, part: Part, settled: Set<string>): Promise<Refusal | undefined> {
  const { services, subtask } = session;
  const { items } = services.ports;
  const isAgain = part.group !== undefined;
  const guard = new Guard({
    items,
    subtask,
    attemptsMax: services.limits.attemptsMax,
    isAgain,
    newWriter: services.newWriter,
    end: session.end,
  });
  try {
    return await takeGuarded(session, part, { guard, settled });
  } finally {
    await guard.end();
  }
}

async function takeGuarded(
  session: Session,
  part: Part,
  p: { readonly guard: Guard; readonly settled: Set<string> },
): Promise<Refusal | undefined> {
  const { services } = session;
  const { guard, settled } = p;
  const isOnce = services.mode === 'AT_MOST_ONCE';
  const failures = failuresOf(session, isOnce ? 1 : services.limits.attemptsMax);
  let isSure = false;
  let promised: readonly LaneRecord[] | undefined; // under AT_MOST_ONCE: what was not settled before the positions were committed
  for (let tries = 0; tries < appendTriesMax; ) {
    const admission = await session.admit(isSure || failures.needsProof);
    if (admission.kind === 'refused') return admission.why;
    const { warm } = admission;
    const { lane } = warm;
    if (lane === undefined) return 'not-an-owner';
    if (isKeptDue(warm.newest.head)) {
      if (isSure) return 'replay-first';
      isSure = true;
      continue;
    }
    if (!(await makeRoom(warm))) return 'ring-full';
    await lane.load(part.records, warm.state);
    const fresh = promised ?? part.records.filter((record) => !lane.isSettled(record));
    if (promised === undefined) noteSettled(settled, part.records, lane);
    if (fresh.length === 0) return undefined;
    if (isOnce && promised === undefined) {
      tries += 1;
      if (await commitPositions(session, warm, lane, { records: fresh, replayed: 0 })) promised = fresh;
      continue;
    }
    const { generation, n } = warm.newest.head;
    failures.begin({ generation, n, attempts: lane.attemptsOf(fresh) }, lane.of.uid);
    await mark(guard, failures, { session, generation, group: part.group ?? '', records: fresh });
    const ran = await tryRun(warm, services, failures, (host, one) =>
      laneStep(host, { warm, records: fresh, session, failures, one, isReplay: false, isPromised: isOnce }),
    );
    if (ran === 'again') continue;
    if (ran === 'wait') {
      tries += 1;
      if ((await commitCounts(session, warm, failures)) === 'committed') return 'record-failed';
      continue;
    }
    const outcome = failures.outcome();
    const { isStopped } = ran.value;
    const why = isStopped ? (session.isOutOfTime ? 'out-of-time' : 'record-failed') : undefined;
    if (ran.value.settled.length === 0 && !outcome.hasNews) {
      warm.state.abandonUnit();
      return why;
    }
    const proposal = await laneProposal(session, warm, lane, { ran, outcome, records: fresh, keepsInput: services.keepsInput && !isOnce });
    if ((await session.commit(warm, proposal)) === 'committed') {
      guard.committed();
      noteSettled(settled, part.records, lane);
      if (promised !== undefined && isStopped) {
        promised = promised.slice(ran.value.settled.length); // nobody else takes it any more
        continue;
      }
      return why;
    }
    tries += 1;
  }
  return 'contended';
}

function noteSettled(settled: Set<string>, records: readonly LaneRecord[], lane: LaneMemory): void {
  for (const record of records) if (lane.isSettled(record)) settled.add(record.message.id);
}

/** Says what is about to run, where that may kill the process. */
async function mark(
  guard: Guard,
  failures: Failures,
  p: { readonly session: Session; readonly generation: number; readonly group: string; readonly records: readonly LaneRecord[] },
): Promise<void> {
  const { session, generation, group, records } = p;
  const [first] = records;
  if (first === undefined) return;
  const marked = await guard.before(
    { generation, group, first: first.name.record, tries: failures.triesOf(first.name), count: records.length },
    session.isCold,
  );
  if (marked === undefined) return;
  if (marked.isParked) failures.park(first.name);
  if (marked.size < records.length) failures.limit = Math.min(marked.size, failures.limit ?? marked.size);
}

/** Names of subtasks begin with their stage. */
export function queueOfSubtask({ plan }: Pick<UnitServices, 'plan'>, subtask: string): LaneQueue | undefined {
  return queueOfStage(plan, Number.parseInt(subtask, 10));
}
