// Messages of the exchange: taken in order, aligned, run, committed. One call may commit several units: what came before a barrier, the barrier,
// and what waited behind it.
//   M1  A message counts as done when everything that it led to is committed: the one that ends an alignment, when what it set free is.
//   M2  The barrier entry holds nothing but the barrier, unless the run before it left nothing behind: then its positions ride along.
//   M3  A gap, and a refusal, are told only after the cache has been compared with the head of the changelog.

import { equalBytes } from '../../core/bytes.ts';
import { SluiceError } from '../../core/errors.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import { barrierAfter, isKnownAborted, topBarrier } from '../alignment.ts';
import { readJob } from '../coordinator/read-job.ts';
import type { EntryHead, HeldMessage } from '../entry.ts';
import { Intake, type IntakeTarget, type WaitingMessage } from '../intake.ts';
import type { Answer, Refusal } from '../invocation.ts';
import { appendTriesMax } from '../limits.ts';
import type { ChannelMessage } from '../message.ts';
import { decodeMessage, isClaim, readMessage, redeemClaim } from '../message-codec.ts';
import type { OneByOne } from '../poison/one-by-one.ts';
import { barrierProposal } from './barrier.ts';
import { makeRoom } from './commit.ts';
import { commitCounts, type Failures, failuresOf, type RanOutgoing, tryRun, withLetters } from './failing-run.ts';
import { decodedAnew, givenToRuns } from './fresh.ts';
import { Guard } from './guard.ts';
import { proposalOf } from './proposal.ts';
import type { Ran } from './run.ts';
import type { UnitServices } from './services.ts';
import { done, refuse, type Session } from './session.ts';
import { type Incoming, recordsAhead, type Taken, takeEvent } from './take-event.ts';
import { advanceTo, fireTimers, sendEnd } from './timers.ts';
import type { WarmSubtask } from './warm-subtask.ts';

interface Step extends Taken {
  readonly intake: Intake;
  readonly hasEnded: boolean;
  readonly hasFired: boolean;
}

export interface MessagesEvent {
  readonly messages: readonly Uint8Array[];
  /** Look for given-up alignments and due timers too. */
  readonly isTick?: boolean;
  readonly isAgain?: boolean | undefined;
}

export async function takeMessages(session: Session, event: MessagesEvent): Promise<Answer> {
  const { limits, ports } = session.services;
  const guard = new Guard({
    items: ports.items,
    subtask: session.subtask,
    attemptsMax: limits.attemptsMax,
    // Records that a tick sets free may have died with the tick before, and this process may have recovered the subtask since, for something else.
    isAgain: event.isTick === true ? true : event.isAgain,
    newWriter: session.services.newWriter,
    end: session.end,
  });
  try {
    return await takeGuarded(session, event, guard);
  } finally {
    await guard.end();
  }
}

