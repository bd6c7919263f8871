// One run over messages of a lane, and what is committed of it: positions of the groups, letters, the input itself. The same for what the queue
// delivers and for what a replay takes.
//   R1  A message's records are one: processed together, tried together, parked together.
//   R2  A message that fails stops its group here and nobody else; in a replay it stops everything, since there is one order.
//   R3  Everything that a message settles is in one entry: effect, position, letter, and the message.

import type { SourceOutput } from '../../api/source.ts';
import { batchRecordsMax, type RecordBatch } from '../../core/batch.ts';
import { isSluiceError, SluiceError } from '../../core/errors.ts';
import { listedOrigins, outputOrigin } from '../../core/origins.ts';
import type { PlannedOperator } from '../../graph/plan.ts';
import { WatermarkGenerator } from '../../operators/watermark-generator.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import { malformedOrigin, sourceWatermark } from '../../runtime/source-progress.ts';
import { type Buckets, emptyBody, type SplitProgress } from '../entry.ts';
import { bucketOf, type GroupState, groupWrites } from '../lane/group-state.ts';
import { encodeUnit } from '../lane/kept-format.ts';
import type { LaneMemory } from '../lane/lane-memory.ts';
import type { LaneRecord } from '../lane/queues.ts';
import { isSameRecord } from '../poison/attempts.ts';
import type { OneByOne } from '../poison/one-by-one.ts';
import type { Proposal } from './commit.ts';
import { type Failures, type RanOutgoing, withLetters } from './failing-run.ts';
import { proposalOf } from './proposal.ts';
import type { Session } from './session.ts';
import type { WarmSubtask } from './warm-subtask.ts';

export interface LaneStep {
  /** Processed, or replaced by letters; in order. */
  readonly settled: readonly LaneRecord[];
  /** A message was left for its next try, or may have killed, or the time is nearly over. */
  readonly isStopped: boolean;
  readonly split: SplitProgress;
  readonly watermark: number;
}

export interface LaneWork {
  readonly warm: WarmSubtask;
  readonly records: readonly LaneRecord[];
  readonly session: Session;
  readonly failures: Failures;
  readonly one: OneByOne;
  /** One order for all groups. */
  readonly isReplay: boolean;
  /** The positions say already that all of it is taken: it is run to its end, whatever time is left. */
  readonly isPromised?: boolean;
}

export function laneStep(host: OperatorHost, work: LaneWork): LaneStep {
  const { warm, records, session, failures, one, isReplay, isPromised = false } = work;
  const reading = new MessageReader(warm, host);
  const taken = records.slice(0, failures.limit ?? records.length);
  const settled: LaneRecord[] = [];
  const stopped = new Set<string>();
  for (let at = 0; at < taken.length && (at === 0 || isPromised || !session.isOutOfTime); ) {
    if (!failures.isCareful) {
      const part = taken.slice(at, at + batchRecordsMax);
      host.process(reading.batchOf(part), 0);
      settled.push(...part);
      at += part.length;
      continue;
    }
    const record = taken[at++]!;
    if (failures.stopsAt(record.name)) stopped.add(record.group);
    if (isReplay && stopped.size > 0) break;
    if (stopped.has(record.group)) continue;
    const { place, record: name } = record.name;
    one.feed(reading.bodyOf(record), 0, { place, record: () => name }, () => host.process(reading.batchOf([record]), 0));
    settled.push(record);
  }
  const { split, watermark } = reading.progress(settled.length);
  if (watermark > warm.newest.head.watermark) {
    one.apart(() => {
      while (!host.advanceWatermark(watermark));
    });
  }
  return { settled, isStopped: settled.length < records.length, split, watermark };
}

/** Makes batches of messages, and keeps their event time. */
class MessageReader {
  readonly #warm: WarmSubtask;
  readonly #source: PlannedOperator;
  readonly #host: Pick<OperatorHost, 'emitSide'>;
  readonly #generator: WatermarkGenerator | undefined;

