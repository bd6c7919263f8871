// Which rings may come into being, and who may append to them, by what the job item says at that instant.
//   O1  A ring is created while the job item asks for it: by a restore or by a change of owners that is under way (G2 of ring-creation.ts).
//   O2  It begins in an epoch above every checkpoint that was ever begun (M5 of move.ts, T5 of restore.ts).
//   O3  Units are committed for owners, and for nobody else (A3 of admit.ts).

import type { EntryHead } from '../../lib/invocation/entry.ts';
import type { JobItem } from '../../lib/invocation/job-item.ts';

export function* creationFaults({ generation, subtask, epoch }: EntryHead, { restoring, moving, begun }: JobItem): Generator<string> {
  const wanted = restoring !== undefined ? restoring.owners : moving?.children;
  const of = restoring?.generation ?? moving?.generation;
  if (of !== generation || wanted?.some((owner) => owner.subtask === subtask) !== true)
    yield `O1: ${generation}/${subtask} is created, and the job item does not ask for it`;
  if (epoch <= begun) yield `O2: ${generation}/${subtask} begins in epoch ${epoch}, and checkpoint ${begun} has begun`;
}

export function* ownerFaults({ generation, subtask, n, kind, writer }: EntryHead, item: JobItem): Generator<string> {
  if (kind === 'seal') return;
  if (generation !== item.generation || !item.owners.some((owner) => owner.subtask === subtask))
    yield `O3: ${generation}/${subtask}: ${writer} appends ${n}, and the job item lists no such owner`;
}