async function takeGuarded(session: Session, { messages, isTick = false }: MessagesEvent, guard: Guard): Promise<Answer> {
  const { services } = session;
  const failures = failuresOf(session, services.limits.attemptsMax);
  let incoming: readonly Incoming[] | undefined;
  let hasRun = false;
  let count = 0;
  let isSure = isTick;
  const answer = (why: Refusal): Answer => (count > 0 ? { kind: 'partial', count, why } : refuse(why));
  for (let tries = 0; tries < appendTriesMax; ) {
    const admission = await session.admit(isSure || failures.needsProof);
    if (admission.kind === 'refused') return answer(admission.why);
    const { warm } = admission;
    incoming ??= await Promise.all(messages.map((bytes) => received(bytes, warm, services)));
    if (!(await makeRoom(warm))) return answer('ring-full');
    const due = await commitDueBarrier(session, warm);
    if (due === 'lost') tries += 1;
    if (due !== 'none') continue;
    const giveUp = isTick ? await knownAborted(warm, services) : 0;
    const waiting = await waitingOf(warm, services);
    const left = hasRun ? decodedAnew(incoming.slice(count)) : incoming.slice(count);
    hasRun = true;
    const given = givenToRuns({ waiting, incoming: left }, () => ({ waiting: decodedAnew(waiting), incoming: decodedAnew(left) }));
    const work = { services, waiting, incoming: left, giveUp, isTick, failures, isOutOfTime: () => session.isOutOfTime };
    failures.begin(warm.newest.head, warm.stage.operators[0]?.uid ?? warm.stage.name);
    await mark(guard, session, warm, work);
    const ran = await tryRun(warm, services, failures, (host, one) => step(host, warm, { ...work, ...given(), one }));
    if (ran === 'again') continue;
    if (ran === 'wait') {
      tries += 1;
      if ((await commitCounts(session, warm, failures)) === 'committed') return answer('record-failed');
      continue;
    }
    const { intake, taken, stop } = ran.value;
    const outcome = failures.outcome();
    if (stop === 'newer-generation' && !intake.hasChanged) {
      await session.forget();
      tries += 1;
      if (tries === appendTriesMax) return answer('other-generation');
      continue;
    }
    if (stop === 'gap' && !intake.hasChanged && !isSure) {
      warm.state.abandonUnit();
      isSure = true;
      continue;
    }
    // The last channel may end under a barrier that it completes: then the end is all that is left behind the barrier entry.
    if (!intake.hasChanged && !ran.value.hasFired && !ran.value.hasEnded && !outcome.hasNews) {
      warm.state.abandonUnit();
      count += taken;
      return count === messages.length ? done : answer(refusalOf[stop ?? 'gap']);
    }
    if ((await commitStep(session, warm, { ran, outcome })) === 'lost') {
      tries += 1;
      continue;
    }
    guard.committed();
    if (intake.dueBarrier === undefined && !intake.hasReleasable) count += taken;
    if (stop === 'failed' || stop === 'out-of-time') return answer(refusalOf[stop]);
    if (stop === undefined && count === messages.length && intake.dueBarrier === undefined) return done;
  }
  return answer('contended');
}

/** Why what is left of an event is not taken. */
const refusalOf = { failed: 'record-failed', 'out-of-time': 'out-of-time', gap: 'gap', 'newer-generation': 'gap' } as const;

interface Work {
  readonly services: UnitServices;
  readonly waiting: readonly WaitingMessage[];
  readonly incoming: readonly Incoming[];
  readonly giveUp: number;
  readonly isTick: boolean;
  readonly failures: Failures;
  readonly isOutOfTime: () => boolean;
}

/** Says what is about to run, where that may kill the process: messages of all channels are one group, in the order in which they would be taken. */
async function mark(guard: Guard, session: Session, warm: WarmSubtask, work: Work): Promise<void> {
  if (!guard.isNeeded(session.isCold)) return;
  const { failures, incoming } = work;
  const { first, count } = recordsAhead(intakeOf(warm, work), incoming);
  if (first === undefined) return;
  const { generation } = warm.newest.head;
  const group = { generation, group: 'messages', first: `${first.place}/${first.record}`, tries: failures.triesOf(first), count };
  const marked = await guard.before(group, session.isCold);
  if (marked === undefined) return;
  if (marked.isParked) failures.park(first);
  if (marked.size < count) failures.limit = Math.min(marked.size, failures.limit ?? marked.size);
}

/** Under AT_MOST_ONCE as well: what an operator held at its barrier and let go behind it would be visible below, and come again after a restore. */
function intakeOf(
  warm: WarmSubtask,
  { services, waiting = [], giveUp = 0 }: Pick<Work, 'services'> & Partial<Pick<Work, 'waiting' | 'giveUp'>>,
): Intake {
  const isAligned = services.mode !== 'AT_LEAST_ONCE';
  const intake = new Intake({ head: warm.newest.head, waiting, inputs: warm.stage.inputs, isAligned });
  if (giveUp > 0) intake.giveUp(giveUp);
  return intake;
}

