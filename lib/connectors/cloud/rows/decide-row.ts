// decide-row.ts is what a transaction makes of one row. Pure: the item as it was read, and what the sink's commits say, in; the item as it is to be, out.
//   R1  A row that has the version of this transaction, or a later one, is left as it is: the transaction has been here, or was left behind.
//   R2  A version that is committed before another one of the same row is what readers of before see, also when nobody has put it in its place yet.
//   R3  What a generation before this one has staged, and nobody has committed, was undone by the restore between them.

import { begunMsOfTag } from '../row-tags.ts';
import type { HeldRow, RowVersion } from './held-row.ts';
import { attemptOfTag, tagOfNothing } from './version-tags.ts';

/** What is known of the sink's commits. */
export interface Commits {
  /** The largest tag that a row may have: of the newest commit, or of the transaction at hand. */
  readonly newest: string;
  /** Committed, and perhaps not in all of its rows yet. */
  readonly open: readonly string[];
}

export type RowDecision =
  | { readonly kind: 'leave' }
  | { readonly kind: 'change'; readonly row: HeldRow }
  /** Somebody else writes these rows under tags of their own. */
  | { readonly kind: 'foreign'; readonly tag: string };

const leave: RowDecision = { kind: 'leave' };

/** The version is written down, and nobody sees it yet. */
export function stageRow(held: HeldRow, version: RowVersion, { newest, open }: Commits): RowDecision {
  const { current, staged } = held;
  const foreign = foreignTag(current, version, newest);
  if (foreign !== undefined) return { kind: 'foreign', tag: foreign };
  if (current !== undefined && current.tag >= version.tag) return leave;
  if (staged.some(({ tag }) => tag === version.tag)) return leave;
  const attempt = attemptOfTag(version.tag);
  const kept = staged.filter(({ tag }) => open.includes(tag) || attemptOfTag(tag) >= attempt);
  return { kind: 'change', row: { ...held, staged: inOrder([...kept, version]) } };
}

/** The transaction is committed, or is with this change: the version is the row. */
export function applyRow(held: HeldRow, version: RowVersion, { newest, open }: Commits): RowDecision {
  const { current, staged } = held;
  const foreign = foreignTag(current, version, newest);
  if (foreign !== undefined) return { kind: 'foreign', tag: foreign };
  const later = staged.filter(({ tag }) => tag > version.tag);
  if (current !== undefined && current.tag >= version.tag) {
    const isClean = staged.every(({ tag }) => tag !== version.tag);
    return isClean ? leave : { kind: 'change', row: { ...held, staged: staged.filter(({ tag }) => tag !== version.tag) } };
  }
  return { kind: 'change', row: { ...held, current: version, before: newestBelow(held, version.tag, open) ?? 'none', staged: later } };
}

/** A tag that the sink never gave, or that of a run that writes at once and began later. */
function foreignTag(current: RowVersion | undefined, { tag }: RowVersion, newest: string): string | undefined {
  if (current === undefined || current.tag === '') return undefined;
  const isLater = current.tag < tagOfNothing && (begunMsOfTag(current.tag) ?? 0) > (begunMsOfTag(tag) ?? 0);
  return isLater || current.tag > newest ? current.tag : undefined;
}

function newestBelow({ current, staged }: HeldRow, tag: string, open: readonly string[]): RowVersion | undefined {
  return staged.findLast((version) => version.tag < tag && open.includes(version.tag)) ?? current;
}

/** The transaction is aborted: what it has staged goes. An item of nothing else stays for a day, so that its revisions go on. */
export function unstageRow(held: HeldRow, isOfIt: (tag: string) => boolean, until: string): RowDecision {
  const staged = held.staged.filter(({ tag }) => !isOfIt(tag));
  if (staged.length === held.staged.length) return leave;
  const current = held.current ?? (staged.length > 0 ? undefined : { tag: '', content: { kind: 'gone', until } as const });
  return { kind: 'change', row: { ...held, current, staged } };
}

function inOrder(versions: readonly RowVersion[]): readonly RowVersion[] {
  return versions.toSorted((a, b) => (a.tag < b.tag ? -1 : 1));
}
