import type { CommitHead } from './commits.ts';
import type { HeldRow, RowContent, RowVersion } from './held-row.ts';
import { tagOfNothing } from './version-tags.ts';

export type RowAsOf =
  | { readonly kind: 'row'; readonly content: Extract<RowContent, { kind: 'row' }> }
  | { readonly kind: 'none' }
  /** What the row was at the time of the head is not kept any more: read the head again, and all rows. */
  | { readonly kind: 'start-over' };

/**
 * What a row was when the head was read. Rows that are read after one head, in any number of requests, are all or nothing of each checkpoint.
 * @param held  read after the head
 */
export function rowAsOf(
  { current, before, staged }: HeldRow,
  { committed = tagOfNothing, open }: Pick<CommitHead, 'committed' | 'open'>,
): RowAsOf {
  const next = staged.findLast(({ tag }) => open.includes(tag) && tag <= committed);
  if (next !== undefined && (current === undefined || current.tag < next.tag)) return seen(next);
  if (current === undefined) return { kind: 'none' };
  if (current.tag <= committed) return seen(current);
  if (before === 'none') return { kind: 'none' };
  return before !== 'lost' && before.tag <= committed ? seen(before) : { kind: 'start-over' };
}

function seen({ content }: RowVersion): RowAsOf {
  return content.kind === 'row' ? { kind: 'row', content } : { kind: 'none' };
}
