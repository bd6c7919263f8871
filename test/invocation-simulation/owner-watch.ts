// Counts what becomes of owners, so that a range of seeds can say that it has seen all of it.

import type { JobItem } from '../../lib/invocation/job-item.ts';
import type { FakeService } from '../../lib/testing/index.ts';
import type { Counts } from './counts.ts';
import { handleOf, headOfHandle, jobItemOf } from './decoded.ts';

export function watchOwners(service: FakeService, counts: Counts): void {
  let before: JobItem | undefined;
  service.observers.push((change) => {
    if (change.kind !== 'item') return;
    if (change.name.startsWith('ack/') && headOfHandle(handleOf(change.content.bytes)).kind === 'seal')
      counts.count('acknowledged by a seal');
    if (change.name !== 'job') return;
    const now = jobItemOf(change.content.bytes);
    if (before !== undefined) countChange(before, now, counts);
    before = now;
  });
}

function countChange(before: JobItem, now: JobItem, counts: Counts): void {
  const names = (item: Pick<JobItem, 'owners'>): readonly string[] => item.owners.map(({ subtask }) => subtask);
  const isOwned = (item: JobItem): boolean => names(item).every((name) => names(before).includes(name));
  if (now.generation === before.generation && before.moving !== undefined && before.moving.parents.length > 0 && now.moving === undefined)
    if (!isOwned(now)) counts.count(before.moving.parents.length > 1 ? 'shards merged' : 'shard split');
  if (now.generation > before.generation) {
    if (!isOwned(now)) counts.count('restored to before a change of owners');
    else if (now.until.some(([split]) => !names(now).includes(split.slice(0, split.lastIndexOf('/')))))
      counts.count('restored to behind a change of owners');
  }
  if (now.restoring !== undefined && before.moving !== undefined) counts.count('restore during a change of owners');
  const completed = now.completed.find((c) => !before.completed.some((b) => b.checkpoint === c.checkpoint));
  if (completed?.owners.some(({ subtask }) => !names(now).includes(subtask))) counts.count('completed after its owners had changed');
}
