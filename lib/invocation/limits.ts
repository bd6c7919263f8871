// Bounds of the invocation runtime, with their units and reasons.

import { KiB, MiB } from '../core/limits.ts';

/** Slots of a ring: a hot key is written to the table once for this many entries. A ring of this size is read in a few pages. */
export const ringSlotsDefault = 1_024;
/** Fewer leave no room for a barrier, a seal and the entry that a materialise makes room for. */
export const ringSlotsMin = 6;
/** Room that an invocation leaves behind: with less it materialises at its end, and when that fails the next ones still have somewhere to append. */
export const flushBelowSlots = 16;
/** Body of an entry that is kept in the entry itself; above it goes to the object store: one object costs as much as eight write units. */
export const inlineBytesMax: number = 8 * KiB;
/** A stored value above this lies in an object, and its version points there. */
export const inlineValueBytesMax: number = 32 * KiB;
/** One value, element of a list or entry of a map; it is loaded whole, and many of them are in memory together. */
export const stateValueBytesMax: number = 16 * MiB;
/** Rows that wait for a barrier lie together up to this; more of one batch lie in several pieces, as far as rows can be parted. */
export const waitingRowsBytesMax: number = 1 * MiB;
/** A list closes a chunk when its encoded elements have this many bytes. */
export const listChunkBytes: number = 4 * KiB;
/** A message above this goes to the object store and the queue carries a claim-check. */
export const messageBytesMax: number = 200 * KiB;
/** Records that wait in an alignment are kept in the entry up to this, then in the object store. */
export const heldBytesMax: number = 4 * KiB;
/** Operator state up to this rides in an entry; more of it lies in an object that entries point to, and what changes behind that rides up to this again. */
export const inlineOperatorStateBytesMax: number = 1 * KiB;
/** What one object costs, in bytes written to the changelog: as much as eight units of 1 KB. */
export const objectCostBytes: number = 8 * KiB;
/** A last tombstone stays this long: no environment lives for a day, so none can find the item absent and write to it. */
export const tombstoneLifeMs: number = 24 * 60 * 60 * 1000;
/** Keys that a warm environment keeps of one subtask: at a few hundred bytes a key, tens of megabytes. The others are read again when they come. */
export const residentKeysMax = 100_000;
/** Lost appends after which an invocation gives up and leaves its input to the next one. */
export const appendTriesMax = 4;
/** Kept input of a queue that lies in the ring alone; above it a materialise moves it into a segment, which has to fit into memory. */
export const keptBytesMax: number = 4 * MiB;
/**
 * How long after its time in the queue is over a message may still turn up: in the hands of an invocation that held it, by clocks that are wrong.
 * No environment lives for a day.
 */
export const positionMarginMs: number = 24 * 60 * 60 * 1000;
/** Time buckets of a lane that one tick clears of old positions. */
export const bucketsPerTick = 4;
