// Sealing a ring, and opening it again.
//   S1  After its seal a ring takes no entry, so an environment that reads nothing but appends learns that it has to read. There is always a slot
//       for the seal.
//   S2  A seal says what the entry before it said. Where the job may go on from it, it also carries what that entry wanted delivered: nobody can
//       have been told whether that happened, and nobody but the newest entry says it.
//   S3  Opening puts an entry that is a function of the seal in the seal's own place. Done twice it is the same, and it needs no slot of its own,
//       which a full ring would not have.

import { SluiceError } from '../../core/errors.ts';
import { type Entry, type EntryHead, emptyBody, emptyDelta, nextEpoch } from '../entry.ts';
import { packEntry, unpackEntry } from '../entry-codec.ts';
import { inlineBytesMax } from '../limits.ts';
import type { InvocationPorts, RingAddress, StoredEntry } from '../ports.ts';
import { appendEntry, readRing, slotOf } from '../ring.ts';
import { payloadName } from './ring-creation.ts';

/** Who seals a ring for others to take over: such a seal is for good in its generation. */
export const moveWriter = 'move';

export function isMoveSeal({ writer }: Pick<EntryHead, 'writer'>): boolean {
  return writer === moveWriter;
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
}

/** Seals a ring, if it is not. @returns the head of the seal; `undefined`: there is no such ring, or it is closed */
export async function sealRing(ports: InvocationPorts, p: Sealing): Promise<EntryHead | undefined> {
  const { changelog, objects } = ports;
  for (let tries = 0; tries < triesMax; tries++) {
    const view = await readRing(changelog, p.ring, p.slots);
    if (view === undefined || view === 'closed') return undefined;
    if (view.head.kind === 'seal') return view.head;
    const tail = p.isResumable ? await unpackEntry(view.newest.bytes, objects) : { head: view.head, body: emptyBody };
    const seal = sealOf(tail, p.why);
    if ((await appendEntry(changelog, p.ring, p.slots, view.head.base, await stored(ports, seal))) !== 'lost') return seal.head;
  }
  throw new SluiceError('CHANGELOG_UNSTEADY', {
    message: `subtask ${p.ring.subtask} appended ${triesMax} times while its changelog was to be sealed`,
    next: 'try-again',
    subtask: p.ring.subtask,
    generation: p.ring.generation,
  });
}

/** Pure: the seal behind an entry. */
export function sealOf({ head, body }: Entry, why: string): Entry {
  return {
    head: { ...head, n: head.n + 1, kind: 'seal', writer: why, epoch: nextEpoch(head) },
    body: { ...body, delta: emptyDelta },
  };
}

/** Opens a sealed ring; one that is open already stays as it is. */
export async function openRing(ports: InvocationPorts, ring: RingAddress, slots: number): Promise<void> {
  const view = await readRing(ports.changelog, ring, slots);
  if (view === undefined || view === 'closed' || view.head.kind !== 'seal' || isMoveSeal(view.head)) return;
  const entry = openedOf(await unpackEntry(view.newest.bytes, ports.objects));
  const { n } = entry.head;
  // A conflict means that another coordinator did the same, and that the ring may have gone on since.
  await ports.changelog.put({ ring, slot: slotOf(n, slots), entry: await stored(ports, entry), expects: n });
}

/** Pure: the entry that takes the place of a seal. Over a barrier it is that barrier again, since its promise may not have been made. */
export function openedOf({ head, body }: Entry): Entry {
  const barrier = head.lastBarrier?.n === head.n - 1 ? head.lastBarrier : undefined;
  const opened: EntryHead = { ...head, kind: 'data', writer: 'resume' };
  if (barrier === undefined) return { head: opened, body };
  const { checkpoint, flushedThrough } = barrier;
  return { head: { ...opened, kind: 'barrier', epoch: checkpoint, lastBarrier: { checkpoint, n: head.n, flushedThrough } }, body };
}

async function stored(ports: InvocationPorts, entry: Entry): Promise<StoredEntry> {
  const { n, writer } = entry.head;
  const { bytes, object } = packEntry(entry, { inlineBytesMax, objectName: payloadName(entry.head) });
  if (object !== undefined) await ports.objects.putIfAbsent(object.name, object.bytes);
  return { n, writer, bytes };
}
