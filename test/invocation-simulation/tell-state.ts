// How far a job has come, for whoever reads why a world came to no end.

import type { FakeService } from '../../lib/testing/index.ts';
import type { Auditors } from './audit.ts';

export function tellState(auditors: Auditors, service: FakeService): string {
  const { item } = auditors;
  if (item === undefined) return 'no job item';
  const heads = item.owners.map(({ subtask }) => {
    const head = auditors.head(item.generation, subtask);
    if (head === undefined) return `${subtask} without a ring`;
    return `${subtask} ${head.kind} ${head.n} epoch ${head.epoch}${head.hasEnded ? ' ended' : ''}`;
  });
  const named = (checkpoints: readonly { readonly checkpoint: number }[]): string =>
    checkpoints.map(({ checkpoint }) => checkpoint).join() || 'none';
  const { status, generation, open, completed, confirmed, restoring } = item;
  const checkpoints = `open ${named(open)}, completed ${named(completed)}, confirmed ${confirmed}, restoring ${restoring?.checkpoint ?? 'no'}`;
  return `${status}, generation ${generation}, ${checkpoints}; ${heads.join('; ')}; ${service.exchange.queued().length} messages`;
}
