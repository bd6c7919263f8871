// Events of a subtask that has given way to others. Its mapping may not have heard that the last of them was taken, and would ask for ever; whoever
// reads shards in order would never come to the children.
//   D1  What lies at or before the place up to which the job remembers the split to have been read is read: in this generation it was committed, and
//       after a restore a replay reads it. So there is nothing left to do with it.

import { readJob } from '../coordinator/read-job.ts';
import { splitName } from '../coordinator/restored-entry.ts';
import type { SplitEvent } from '../source-intake.ts';
import type { UnitServices } from './services.ts';

export async function isReadForGood(event: SplitEvent & { readonly subtask: string }, services: UnitServices): Promise<boolean> {
  const job = await readJob(services.ports);
  if (job === undefined || job.item.owners.some(({ subtask }) => subtask === event.subtask)) return false;
  const until = new Map(job.item.until).get(splitName(event.subtask, event.split));
  const last = event.records.findLast(({ side }) => side === undefined);
  return until !== undefined && (last?.after.index ?? 0) <= until;
}
