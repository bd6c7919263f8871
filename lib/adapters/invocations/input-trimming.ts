// When segments of the input log may go: they are behind every retained checkpoint, from which a restore would read again, behind every subtask, and
// behind where the next run of this process begins to deliver, which lags.

import type { SplitPosition } from '../../api/source.ts';
import { headsOf, readHandles } from '../../invocation/coordinator/checkpoint-objects.ts';
import { readJob } from '../../invocation/coordinator/read-job.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { readRing } from '../../invocation/ring.ts';
import { trimInputLog } from './input-log.ts';
import type { SourceOfStage } from './logged-plan.ts';
import { readMark } from './mapping-progress.ts';

/** @param sources  those whose input is logged */
export async function trimLogs(ports: InvocationPorts, sources: readonly SourceOfStage[]): Promise<void> {
  if (sources.length === 0) return;
  const item = (await readJob(ports))?.item;
  const oldest = item?.completed[0];
  if (item === undefined || oldest === undefined) return;
  const retained = headsOf(await readHandles(ports.objects, oldest));
  for (const { stage, uid } of sources) {
    for (const { subtask } of item.owners.filter((owner) => owner.stage === stage.id)) {
      const view = await readRing(ports.changelog, { generation: item.generation, subtask }, item.ringSlots);
      if (view === undefined || view === 'closed') continue;
      for (const { ordinal, split } of view.head.splits) {
        const heads = [view.head, retained.find((head) => head.subtask === subtask)];
        const needed = heads.map((head) => recordAt(head?.splits.find((one) => one.ordinal === ordinal)));
        const delivered = recordAt(await readMark(ports.items, subtask, ordinal));
        await trimInputLog(ports.objects, uid, split.id, Math.min(...needed, delivered));
      }
    }
  }
}

function recordAt(at: { readonly position: SplitPosition | undefined } | undefined): number {
  return (at?.position?.at as number | undefined) ?? 0;
}
