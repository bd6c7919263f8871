// Positions of a queue are forgotten when what they stand for cannot come again. Done by ticks, a time bucket at a time, so that nobody has to look
// at what is still needed.

import { emptyBody, type StateWrite } from '../entry.ts';
import { bucketAddress, bucketMs, bucketOf, decodeGroup, groupAddress, groupOfMark } from '../lane/group-state.ts';
import type { LaneMemory } from '../lane/lane-memory.ts';
import { bucketsPerTick } from '../limits.ts';
import { mayForget } from '../poison/lane.ts';
import { makeRoom } from './commit.ts';
import type { Session } from './session.ts';
import type { WarmSubtask } from './warm-subtask.ts';

export async function forgetPositions(session: Session, warm: WarmSubtask, lane: LaneMemory): Promise<'done' | 'lost'> {
  const { limits, clock } = session.services;
  const { queue } = lane.address;
  const facts = { nowMs: clock.now(), retentionMs: queue.retentionMs, marginMs: limits.positionMarginMs };
  const isOver = (bucket: number): boolean => mayForget((bucket + 1) * bucketMs(queue), facts);
  const from = warm.newest.head.lane?.buckets?.first;
  if (from === undefined || !isOver(from)) return 'done';
  const writes: StateWrite[] = [];
  let bucket = from;
  for (let buckets = 0; buckets < bucketsPerTick && isOver(bucket); buckets++, bucket++)
    writes.push(...(await forgotten(warm, lane, bucket)));
  warm.state.beginUnit();
  const delta = { ...emptyBody.delta, writes };
  const proposal = {
    kind: 'data' as const,
    head: {},
    body: { ...emptyBody, delta },
    lane: { kept: [], replayed: 0, buckets: undefined, cleared: bucket },
  };
  if ((await session.commit(warm, proposal)) === 'lost') return 'lost';
  return (await makeRoom(warm)) ? 'done' : 'lost';
}

/** What takes away everything of a bucket that is over. A group that went on since has its mark in a later one. */
async function forgotten(warm: WarmSubtask, lane: LaneMemory, bucket: number): Promise<readonly StateWrite[]> {
  const { address } = lane;
  const at = bucketAddress(address.subtask, bucket);
  const found = await warm.state.list(at);
  const writes = found.map(([sub]): StateWrite => ({ address: { ...at, sub }, value: undefined }));
  if (address.queue.order === 'standard') return writes;
  const groups = found.map(([sub]) => groupAddress(address, groupOfMark(sub), 0));
  const states = await warm.state.readMany(groups);
  for (const [index, bytes] of states.entries()) {
    if (bytes === undefined || bucketOf(decodeGroup(bytes).sentMs, address.queue) > bucket) continue;
    writes.push({ address: groups[index]!, value: undefined });
  }
  return writes;
}
