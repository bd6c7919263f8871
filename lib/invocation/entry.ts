// What one committed unit leaves in its subtask's changelog.
//   E1  `head` is everything that the next unit has to know besides keyed state. It is whole in every entry, so the newest entry alone recovers it.
//   E2  `body` is what this unit did: changes of keyed state, messages for other subtasks, rows for sinks that are written at once.
//   E3  Whatever is delivered is delivered from the committed entry, the acknowledgement of a barrier last. Only the newest entry can be undelivered.

import type { SplitPosition } from '../api/source.ts';

export type EntryKind = 'init' | 'data' | 'barrier' | 'seal';

/** A place in the changelog of a subtask. */
export interface EntryPlace {
  readonly generation: number;
  readonly subtask: string;
  readonly n: number;
}

/** How far one split of a source has been read. */
export interface SplitProgress {
  readonly ordinal: number;
  /** Plain data: what `Source.enumerate` gave. */
  readonly split: { readonly id: string; readonly [property: string]: unknown };
  /** After the last record that was taken; `undefined` before the first. */
  readonly position: SplitPosition | undefined;
  readonly hasEnded: boolean;
  /** Largest event time seen; `noWatermark` before the first. */
  readonly largest: number;
  /** Malformed records that went to a side output. */
  readonly malformed: number;
  /**
   * How far the sealed parents of this generation had read: up to this index only a replay may read, and input from a mapping is refused.
   * 0: nothing to replay.
   */
  readonly replayUntil: number;
  /** The source gives idle splits up, and a tick found this one without a record since the last one that was taken. Absent: it speaks. */
  readonly silence?: Silence | undefined;
}

export interface Silence {
  /** Clock of the tick that first found it silent, ms. */
  readonly sinceMs: number;
  /** It has been so for long enough: it holds event time back no more, until its next record. */
  readonly isIdle: boolean;
}

/** One input channel, by its sender. */
export interface ChannelProgress {
  /** Subtask that sends. */
  readonly sender: string;
  /** Exchange of the plan that it sends on. */
  readonly exchange: number;
  /** Sequence number of the last message taken; the first one is 1. */
  readonly sequence: number;
  /** Records of the oldest message that is not taken whole, or waits, that are processed already. Absent: none. */
  readonly part?: number | undefined;
  /** Barrier that has arrived here and is awaited on other channels; 0: none. */
  readonly barrier: number;
  readonly hasEnded: boolean;
  readonly watermark: number;
  readonly isIdle: boolean;
}

/** A message that waits behind a barrier of its channel: its bytes, or the object that holds them. */
export interface HeldMessage {
  readonly sender: string;
  readonly exchange: number;
  readonly bytes: Uint8Array | undefined;
  readonly object: string | undefined;
}

/** Rows of one sink between two barriers, promised by `under` and named by the barrier that opened them. */
export interface PendingTransaction {
  /** uid of the sink. */
  readonly sink: string;
  /** The last barrier that the subtask had passed when the first row came; with generation and subtask it is the name of the transaction. */
  readonly opened: number;
  /** The barrier that ended it. */
  readonly under: number;
  readonly generation: number;
  readonly subtask: string;
  /** Object that holds the rows. */
  readonly rows: string;
}

/** A handle of a barrier entry: what a repeated injection acknowledges again. */
export interface BarrierMark {
  readonly checkpoint: number;
  readonly n: number;
  readonly flushedThrough: number;
}

/** Tries of the record that a subtask cannot get past. */
export interface Attempt {
  /** Split, channel or message group. */
  readonly place: string;
  /** Position of the record within it, as text. */
  readonly record: string;
  readonly count: number;
}

/**
 * What a lane of a queue knows besides the positions of its groups, which are keyed state. Kept input is one list over all generations: a restore
 * goes on from a prefix of it.
 */
export interface LaneProgress {
  /** Units of input kept so far: the length of the list. */
  readonly kept: number;
  /** How many of them lie in segments; the others, in the bodies of the entries above `flushedThrough`. */
  readonly stored: number;
  /** Object of the newest segment; the list of its chain may be longer than `stored`. */
  readonly segment: string | undefined;
  /** What the sealed parent had taken behind the restored checkpoint, and this generation has not: it comes before everything else. */
  readonly replay: KeptReplay | undefined;
  /** Time buckets that may hold positions; `undefined`: none does. */
  readonly buckets: Buckets | undefined;
}

/** Both ends included. */
export interface Buckets {
  readonly first: number;
  readonly last: number;
}

