// Commit: one conditional append. It is the commit, the fence and the detector of duplicates in one.
//   C1  Everything that an entry points to is stored before the entry.
//   C2  The append is made only when the entry before it has been delivered (D2 of deliver.ts).
//   C3  A lost append leaves no trace but objects that nothing points to.

import { type Buckets, type Entry, type EntryBody, type EntryHead, nextEpoch } from '../entry.ts';
import { packEntry } from '../entry-codec.ts';
import { appendEntry, roomLeft } from '../ring.ts';
import { tagOf } from './admit.ts';
import { materialise } from './materialise.ts';
import type { UnitServices } from './services.ts';
import { newestCompleted, openBarriers, type WarmSubtask } from './warm-subtask.ts';

/** What a unit wants committed; what it does not name stays as it is. */
export interface Proposal {
  readonly kind: 'data' | 'barrier';
  /** Of a barrier entry, the checkpoint; else the epoch goes on. */
  readonly epoch?: number;
  readonly head: Partial<
    Pick<
      EntryHead,
      | 'splits'
      | 'channels'
      | 'held'
      | 'abortedThrough'
      | 'hasEnded'
      | 'sent'
      | 'watermark'
      | 'operatorWatermarks'
      | 'operatorState'
      | 'transactions'
      | 'attempts'
    >
  >;
  readonly body: EntryBody;
  readonly lane?: LaneChanges;
  /** Rows that the unit handed to sinks, those that wait for a barrier included. */
  readonly rowCount?: number;
}

export interface LaneChanges {
  /** Input that the unit settled, encoded. */
  readonly kept: readonly Uint8Array[];
  /** Units of the replay that it took. */
  readonly replayed: number;
  /** Time buckets that it wrote positions to. */
  readonly buckets: Buckets | undefined;
  /** Time buckets below this one hold nothing any more. */
  readonly cleared?: number;
}

export type Committed = 'committed' | 'lost';

/** Makes room for one entry more, if there is none. Before a unit runs, since running and making room do not mix. */
export async function makeRoom(warm: WarmSubtask): Promise<boolean> {
  const { n } = warm.newest.head;
  if (roomLeft({ n, flushedThrough: warm.flushedThrough, slots: warm.item.ringSlots }) > 0) return true;
  return materialise(warm);
}

export async function commit(warm: WarmSubtask, proposal: Proposal, services: UnitServices): Promise<Committed> {
  const { ports, limits } = services;
  const writer = services.newWriter();
  await warm.lane?.secure({ generation: warm.ring.generation, flushedThrough: warm.flushedThrough });
  const entry = entryOf(warm, proposal, writer);
  const { generation, subtask, n, base } = entry.head;
  const packed = packEntry(entry, {
    inlineBytesMax: limits.inlineBytesMax,
    objectName: `entry/${generation}/${subtask}/${n}-${writer}`,
  });
  if (packed.object !== undefined) await ports.objects.putIfAbsent(packed.object.name, packed.object.bytes);
  const stored = { n, writer, bytes: packed.bytes };
  const outcome = await appendEntry(ports.changelog, warm.ring, warm.item.ringSlots, base, stored);
  if (outcome === 'lost') {
    warm.state.abandonUnit();
    return 'lost';
  }
  warm.state.commitUnit(tagOf(entry.head), entry.body.delta);
  warm.newest = entry;
  warm.isDelivered = false;
  warm.lane?.learn(entry);
  return 'committed';
}

function entryOf(warm: WarmSubtask, { kind, epoch, head: changes, body, lane }: Proposal, writer: string): Entry {
  const last = warm.newest.head;
  const n = last.n + 1;
  const { flushedThrough, snapshot } = warm;
  const head: EntryHead = {
    ...last,
    ...changes,
    n,
    kind,
    writer,
    epoch: epoch ?? nextEpoch(last),
    flushedThrough,
    snapshot,
    lastCompleted: Math.max(last.lastCompleted, newestCompleted(warm.item)),
    open: openBarriers(warm),
    lastBarrier: epoch === undefined ? last.lastBarrier : { checkpoint: epoch, n, flushedThrough },
    ...laneOf(warm, lane),
    deliversOf: undefined,
  };
  return { head, body: lane === undefined || lane.kept.length === 0 ? body : { ...body, kept: lane.kept } };
}

const noLaneChanges: LaneChanges = { kept: [], replayed: 0, buckets: undefined };

function bucketsAfter(before: Buckets | undefined, written: Buckets | undefined, cleared = 0): Buckets | undefined {
  const left = before === undefined || cleared > before.last ? undefined : { first: Math.max(before.first, cleared), last: before.last };
  if (left === undefined || written === undefined) return left ?? written;
  return { first: Math.min(left.first, written.first), last: Math.max(left.last, written.last) };
}

/** A segment belongs to its number, as a snapshot does. */
function laneOf(warm: WarmSubtask, changes: Proposal['lane']): Pick<EntryHead, 'lane'> {
  const last = warm.newest.head.lane;
  if (last === undefined || warm.lane === undefined) return {};
  const { kept, replayed, buckets, cleared } = changes ?? noLaneChanges;
  const { replay } = last;
  return {
    lane: {
      ...warm.lane.list,
      kept: last.kept + kept.length,
      replay: replay === undefined ? undefined : { ...replay, taken: replay.taken + replayed },
      buckets: bucketsAfter(last.buckets, buckets, cleared),
    },
  };
}
