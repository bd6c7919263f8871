// What a pulse asks of the rings: whether anything is new since the last completed checkpoint, and what the newest entry of a subtask says.

import type { EntryHead } from '../entry.ts';
import { unpackHead } from '../entry-codec.ts';
import type { SubtaskHandle } from '../job-item.ts';
import type { RingAddress } from '../ports.ts';
import { readNewer, readRing, slotOf } from '../ring.ts';
import { handlesOf } from './notify.ts';
import type { PulseRun } from './pulse-run.ts';
import { ringName } from './ring-creation.ts';

/** What one environment remembers from pulse to pulse. Begins as empty maps; pulses fill it, and it saves requests, nothing else. */
export interface PulseMemory {
  /** Newest heads by ring: the next one costs one read and not a whole ring. */
  readonly heads: Map<string, EntryHead>;
  /** Handles of retained checkpoints. */
  handles?: Map<number, readonly SubtaskHandle[]>;
  /** The last clean-up came to its end, so that the next one can name what there is to remove. */
  isSwept?: boolean;
}

/** The newest head of a ring; `undefined`: there is no such ring, or it is closed. */
export async function newestHead(run: PulseRun, ring: RingAddress): Promise<EntryHead | undefined> {
  const { options, item } = run;
  const { changelog } = options.ports;
  const heads = options.memory?.heads;
  const known = heads?.get(ringName(ring));
  const newer = known === undefined ? 'too-far' : await readNewer(changelog, ring, item.ringSlots, known.n);
  if (newer !== 'too-far') {
    const newest = newer.at(-1);
    if (newest === undefined) return known;
    const head = unpackHead(newest.bytes);
    heads?.set(ringName(ring), head);
    return head;
  }
  const view = await readRing(changelog, ring, item.ringSlots);
  if (view === undefined || view === 'closed') return undefined;
  heads?.set(ringName(ring), view.head);
  return view.head;
}

/**
 * Whether an entry lies behind the one that the newest completed checkpoint holds, in the ring of any owner. One small read for each owner
 * until one has news.
 */
export async function hasNews(run: PulseRun): Promise<boolean> {
  const { item, options } = run;
  const newest = item.completed.at(-1);
  const handles = newest?.generation === item.generation ? await handlesOf(run, newest) : [];
  const known = new Map(handles.map(({ subtask, n }) => [subtask, n]));
  for (const { subtask } of item.owners) {
    // A change of owners is news: without a checkpoint behind it, a restore would go back to before it.
    if (newest === undefined ? item.until.length > 0 : !newest.owners.some((o) => o.subtask === subtask)) return true;
    // A ring that the checkpoint does not know is new itself, unless it holds nothing but its first entry.
    const after = known.get(subtask) ?? 0;
    const next = await options.ports.changelog.get({ ring: run.ring(subtask), slot: slotOf(after + 1, item.ringSlots) });
    if (next !== undefined && next.n > after) return true;
  }
  return false;
}

/** Whether every subtask has taken its input to the end. Asked of the last stages first: they end last. */
export async function haveAllEnded(run: PulseRun): Promise<boolean> {
  if (run.item.owners.length === 0) return false;
  for (const { subtask } of [...run.item.owners].reverse()) {
    const head = await newestHead(run, run.ring(subtask));
    if (head === undefined || !head.hasEnded) return false;
  }
  return true;
}