  constructor(warm: WarmSubtask, host: Pick<OperatorHost, 'emitSide'>) {
    this.#warm = warm;
    this.#host = host;
    this.#source = warm.stage.operators[0]!;
    const spec = this.#source.node.operator;
    if (spec.kind !== 'source' || spec.watermarks === undefined) return;
    this.#generator = new WatermarkGenerator(spec.watermarks, `source ${this.#source.uid}`, this.#split.largest);
  }

  get #split(): SplitProgress {
    return this.#warm.newest.head.splits[0]!;
  }

  batchOf(records: readonly LaneRecord[]): RecordBatch {
    const hasOrigins = this.#source.carriesOrigins === true;
    const origins: string[] = [];
    let cause = '';
    let malformed = 0;
    const side: SourceOutput<unknown>['side'] = (tag, value) =>
      this.#host.emitSide(tag.id, value, Number.NEGATIVE_INFINITY, hasOrigins ? sideOrigin(cause, malformed++) : undefined);
    const out: SourceOutput<unknown> = { values: [], count: 0, side };
    for (const { message, name } of records) {
      const from = out.count;
      cause = causeOf(name);
      malformed = 0;
      readBody(this.#warm, message.body, out);
      for (let n = from; n < out.count; n++) origins.push(out.count === from + 1 ? cause : outputOrigin(cause, n - from));
    }
    const { values, count } = out;
    const batch: RecordBatch = {
      values,
      count,
      keys: undefined,
      timestamps: undefined,
      origins: hasOrigins ? listedOrigins(origins) : undefined,
    };
    this.#generator?.stamp(batch);
    return batch;
  }

  /** What a letter keeps of a message: the body, as it was delivered. */
  bodyOf({ message, name }: LaneRecord): RecordBatch {
    const origins = this.#source.carriesOrigins === true ? listedOrigins([causeOf(name)]) : undefined;
    return { values: [message.body], count: 1, keys: undefined, timestamps: undefined, origins };
  }

  progress(settled: number): { readonly split: SplitProgress; readonly watermark: number } {
    const before = this.#split;
    const split = {
      ...before,
      position: { index: (before.position?.index ?? 0) + settled, at: null },
      largest: this.#generator?.largest ?? before.largest,
      silence: settled > 0 ? undefined : before.silence,
    };
    const spec = this.#source.node.operator;
    const strategy = spec.kind === 'source' ? spec.watermarks : undefined;
    const { watermark } = this.#warm.newest.head;
    return { split, watermark: sourceWatermark([split], strategy, watermark) ?? watermark };
  }
}

function causeOf({ place, record }: LaneRecord['name']): string {
  return `${place}/${record}`;
}

/** @param n  which malformed record of the message, from 0: alike in whatever batch the message is read, and when its letter is run again */
export function sideOrigin(cause: string, n: number): string {
  return malformedOrigin(`${cause}/`, n);
}

/** @throws SluiceError `USER_FUNCTION_FAILED` */
export function readBody({ stage }: Pick<WarmSubtask, 'stage'>, body: unknown, out: SourceOutput<unknown>): void {
  const { uid, node } = stage.operators[0]!;
  const queue = node.operator.kind === 'source' ? node.operator.source.queue : undefined;
  try {
    queue?.read(body, out);
  } catch (cause) {
    if (isSluiceError(cause) && cause.code === 'USER_FUNCTION_FAILED') throw cause;
    const said = cause instanceof Error ? cause.message : String(cause);
    throw new SluiceError('USER_FUNCTION_FAILED', {
      message: `a message of ${uid} cannot be read: ${said}`,
      next: 'dead-letter-record',
      cause,
      operator: uid,
    });
  }
}

export interface LaneOutcome {
  readonly ran: RanOutgoing<LaneStep>;
  readonly outcome: ReturnType<Failures['outcome']>;
  readonly records: readonly LaneRecord[];
  readonly keepsInput: boolean;
  /** Units of a replay that are taken with it. */
  readonly replayed?: number;
}

