// The first entry of a subtask in a new generation, from the handle that a checkpoint holds of it.
//   H1  Channels begin at zero on both ends, with nothing sent and nothing waiting: what waited behind the barrier lies behind the cut, and its
//       sender sends it again. What a channel had told before the barrier (event time, idleness, its end) stays told.
//   H2  Keyed state is in the table as of the handle's `flushedThrough`; the entries from there to the barrier come along as the delta of this
//       entry, so far as they have not been materialised since. A handle with a snapshot of its own needs none.
//       Under AT_MOST_ONCE nothing is taken a second time: a source goes on where its sealed parent was. A split whose subtask had given way to others
//       has no seal of this generation; what was read of it is passed over by a replay that runs nothing.
//   H3  A split that came after the checkpoint, where a source adds splits, is read from its beginning to where its sealed parent was.
//   H4  The transactions of the checkpoint have been committed, so none is pending.

import type { Source } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Plan } from '../../graph/plan.ts';
import { addressText } from '../address.ts';
import { type Entry, type EntryHead, emptyBody, type LaneProgress, type StateDelta } from '../entry.ts';
import { decodeHead } from '../entry-codec.ts';
import type { JobItem, Owner, Restoring, SubtaskHandle } from '../job-item.ts';
import type { InvocationPorts, RingAddress, StoredEntry } from '../ports.ts';
import type { ReplayEnds } from '../replay-end.ts';
import { readRing } from '../ring.ts';
import { unreadSplit } from '../source-intake.ts';
import { withoutCountedSilence } from '../unit/silence.ts';
import { unpackEntries } from '../unpack-entries.ts';
import { sourceOf } from './owners.ts';

export interface Restored {
  readonly handle: SubtaskHandle;
  readonly owner: Owner;
  readonly restoring: Restoring;
  readonly until: JobItem['until'];
  /** Seals of the old generation. */
  readonly seals: readonly EntryHead[];
  /** Of a queue: what it takes over of its list of kept input. */
  readonly lane?: LaneProgress | undefined;
  readonly slots: number;
  readonly plan: Plan;
}

export async function restoredEntry(ports: InvocationPorts, p: Restored): Promise<Entry> {
  return { head: restoredHead(p), body: { ...emptyBody, delta: await unflushedDelta(ports, p) } };
}

/** Pure. */
export function restoredHead({ handle, owner, restoring, until, seals, plan, lane }: Restored): EntryHead {
  const source = sourceOf(plan.stages[owner.stage]);
  const head = withAddedSplits(decodeHead(handle.head), until, source);
  const isAtMostOnce = plan.settings.checkpoints?.mode === 'AT_MOST_ONCE';
  const furthest = new Map(until);
  const replayUntilOf = (ordinal: number): number => furthest.get(splitName(owner.subtask, ordinal)) ?? 0;
  return {
    ...head,
    generation: restoring.generation,
    n: 0,
    base: 0,
    kind: 'init',
    writer: `restore-${restoring.generation}`,
    epoch: restoring.epoch,
    flushedThrough: -1,
    lastCompleted: restoring.checkpoint,
    open: [],
    lastBarrier: undefined,
    splits: withoutCountedSilence(isAtMostOnce ? skippingSplits(head, seals) : head.splits).map((split) => ({
      ...split,
      replayUntil: source?.isRereadable === true ? replayUntilOf(split.ordinal) : 0,
    })),
    channels: head.channels.map((channel) => ({ ...channel, sequence: 0, part: undefined, barrier: 0 })),
    held: [],
    abortedThrough: restoring.epoch - 1,
    sent: [],
    transactions: [],
    // Tries are counted at positions, and those of channels are new.
    attempts: source === undefined ? [] : head.attempts,
    ...(lane === undefined ? {} : { lane }),
    deliversOf: undefined,
  };
}

function withAddedSplits(head: EntryHead, until: JobItem['until'], source: Source<unknown> | undefined): EntryHead {
  if (source?.splitOf === undefined) return head;
  const known = new Set(head.splits.map(({ ordinal }) => splitName(head.subtask, ordinal)));
  const added = until.filter(([name]) => name.startsWith(splitName(head.subtask, '')) && !known.has(name));
  const ordinals = added.map(([name]) => Number(name.slice(name.lastIndexOf('/') + 1))).sort((a, b) => a - b);
  return { ...head, splits: [...head.splits, ...ordinals.map((ordinal) => unreadSplit(ordinal, source.splitOf!(ordinal)))] };
}

function skippingSplits(head: EntryHead, seals: readonly EntryHead[]): EntryHead['splits'] {
  const sealed = seals.find(({ subtask }) => subtask === head.subtask);
  return head.splits.map((split) => {
    const last = sealed?.splits.find(({ ordinal }) => ordinal === split.ordinal) ?? split;
    const isFurther = (last.position?.index ?? 0) > (split.position?.index ?? 0) || last.malformed > split.malformed || last.hasEnded;
    return isFurther ? last : split;
  });
}

/** A split in the job item's `until`. */
export function splitName(subtask: string, ordinal: number | ''): string {
  return `${subtask}/${ordinal}`;
}

/** Where the replay of a subtask's splits ends, so far as an index does not say it. */
export function replayEndsOf({ places }: Pick<JobItem, 'places'>, subtask: string, source: Source<unknown> | undefined): ReplayEnds {
  if (places === undefined || source?.isRereadable !== true) return () => undefined;
  const { comparePlaces } = source;
  return (ordinal) => {
    const name = splitName(subtask, ordinal);
    const found = places.find(([split]) => split === name);
    return found === undefined ? undefined : { place: found[1], comparePlaces };
  };
}

async function unflushedDelta({ changelog, objects }: InvocationPorts, { handle, slots }: Restored): Promise<StateDelta> {
  const { generation, subtask, n } = handle;
  if (handle.flushedThrough >= n) return emptyBody.delta;
  const ring: RingAddress = { generation, subtask };
  const view = await readRing(changelog, ring, slots);
  if (view === undefined || view === 'closed') throw ringGone(handle);
  const from = Math.max(handle.flushedThrough, view.head.flushedThrough);
  const entries = view.all.filter((e) => e.n > from && e.n <= n);
  return concatenated(await deltasOf(entries, objects));
}

async function deltasOf(entries: readonly StoredEntry[], objects: InvocationPorts['objects']): Promise<readonly StateDelta[]> {
  const deltas: StateDelta[] = [];
  for await (const { body } of unpackEntries(entries, objects)) deltas.push(body.delta);
  return deltas;
}

/** Pure: one delta that does what the others do in order. Of several writes to an address the last one is all that matters. */
export function concatenated(deltas: readonly StateDelta[]): StateDelta {
  const writes = new Map<string, StateDelta['writes'][number]>();
  for (const write of deltas.flatMap((d) => d.writes)) {
    writes.set(addressText(write.address), write);
  }
  return { writes: [...writes.values()], timers: deltas.flatMap((d) => d.timers) };
}

function ringGone({ generation, subtask }: SubtaskHandle): SluiceError {
  return new SluiceError('CHECKPOINT_NOT_FOUND', {
    message: `the checkpoint refers to the changelog of subtask ${subtask} in generation ${generation}, which is gone`,
    next: 'repair-state',
    subtask,
    generation,
  });
}
