// Events of a subtask that has given way to others. Its mapping may not have heard that the last of them was taken, and would ask for ever; whoever
// reads shards in order would never come to the children.
//   D1  What lies at or before the place up to which the job remembers the split to have been read is read: in this generation it was committed, and
//       after a restore a replay reads it. So there is nothing left to do with it.
//   D2  Where events do not count their records, a changelog of the subtask has to show how far it was read. One that is gone shows nothing, and then the
//       records are not taken for read.

import { readJob } from '../coordinator/read-job.ts';
import { splitName } from '../coordinator/restored-entry.ts';
import { ringOf } from '../coordinator/ring-creation.ts';
import type { JobItem } from '../job-item.ts';
import { readRing } from '../ring.ts';
import { type SplitEvent, uncounted } from '../source-intake.ts';
import type { UnitServices } from './services.ts';

export async function isReadForGood(event: SplitEvent & { readonly subtask: string }, services: UnitServices): Promise<boolean> {
  const job = await readJob(services.ports);
  if (job === undefined || job.item.owners.some(({ subtask }) => subtask === event.subtask)) return false;
  const until = new Map(job.item.until).get(splitName(event.subtask, event.split));
  const last = event.records.findLast(({ side }) => side === undefined);
  if (last?.after.index === uncounted) return isInSomeRing(event, { at: last.after.at, item: job.item, services });
  return until !== undefined && (last?.after.index ?? 0) <= until;
}

async function isInSomeRing(
  { subtask, split }: { readonly subtask: string; readonly split: number },
  { at, item, services }: { readonly at: unknown; readonly item: JobItem; readonly services: UnitServices },
): Promise<boolean> {
  const spec = services.plan.stages[Number(subtask.split('-')[0])]?.operators[0]?.node.operator;
  const compare = spec?.kind === 'source' ? spec.source.comparePlaces : undefined;
  if (compare === undefined) return false;
  for (const ring of item.rings.map(ringOf).filter((one) => one.subtask === subtask)) {
    const view = await readRing(services.ports.changelog, ring, item.ringSlots);
    if (view === undefined || view === 'closed') continue;
    const read = view.head.splits.find(({ ordinal }) => ordinal === split)?.position;
    if (read !== undefined && compare(at, read.at) <= 0) return true;
  }
  return false;
}