export interface KeptReplay {
  /** Object that lists where the units lie. */
  readonly object: string;
  /** Units taken. */
  readonly taken: number;
  readonly count: number;
}

export interface EntryHead {
  readonly generation: number;
  readonly subtask: string;
  readonly n: number;
  /** First number of this ring. */
  readonly base: number;
  readonly kind: EntryKind;
  readonly writer: string;
  /** The epoch that the entry belongs to; of a barrier entry, the number of its checkpoint. */
  readonly epoch: number;
  /** Every entry up to this number is in the state table (or in `snapshot`). */
  readonly flushedThrough: number;
  /** Newest completed checkpoint that the writer knew of. */
  readonly lastCompleted: number;
  /** Barriers passed that the writer did not know to be over. */
  readonly open: readonly number[];
  readonly lastBarrier: BarrierMark | undefined;
  /** Sources only. */
  readonly splits: readonly SplitProgress[];
  /** Stages behind an exchange only, in the order in which they became known. */
  readonly channels: readonly ChannelProgress[];
  readonly held: readonly HeldMessage[];
  /** Barriers up to this one are known to be aborted: no alignment waits for them. */
  readonly abortedThrough: number;
  /** All input has ended, the final watermark has passed, and the end has been sent on. */
  readonly hasEnded: boolean;
  /** Sequence number of the last message to each `<exchange>/<target subtask>`. */
  readonly sent: readonly (readonly [target: string, sequence: number])[];
  /** Event time of the subtask and of each operator, in order of the stage. */
  readonly watermark: number;
  readonly operatorWatermarks: readonly number[];
  /** Operator state and accumulators of the host; empty when there is none. With both, `bytes` are the parts that are otherwise than in the object. */
  readonly operatorState: { readonly bytes: Uint8Array | undefined; readonly object: string | undefined } | undefined;
  /** Backends that materialise into a snapshot: the object that holds the state at `flushedThrough`. */
  readonly snapshot: string | undefined;
  /** Every transaction whose commit is not known to be confirmed, oldest first. */
  readonly transactions: readonly PendingTransaction[];
  readonly attempts: readonly Attempt[];
  /** Lanes of a queue only. */
  readonly lane?: LaneProgress | undefined;
  /** The rows in the body are those of this older entry, which was sealed before anybody knew that they were written. Absent: they are its own. */
  readonly deliversOf?: number | undefined;
}

/** Where a piece of keyed state lies. `sub` is a map key, the number of a list chunk, or empty. All but `operator` and `state` are binary strings. */
export interface StateAddress {
  /** uid */
  readonly operator: string;
  readonly state: string;
  /** Encoded key. */
  readonly key: string;
  readonly sub: string;
}

export interface StateWrite {
  readonly address: StateAddress;
  /** `undefined`: it is there no more. */
  readonly value: Uint8Array | undefined;
}

export interface TimerChange {
  readonly operator: string;
  readonly domain: 'event' | 'processing';
  readonly isSet: boolean;
  readonly time: number;
  /** Encoded key. */
  readonly key: string;
  readonly cause: string | undefined;
}

/** What a unit did to keyed state. Each address occurs once; timer changes are in order. Applying a delta twice is the same as once. */
export interface StateDelta {
  readonly writes: readonly StateWrite[];
  readonly timers: readonly TimerChange[];
}

/** A message as its sender commits it; see message-codec.ts for what it says. */
export interface CommittedMessage {
  readonly exchange: number;
  readonly target: string;
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/** Rows for a sink that is written at once, encoded by rows-codec.ts. */
export interface ImmediateRows {
  readonly sink: string;
  readonly bytes: Uint8Array;
}

export interface EntryBody {
  readonly delta: StateDelta;
  readonly messages: readonly CommittedMessage[];
  readonly rows: readonly ImmediateRows[];
  /** Input of a queue that the unit settled, in order, encoded; absent: none. */
  readonly kept?: readonly Uint8Array[] | undefined;
}

export interface Entry {
  readonly head: EntryHead;
  readonly body: EntryBody;
}

export const emptyDelta: StateDelta = { writes: [], timers: [] };
export const emptyBody: EntryBody = { delta: emptyDelta, messages: [], rows: [] };

/** Epoch of the entry after this one. */
export function nextEpoch(head: Pick<EntryHead, 'kind' | 'epoch'>): number {
  return head.kind === 'barrier' ? head.epoch + 1 : head.epoch;
}
