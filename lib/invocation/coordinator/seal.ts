// Sealing a ring. Opening it again is opening.ts.
//   S1  After its seal a ring takes no entry, so an environment that reads nothing but appends learns that it has to read. There is always a slot
//       for the seal.
//   S2  A seal says what the entry before it said. Where the job may go on from it, it also carries what that entry wanted delivered: nobody can
//       have been told whether that happened, and nobody but the newest entry says it. It names the entry that the rows are of, whose tags they keep: a
//       sink that had them before the seal tells by these that it has them.
//   S3  A seal never takes the slot of an entry that is not in the base: rather nothing is sealed, and whoever wanted it says so.

import { SluiceError } from '../../core/errors.ts';
import { type Entry, type EntryHead, emptyBody, emptyDelta, nextEpoch } from '../entry.ts';
import { packEntry, unpackEntry } from '../entry-codec.ts';
import { inlineBytesMax } from '../limits.ts';
import type { InvocationPorts, RingAddress, StoredEntry } from '../ports.ts';
import { appendEntry, expectationFor, readRing, slotOf } from '../ring.ts';
import { payloadName } from './ring-creation.ts';

/** Who seals a ring for others to take over: such a seal is for good in its generation. */
export const moveWriter = 'move';

export function isMoveSeal({ writer }: Pick<EntryHead, 'writer'>): boolean {
  return writer === moveWriter;
}

/** Who seals a ring for a restore to a generation. */
export function restoreWriter(generation: number | undefined): string {
  return `restore-${generation}`;
}

export function isSealOfRestore({ writer }: Pick<EntryHead, 'writer'>): boolean {
  return writer.startsWith('restore-');
}

/** Who opens a ring for a job that goes on. */
export const openingWriter = 'resume';

/** The entry that took the place of a seal, and nothing was appended since. */
export function isOpening({ writer }: Pick<EntryHead, 'writer'>): boolean {
  return writer === openingWriter;
}

/** A subtask that is never faster than a coordinator for so long appends without end. */
const triesMax = 50;

export interface Sealing {
  readonly ring: RingAddress;
  readonly slots: number;
  /** Why; names the writer of the seal. */
  readonly why: string;
  /** The job may go on from here. */
  readonly isResumable: boolean;
  /** The seal is put only while the job item says this; absent: the ring is to be sealed whatever becomes of the job. */
  readonly change?: string;
}

/** Seals a ring, if it is not. @returns the head of the seal; `undefined`: there is no such ring, or it is closed */
export async function sealRing(ports: InvocationPorts, p: Sealing): Promise<EntryHead | 'refused' | undefined> {
  const { changelog, objects } = ports;
  for (let tries = 0; tries < triesMax; tries++) {
    const view = await readRing(changelog, p.ring, p.slots);
    if (view === undefined || view === 'closed') return undefined;
    if (view.head.kind === 'seal') return view.head;
    if (!hasSlotForSeal(view.head, p.slots)) throw noSlot(p.ring);
    const tail = p.isResumable ? await unpackEntry(view.newest.bytes, objects) : { head: view.head, body: emptyBody };
    const seal = sealOf(tail, p.why);
    const outcome = await append(ports, p, seal);
    if (outcome === 'refused') return 'refused';
    if (outcome === 'appended') return seal.head;
  }
  throw new SluiceError('CHANGELOG_UNSTEADY', {
    message: `subtask ${p.ring.subtask} appended ${triesMax} times while its changelog was to be sealed`,
    next: 'try-again',
    subtask: p.ring.subtask,
    generation: p.ring.generation,
  });
}

/** Whether the slot of the next entry holds nothing that is needed. Units always leave one, and so does opening. */
export function hasSlotForSeal({ n, flushedThrough }: Pick<EntryHead, 'n' | 'flushedThrough'>, slots: number): boolean {
  return n + 1 - slots <= flushedThrough;
}

function noSlot({ generation, subtask }: RingAddress): SluiceError {
  return new SluiceError('CHANGELOG_UNSTEADY', {
    message: `the changelog of subtask ${subtask} has no slot left for a seal`,
    next: 'report-a-bug',
    subtask,
    generation,
  });
}

async function append(ports: InvocationPorts, { ring, slots, change }: Sealing, seal: Entry): Promise<'appended' | 'lost' | 'refused'> {
  const entry = await storedEntry(ports, seal);
  const { n, base } = seal.head;
  if (change === undefined) return (await appendEntry(ports.changelog, ring, slots, base, entry)) === 'lost' ? 'lost' : 'appended';
  const expects = expectationFor(n, base, slots);
  const outcome = await ports.changelog.putDuring({ ring, slot: slotOf(n, slots), entry, expects, change });
  if (outcome.kind === 'refused') return 'refused';
  // Coordinators seal by one name, and behind one entry there is one seal: whoever else put it put this.
  const isThere = outcome.kind === 'stored' || (outcome.held?.n === n && outcome.held.writer === entry.writer);
  return isThere ? 'appended' : 'lost';
}

/** Pure: the seal behind an entry. */
export function sealOf({ head, body }: Entry, why: string): Entry {
  return {
    head: { ...head, n: head.n + 1, kind: 'seal', writer: why, epoch: nextEpoch(head), ...deliversOf({ head, body }) },
    // What the entry before kept is in that entry; twice in the ring it would be twice in the list.
    body: { ...body, delta: emptyDelta, kept: undefined },
  };
}

/** However often a job stands still and goes on with nothing in between, the rows stay those of the entry that had them first. */
function deliversOf({ head, body }: Entry): Pick<EntryHead, 'deliversOf'> {
  return { deliversOf: body.rows.length === 0 ? undefined : (head.deliversOf ?? head.n) };
}

export async function storedEntry(ports: InvocationPorts, entry: Entry): Promise<StoredEntry> {
  const { n, writer } = entry.head;
  const { bytes, object } = packEntry(entry, { inlineBytesMax, objectName: payloadName(entry.head) });
  if (object !== undefined) await ports.objects.putIfAbsent(object.name, object.bytes);
  return { n, writer, bytes };
}
