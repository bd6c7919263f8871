// Events of a subtask that has given way to others. Its mapping may not have heard that the last of them was taken, and would ask for ever; whoever
// reads shards in order would never come to the children.
//   D1  What lies at or before the place up to which the job remembers the split to have been read is read: in this generation it was committed, and
//       after a restore a replay reads it. So there is nothing left to do with it.
//   D2  Where events do not count their records, that is a place, which the job remembers too: the changelog of who read so far may be closed by now.
//       What lies behind the place was read by nobody, and stays where it is for whoever will own the split again.

import { sourceOf } from '../coordinator/owners.ts';
import { readJob } from '../coordinator/read-job.ts';
import { splitName } from '../coordinator/restored-entry.ts';
import { type SplitEvent, uncounted } from '../source-intake.ts';
import type { UnitServices } from './services.ts';

export async function isReadForGood(event: SplitEvent & { readonly subtask: string }, services: UnitServices): Promise<boolean> {
  const job = await readJob(services.ports);
  if (job === undefined || job.item.owners.some(({ subtask }) => subtask === event.subtask)) return false;
  const name = splitName(event.subtask, event.split);
  const newest = event.records.at(-1);
  if (newest?.after.index === uncounted) return isBefore(newest.after.at, new Map(job.item.places).get(name), event.subtask, services);
  const until = new Map(job.item.until).get(name);
  const last = event.records.findLast(({ side }) => side === undefined);
  return until !== undefined && (last?.after.index ?? 0) <= until;
}

function isBefore(at: unknown, place: unknown, subtask: string, { plan }: UnitServices): boolean {
  const comparePlaces = sourceOf(plan.stages[Number.parseInt(subtask, 10)])?.comparePlaces; // names of subtasks begin with their stage
  return comparePlaces !== undefined && place !== undefined && comparePlaces(at, place) <= 0;
}
