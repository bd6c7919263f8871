// What a subtask can be asked to do, and what it answers. An event that mixes subtasks is split before it comes here.

import type { SplitPosition } from '../api/source.ts';

/** A record of an event: its value, and the position of its split after it. */
export interface EventRecord {
  readonly value: unknown;
  readonly after: SplitPosition;
  /**
   * Of a malformed one, the tag of its side output. Such records stand before the good one that was read with them and, where records are counted, share
   * its `after`; so an event is cut behind good records, or where only malformed ones are left.
   */
  readonly side?: string | undefined;
  /** Which malformed record of its split, from 0; `side` only. */
  readonly nth?: number | undefined;
}

/** A message of a queue. */
export interface QueueMessage {
  /** The queue's own: the same however often the message comes. */
  readonly id: string;
  /** Messages of a group come in order; queues without order have none. */
  readonly group: string;
  /** Place in the group: a decimal number, growing with every message, not dense. Not looked at in queues without order. */
  readonly sequence: string;
  /** When the queue took it, ms since the epoch, by the queue's clock. */
  readonly sentMs: number;
  /** How often it has been handed out, this time included. */
  readonly receives: number;
  /** Plain data. */
  readonly body: unknown;
}

export type Invocation =
  /** What an event source mapping delivers: at least once, in order within a split, possibly overlapping. */
  | {
      readonly kind: 'records';
      readonly subtask: string;
      /** Ordinal of the split. */
      readonly split: number;
      readonly records: readonly EventRecord[];
      /**
       * The same, decoded anew. Absent: they cannot be, and where a unit is run again, functions that change records in place are given them as the run
       * before has left them.
       */
      readonly reread?: (() => readonly EventRecord[]) | undefined;
      /** The split has no records after these. */
      readonly isLast: boolean;
      /** Some of it was handed out before, and may have killed whoever had it. Absent: the event source cannot tell. */
      readonly isAgain?: boolean | undefined;
    }
  /** Messages of the exchange, oldest first. */
  | {
      readonly kind: 'messages';
      readonly subtask: string;
      readonly messages: readonly Uint8Array[];
      /** As above. */
      readonly isAgain?: boolean | undefined;
    }
  /** Messages of a queue that belong to one lane; of a group, oldest first. */
  | { readonly kind: 'queue'; readonly subtask: string; readonly messages: readonly QueueMessage[] }
  /** Handed to sources, and to subtasks whose input has ended, by the coordinator. */
  | {
      readonly kind: 'barrier';
      readonly subtask: string;
      readonly generation: number;
      readonly checkpoint: number;
      /** Newest completed checkpoint. */
      readonly lastCompleted: number;
    }
  /** Reads on from the subtask's own position, towards where its sealed parents were. */
  | { readonly kind: 'replay'; readonly subtask: string; readonly generation: number; readonly recordsMax: number }
  /** Tries a parked record again; nothing happens when its letter is there no more. */
  | { readonly kind: 'redrive'; readonly subtask: string; readonly letter: string }
  /** Fires timers of processing time, looks whether an alignment was given up, delivers a tail. */
  | { readonly kind: 'tick'; readonly subtask: string };

export type Answer =
  /** Everything is committed and delivered. */
  | { readonly kind: 'done' }
  /** `messages` and `records`: the first `count` are, the rest comes again. `queue`: those are whose ids `settled` lists. */
  | { readonly kind: 'partial'; readonly count: number; readonly why: Refusal; readonly settled?: readonly string[] }
  /** Nothing is. The input stays where it is. */
  | { readonly kind: 'refused'; readonly why: Refusal };

export type Refusal =
  /** The changelog is sealed: a restore or a change of owners is under way, or the job stands still. */
  | 'sealed'
  /** The job item does not list the subtask as an owner. */
  | 'not-an-owner'
  /** The job is not running. */
  | 'not-running'
  /** The subtask has taken its input to the end, and nothing may follow that. */
  | 'ended'
  /** A replay has to come first. */
  | 'replay-first'
  /** Other writers were faster, too often. */
  | 'contended'
  /** A message is missing before this one. */
  | 'gap'
  /** The record failed; it is tried again a bounded number of times. */
  | 'record-failed'
  /** The state table did not take enough to make room in the ring. */
  | 'ring-full'
  /** The time of the invocation is nearly over. */
  | 'out-of-time'
  /** It speaks of a generation that has passed or has not begun. */
  | 'other-generation';
