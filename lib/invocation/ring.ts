// The changelog of a subtask lies in a ring: entry n in slot n mod slots. What makes it a log is decided here.
//   G1  An entry replaces the one that was written a whole round before it, or comes into an empty slot in the first round. So each number is
//       appended once, by one writer, whatever the others believe; and a slot that somebody emptied later takes nothing any more.
//   G2  A slot is used again only when its old entry is in the base. One slot stays free for the seal: a ring can be sealed at any time.
//   G3  A conflict over our own entry is a success whose reply was lost.
//   G4  The pages of a ring are read at different moments. Only a run without a hole, from `flushedThrough` of its newest entry up to that entry,
//       is a log that ever existed; anything else is read again.
//   G5  A ring that holds a closed stub is closed: a clean-up is writing, or has written, stubs over all of its slots.

import { SluiceError } from '../core/errors.ts';
import type { EntryHead } from './entry.ts';
import { closedStub, isClosedStub, unpackHead } from './entry-codec.ts';
import type { Changelog, RingAddress, StoredEntry } from './ports.ts';

/** A ring as it was at some moment. */
export interface RingView {
  readonly newest: StoredEntry;
  readonly head: EntryHead;
  /** The entries that are not in the base, without a hole, oldest first: `flushedThrough` < n ≤ newest. */
  readonly above: readonly StoredEntry[];
  /** Every entry that was read, oldest first. Those up to `flushedThrough` may have holes. */
  readonly all: readonly StoredEntry[];
}

export function slotOf(n: number, slots: number): number {
  return n % slots;
}

/**
 * What the slot of entry `n` has to hold for `n` to be appended.
 * @param base  first number of the ring
 */
export function expectationFor(n: number, base: number, slots: number): number | 'absent' {
  return n < base + slots ? 'absent' : n - slots;
}

/**
 * How many entries may follow entry `n` before something has to be materialised; the seal is not counted and always has its slot.
 * @param p.flushedThrough  what the next entry will say
 */
export function roomLeft(p: { readonly n: number; readonly flushedThrough: number; readonly slots: number }): number {
  return Math.max(0, p.flushedThrough + p.slots - 1 - p.n);
}

/**
 * Appends an entry, or finds that it cannot be: `lost` when another writer's entry, or a stub, is where it should go. A rejection leaves open
 * whether the entry was appended; the same call may then be made again.
 */
export async function appendEntry(
  changelog: Changelog,
  ring: RingAddress,
  slots: number,
  base: number,
  entry: StoredEntry,
): Promise<'appended' | 'already-mine' | 'lost'> {
  const expects = expectationFor(entry.n, base, slots);
  const outcome = await changelog.put({ ring, slot: slotOf(entry.n, slots), entry, expects });
  if (outcome.kind === 'stored') return 'appended';
  const { held } = outcome;
  return held !== undefined && held.n === entry.n && held.writer === entry.writer ? 'already-mine' : 'lost';
}

/** Reads of a whole ring before its reader gives up: each is spoilt only by a writer that went round the ring meanwhile. */
const ringReadsMax = 16;

/**
 * The ring as it was at some moment of the call; `undefined`: there is no such ring; `closed`: it is, or is about to be, nothing but stubs.
 * @throws SluiceError `CHANGELOG_UNSTEADY` when writers were faster every time
 */
export async function readRing(changelog: Changelog, ring: RingAddress, slots: number): Promise<RingView | 'closed' | undefined> {
  for (let i = 0; i < ringReadsMax; i++) {
    const all = await readSlots(changelog, ring, 0, slots - 1);
    const view = viewOfEntries(all);
    if (view !== 'torn') return view;
  }
  throw new SluiceError('CHANGELOG_UNSTEADY', {
    message: `the changelog of subtask ${ring.subtask} changed during each of ${ringReadsMax} reads`,
    next: 'retry-invocation',
    subtask: ring.subtask,
    generation: ring.generation,
  });
}

/** What the entries of one pass over the slots tell; `torn`: they do not belong together. */
export function viewOfEntries(entries: readonly StoredEntry[]): RingView | 'closed' | 'torn' | undefined {
  const all = [...entries].sort((a, b) => a.n - b.n);
  const newest = all.at(-1);
  if (newest === undefined) return undefined;
  if (all.some((e) => isClosedStub(e.bytes))) return 'closed';
  const head = unpackHead(newest.bytes);
  const above = all.filter((e) => e.n > head.flushedThrough);
  // A page read later can hold an entry that followed on ones which an earlier page did not have yet.
  if (above.length !== newest.n - head.flushedThrough) return 'torn';
  return { newest, head, above, all };
}

const firstRangeSlots = 2;
const rangeSlotsMax = 64;

/**
 * The entries that follow on `after`, oldest first; empty: `after` is the newest. `too-far`: the ring has gone on by a round or more, or is closed.
 * Costs one small read when there is nothing new.
 */
export async function readNewer(
  changelog: Changelog,
  ring: RingAddress,
  slots: number,
  after: number,
): Promise<readonly StoredEntry[] | 'too-far'> {
  const first = await changelog.get({ ring, slot: slotOf(after + 1, slots) });
  if (first === undefined || first.n < after + 1) return [];
  if (first.n > after + 1) return 'too-far';
  const found = [first];
  for (let range = firstRangeSlots; found.length < slots; range = Math.min(range * 2, rangeSlotsMax)) {
    const next = after + 1 + found.length;
    const from = slotOf(next, slots);
    const to = Math.min(from + range, slots, from + slots - found.length) - 1;
    const entries = new Map((await readSlots(changelog, ring, from, to)).map((e) => [e.n, e]));
    if ([...entries.keys()].some((n) => n > next + (to - from))) return 'too-far';
    for (let n = next; n <= next + (to - from); n++) {
      const entry = entries.get(n);
      if (entry === undefined) return found;
      found.push(entry);
    }
  }
  return 'too-far';
}

async function readSlots(changelog: Changelog, ring: RingAddress, first: number, to: number): Promise<readonly StoredEntry[]> {
  const all: StoredEntry[] = [];
  for (let from: number | undefined = first; from !== undefined; ) {
    const page: Awaited<ReturnType<Changelog['readPage']>> = await changelog.readPage({ ring, from, to });
    all.push(...page.entries);
    from = page.next;
  }
  return all;
}

/** The stub of a slot: its number is above any that is ever appended, so no writer expects it and every reader finds it. */
export function stubForSlot(slot: number, slots: number): StoredEntry {
  const rounds = Math.floor(Number.MAX_SAFE_INTEGER / slots) - 1;
  return closedStub(rounds * slots + slot);
}