function targetOf(host: OperatorHost, { one, failures, services }: Work & { readonly one: OneByOne }): IntakeTarget {
  const { isCareful, limit } = failures;
  let left = limit ?? Number.POSITIVE_INFINITY;
  return {
    records: (batch, input, at) => {
      if (isCareful) one.feed(batch, input, at, (single) => host.process(single, input));
      else host.process(batch, input);
    },
    isCut: isCareful || limit !== undefined ? (name) => failures.stopsAt(name) || left-- <= 0 : undefined,
    watermark: (timestamp) => one.apart(() => advanceTo(host, timestamp, services.clock.now())),
    idle: () => host.broadcast({ kind: 'idle' }),
  };
}

function step(host: OperatorHost, warm: WarmSubtask, p: Work & { readonly one: OneByOne }): Step {
  const { one } = p;
  const { head } = warm.newest;
  const intake = intakeOf(warm, p);
  const to = targetOf(host, p);
  let hasFired = false;
  if (p.isTick && !head.hasEnded) {
    one.apart(() => {
      hasFired = fireTimers(host, p.services.clock.now());
    });
  }
  const { taken, stop } = takeEvent(intake, p.incoming, { ...to, isOutOfTime: p.isOutOfTime });
  const hasEnded = !head.hasEnded && intake.dueBarrier === undefined && intake.hasEnded;
  if (hasEnded) one.apart(() => sendEnd(host, p.services.clock.now()));
  return { intake, taken, stop, hasEnded, hasFired };
}

async function commitStep(
  session: Session,
  warm: WarmSubtask,
  { ran, outcome }: { readonly ran: RanOutgoing<Step>; readonly outcome: ReturnType<Failures['outcome']> },
): Promise<'committed' | 'lost'> {
  const { services } = session;
  const { attempts, timerAttempts, letters, hasNews } = outcome;
  const { intake, hasEnded } = ran.value;
  const { channels, held, abortedThrough, watermark } = intake.parts();
  const { messages, sent } = ran.outgoing;
  const spilled = await spill(held, warm, services);
  const head = {
    channels,
    held: spilled,
    abortedThrough,
    watermark,
    sent,
    attempts: [...attempts, ...timerAttempts],
    ...(hasEnded ? { hasEnded } : {}),
  };
  const dueBarrier = intake.dueBarrier;
  if (dueBarrier !== undefined && !hasNews && leftNothing(ran, warm, watermark)) {
    warm.state.abandonUnit();
    return commitBarrier(session, warm, { checkpoint: dueBarrier, head: { ...head, held: spilled } });
  }
  return session.commit(warm, await proposalOf(warm, withLetters(ran, letters), { head, messages, services }));
}

function leftNothing(
  { effects, delta, rows, operatorState, operatorStateBefore }: Ran<Step>,
  warm: WarmSubtask,
  watermark: number,
): boolean {
  const isQuiet = effects.emissions.length === 0 && rows.length === 0 && isSame(operatorState, operatorStateBefore);
  return isQuiet && delta.writes.length === 0 && delta.timers.length === 0 && watermark === warm.newest.head.watermark;
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}

/** A barrier that the newest entry says is complete: whoever took its last message may have died before it appended the barrier entry. */
async function commitDueBarrier(session: Session, warm: WarmSubtask): Promise<'none' | 'committed' | 'lost'> {
  const { head } = warm.newest;
  if (head.channels.length === 0) return 'none';
  const { dueBarrier } = intakeOf(warm, { services: session.services });
  if (dueBarrier === undefined) return 'none';
  const { abortedThrough, watermark, channels, held } = head;
  return commitBarrier(session, warm, { checkpoint: dueBarrier, head: { channels, held, abortedThrough, watermark } });
}

