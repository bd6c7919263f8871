// Whether a job has done all that there is for it to do, so that its world may end.

import { decodeHead } from '../../lib/invocation/entry-codec.ts';
import { decodeHandles } from '../../lib/invocation/job-item-codec.ts';
import type { SourceSpec } from '../simulation/spec.ts';
import type { JobWorld } from './job-world.ts';

/** @param covers  whether a checkpoint has all of what came besides the input */
export function hasReadAll({ auditors, setting, service }: JobWorld, covers: (checkpoint: number) => boolean): boolean {
  const item = auditors.item!;
  if (item.status === 'cancelled') return true;
  // It ends otherwise than by having read all.
  if (item.status === 'cancelling') return false;
  if (setting.isFinite) return item.status === 'finished';
  const sources = setting.spec.nodes.flatMap(({ op }) => (op.kind === 'source' ? [op.source] : []));
  if (sources.every(({ splits }) => splits.every(({ rows }) => rows.length === 0))) return true;
  // A job without an end has done all when a confirmed checkpoint covers its whole input.
  const newest = item.completed.at(-1);
  if (newest === undefined || item.confirmed < newest.checkpoint || item.restoring !== undefined) return false;
  if (!covers(newest.checkpoint)) return false;
  const metadata = service.objects.peek(newest.metadata);
  return metadata !== undefined && hasRead(sources, metadata);
}

function hasRead(sources: readonly SourceSpec[], metadata: Uint8Array): boolean {
  const splits = decodeHandles(metadata).flatMap((handle) => decodeHead(handle.head).splits);
  const read = new Map(splits.map(({ split, position }) => [split.id, position?.index ?? 0]));
  return sources.every(({ splits: all, evolution }) => {
    const last = all.filter(({ id }) => evolution?.changes.some(({ parents }) => parents.includes(id)) !== true);
    return last.every(({ id, rows }) => read.get(id) === rows.length);
  });
}
