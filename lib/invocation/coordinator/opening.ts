// Opening a sealed ring again, for a job that goes on in its own generation.
//   O1  The entry that opens a ring is a function of the seal and lies in its place. Done twice it is the same, and it needs no slot of its own, which
//       a full ring would not have.
//   O2  The seal may have taken the last slot, and then the next seal would have none. So the state of such a ring is materialised first; nobody can
//       append meanwhile.

import type { Entry, EntryHead } from '../entry.ts';
import { unpackEntry } from '../entry-codec.ts';
import { type RingView, readRing, slotOf } from '../ring.ts';
import { withoutCountedSilence } from '../unit/silence.ts';
import type { PulseRun } from './pulse-run.ts';
import { storedLane } from './restored-lane.ts';
import { hasSlotForSeal, isMoveSeal, openingWriter, storedEntry } from './seal.ts';
import { sealedParent } from './sealed-parent.ts';

/**
 * Opens a sealed ring; one that is open already stays as it is.
 * @param change  what the job item says: it is opened only under that, since a restore may go by the same seal later
 * @returns false: the ring is full and its state is not all in the base; the next pulse tries again
 */
export async function openRing(run: PulseRun, subtask: string, change: string): Promise<boolean> {
  const { ports } = run.options;
  const slots = run.item.ringSlots;
  const ring = run.ring(subtask);
  const view = await readRing(ports.changelog, ring, slots);
  if (view === undefined || view === 'closed' || view.head.kind !== 'seal' || isMoveSeal(view.head)) return true;
  const seal = await unpackEntry(view.newest.bytes, ports.objects);
  const room = hasSlotForSeal(seal.head, slots) ? {} : await materialised(run, seal, view);
  if (room === undefined) return false;
  const entry = openedOf({ head: { ...seal.head, ...room }, body: seal.body });
  const { n } = entry.head;
  // A conflict means that another coordinator did the same, and that the ring may have gone on since.
  await ports.changelog.putDuring({ ring, slot: slotOf(n, slots), entry: await storedEntry(ports, entry), expects: n, change });
  return true;
}

async function materialised(
  run: PulseRun,
  seal: Entry,
  view: RingView,
): Promise<Pick<EntryHead, 'flushedThrough' | 'snapshot' | 'lane'> | undefined> {
  const parent = await sealedParent(run, seal);
  if (parent === undefined || !(await parent.materialise())) return undefined;
  const lane = seal.head.lane === undefined ? {} : { lane: await storedLane(run.options.ports, view) };
  return { flushedThrough: seal.head.n, snapshot: parent.snapshot, ...lane };
}

/** Pure: the entry that takes the place of a seal. Over a barrier it is that barrier again, since its promise may not have been made. */
export function openedOf({ head, body }: Entry): Entry {
  const barrier = head.lastBarrier?.n === head.n - 1 ? head.lastBarrier : undefined;
  const opened: EntryHead = { ...head, splits: withoutCountedSilence(head.splits), kind: 'data', writer: openingWriter };
  if (barrier === undefined) return { head: opened, body };
  const { checkpoint, flushedThrough } = barrier;
  return { head: { ...opened, kind: 'barrier', epoch: checkpoint, lastBarrier: { checkpoint, n: head.n, flushedThrough } }, body };
}
