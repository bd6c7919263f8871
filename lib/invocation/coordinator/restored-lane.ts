// What a lane of a queue takes over in a new generation. Nothing that its sealed parent took can be read again, so the parent's kept input is the
// source that the replay reads.
//   L1  The list goes on from the checkpoint's prefix of it. What the parent kept behind that is replayed, then what it had not replayed itself.
//   L2  Units that lie in the sealed ring alone are put into a segment first, under a name that is a function of the seal: a restore that is run
//       again finds the same, and nothing is copied that lies in a segment already.

import { SluiceError } from '../../core/errors.ts';
import type { EntryHead, LaneProgress } from '../entry.ts';
import { partsAbove, piecesAbove, replayLeft, replayName, segmentName, storeReplay, storeSegment } from '../lane/kept-input.ts';
import type { InvocationPorts, RingAddress } from '../ports.ts';
import { type RingView, readRing } from '../ring.ts';
import { unpackEntries } from '../unpack-entries.ts';

export interface LaneToRestore {
  /** Of the generation that was sealed. */
  readonly sealed: RingAddress;
  readonly slots: number;
  /** Of the checkpoint's handle. */
  readonly head: Pick<EntryHead, 'lane'>;
  /** That is going to rise. */
  readonly generation: number;
}

/** @returns `undefined`: it is no lane */
export async function restoredLane(ports: InvocationPorts, p: LaneToRestore): Promise<LaneProgress | undefined> {
  const at = p.head.lane;
  if (at === undefined) return undefined;
  const view = await readRing(ports.changelog, p.sealed, p.slots);
  if (view === undefined || view === 'closed') throw sealedGone(p.sealed);
  const { objects } = ports;
  const was = await storedLane(ports, view);
  const { pieces, below } = await piecesAbove(objects, was, at.kept);
  const parts = [...partsAbove(pieces, at.kept), ...(await replayLeft(objects, was.replay))];
  const replay = await storeReplay(objects, replayName({ generation: p.generation, subtask: p.sealed.subtask }), parts);
  return { kept: at.kept, stored: at.kept, segment: below, replay, buckets: at.buckets };
}

/** The lane of a sealed ring with its whole list in segments. */
export async function storedLane({ objects }: InvocationPorts, { head, above }: RingView): Promise<LaneProgress> {
  const was = head.lane!;
  const units: Uint8Array[] = [];
  for await (const { body } of unpackEntries(above, objects)) units.push(...(body.kept ?? []));
  if (units.length === 0) return was;
  const segment = segmentName({ generation: head.generation, subtask: head.subtask, through: head.n, writer: 'seal' });
  await storeSegment(objects, segment, { previous: was.segment, from: was.stored, units });
  return { ...was, segment, stored: was.stored + units.length };
}

function sealedGone({ generation, subtask }: RingAddress): SluiceError {
  return new SluiceError('OBJECT_MISSING', {
    message: `what subtask ${subtask} took from its queue in generation ${generation} is gone: its changelog is closed`,
    next: 'repair-state',
    subtask,
    generation,
  });
}
