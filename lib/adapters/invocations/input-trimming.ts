// When segments of the input log may go: they are behind every retained checkpoint, from which a restore would read again, and behind every
// subtask.

import { headsOf, readHandles } from '../../invocation/coordinator/checkpoint-objects.ts';
import { readJob } from '../../invocation/coordinator/read-job.ts';
import type { EntryHead } from '../../invocation/entry.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { readRing } from '../../invocation/ring.ts';
import { trimInputLog } from './input-log.ts';
import type { SourceOfStage } from './logged-plan.ts';

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
        const needed = [view.head, retained.find((head) => head.subtask === subtask)].map((head) => recordOf(head, ordinal));
        await trimInputLog(ports.objects, uid, split.id, Math.min(...needed));
      }
    }
  }
}

function recordOf(head: EntryHead | undefined, ordinal: number): number {
  const position = head?.splits.find((split) => split.ordinal === ordinal)?.position;
  return (position?.at as number | undefined) ?? 0;
}