export async function laneProposal(session: Session, warm: WarmSubtask, lane: LaneMemory, p: LaneOutcome): Promise<Proposal> {
  const { ran, outcome, records, keepsInput, replayed } = p;
  const { settled, split, watermark } = ran.value;
  const changed = changedGroups(lane, { records, settled, outcome });
  const writes = changed.flatMap(({ group, was, now }) => groupWrites(lane.address, group, was, now));
  const { messages, sent } = ran.outgoing;
  const proposal = await proposalOf(warm, withLetters(ran, [...outcome.letters, ...writes]), {
    // Tries of messages are kept with their groups.
    head: { splits: [split], watermark, sent, attempts: outcome.timerAttempts },
    messages,
    services: session.services,
  });
  const kept = keepsInput ? settled.map(({ message }) => encodeUnit({ kind: 'message', message })) : [];
  return { ...proposal, lane: { kept, buckets: bucketsOf(lane, changed), replayed: replayed ?? 0 } };
}

/** Under AT_MOST_ONCE: that these messages are taken, and nothing of what they do. @param p.replayed  units of a replay */
export async function commitPositions(
  session: Session,
  warm: WarmSubtask,
  lane: LaneMemory,
  { records, replayed }: { readonly records: readonly LaneRecord[]; readonly replayed: number },
): Promise<boolean> {
  const changed = changedGroups(lane, { records, settled: records, outcome: { attempts: [] } });
  const writes = changed.flatMap(({ group, was, now }) => groupWrites(lane.address, group, was, now));
  const kept = session.services.keepsInput ? records.map(({ message }) => encodeUnit({ kind: 'message', message })) : [];
  warm.state.beginUnit();
  const body = { ...emptyBody, delta: { ...emptyBody.delta, writes } };
  const changes = { kept, replayed, buckets: bucketsOf(lane, changed) };
  return (await session.commit(warm, { kind: 'data', head: {}, body, lane: changes })) === 'committed';
}

interface ChangedGroup {
  readonly group: string;
  readonly was: GroupState | undefined;
  readonly now: GroupState;
}

/** Positions of groups that got further, and tries of the records that stopped theirs. */
export function changedGroups(
  lane: LaneMemory,
  p: {
    readonly records: readonly LaneRecord[];
    readonly settled: readonly LaneRecord[];
    readonly outcome: Pick<ReturnType<Failures['outcome']>, 'attempts'>;
  },
): readonly ChangedGroup[] {
  const { records, settled, outcome } = p;
  const done = new Set(settled);
  const changed = new Map<string, ChangedGroup>();
  for (const record of records) {
    const was = lane.groupOf(record);
    const before = changed.get(record.group)?.now ?? was;
    const sentMs = Math.max(before?.sentMs ?? 0, record.message.sentMs);
    const attempt = outcome.attempts.find((one) => isSameRecord(one, record.name));
    if (done.has(record))
      changed.set(record.group, {
        group: record.group,
        was,
        now: { settled: furthest(before?.settled, record.sequence), attempt: undefined, sentMs },
      });
    else if (attempt !== undefined) {
      const { count } = attempt;
      changed.set(record.group, {
        group: record.group,
        was,
        now: { settled: before?.settled, attempt: { record: record.name.record, count }, sentMs },
      });
    }
  }
  return [...changed.values()];
}

function furthest(before: bigint | undefined, now: bigint): bigint {
  return before !== undefined && before > now ? before : now;
}

export function bucketsOf(lane: LaneMemory, changed: readonly ChangedGroup[]): Buckets | undefined {
  const buckets = changed.map(({ now }) => bucketOf(now.sentMs, lane.address.queue));
  return buckets.length === 0
    ? undefined
    : { first: buckets.reduce((a, b) => Math.min(a, b)), last: buckets.reduce((a, b) => Math.max(a, b)) };
}