async function commitBarrier(
  session: Session,
  warm: WarmSubtask,
  p: { readonly checkpoint: number; readonly head: Pick<EntryHead, 'channels' | 'held' | 'abortedThrough' | 'watermark'> },
): Promise<'committed' | 'lost'> {
  const proposal = await barrierProposal(warm, p.checkpoint, session.services);
  const channels = p.head.channels.map((channel) => ({ ...channel, barrier: barrierAfter(channel.barrier, p.checkpoint) }));
  return session.commit(warm, { ...proposal, head: { ...p.head, ...proposal.head, channels } });
}

/** Its number may well be the next one of that sender's channel to here. */
function notForUs({ sender, target, sequence }: Pick<ChannelMessage, 'sender' | 'target' | 'sequence'>, warm: WarmSubtask): SluiceError {
  return new SluiceError('SUBTASK_UNKNOWN', {
    message: `message ${sequence} from ${sender} is for ${target} and was given to ${warm.ring.subtask}`,
    next: 'report-a-bug',
    sender,
    target,
    sequence,
  });
}

/** What was taken before, or is of a generation that has passed, is dropped by its name: the object behind its claim may be gone. */
async function received(bytes: Uint8Array, warm: WarmSubtask, services: UnitServices): Promise<Incoming> {
  const stored = { bytes, object: undefined };
  const message = decodeMessage(bytes);
  if (message.target !== warm.ring.subtask) throw notForUs(message, warm);
  if (!isClaim(message)) return { message, raw: bytes, stored };
  const verdict = intakeOf(warm, { services }).decide(message);
  if (verdict === 'repeat' || verdict === 'older-generation') return { message: { ...message, elements: [] }, stored };
  return { ...(await redeemClaim(message, services.ports.objects)), stored };
}

/** What waits, in memory. Objects are read once for each list that an entry keeps. */
async function waitingOf(warm: WarmSubtask, services: UnitServices): Promise<readonly WaitingMessage[]> {
  const { held } = warm.newest.head;
  const known = warm.waiting?.held === held ? decodedAnew(warm.waiting.messages) : undefined;
  const messages = known ?? (await Promise.all(held.map((one) => readHeld(one, services))));
  warm.waiting = { held, messages };
  return messages;
}

async function readHeld({ bytes, object }: HeldMessage, services: UnitServices): Promise<WaitingMessage> {
  const { objects } = services.ports;
  const raw = object === undefined ? bytes : await objects.get(object);
  if (raw === undefined) throw heldMissing(object);
  return { ...(await readMessage(raw, objects)), stored: { bytes, object } };
}

/** Moves waiting messages to the object store when they are too much for every entry to carry. */
async function spill(held: readonly HeldMessage[], warm: WarmSubtask, services: UnitServices): Promise<readonly HeldMessage[]> {
  const inline = held.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);
  if (inline <= services.limits.heldBytesMax) return held;
  const { generation, subtask } = warm.newest.head;
  const spilled: HeldMessage[] = [];
  for (const message of held) {
    const { sender, exchange, bytes } = message;
    if (bytes === undefined) {
      spilled.push(message);
      continue;
    }
    const object = `held/${generation}/${subtask}/${exchange}/${sender}/${warm.newest.head.n + 1}-${services.newWriter()}`;
    await services.ports.objects.putIfAbsent(object, bytes);
    spilled.push({ sender, exchange, bytes: undefined, object });
  }
  return spilled;
}

function heldMissing(object: string | undefined): SluiceError {
  return new SluiceError('OBJECT_MISSING', {
    message: `a message that waits for a barrier is gone: object ${object} does not exist`,
    next: 'repair-state',
  });
}

/** A number that the job item does not know yet is not aborted. */
async function knownAborted(warm: WarmSubtask, services: UnitServices): Promise<number> {
  const { head } = warm.newest;
  const awaited = topBarrier(head.channels);
  if (awaited === 0) return 0;
  const job = await readJob(services.ports);
  return job !== undefined && isKnownAborted(awaited, head.generation, job.item) ? awaited : 0;
}
