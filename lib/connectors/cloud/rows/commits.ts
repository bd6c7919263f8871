// commits.ts is what a table knows of the transactions of one sink.
//   C1  One item, the head, says which transaction was committed last, and which are committed but perhaps not in all of their rows yet. Readers begin there.
//   C2  Each transaction that is decided has an item of its own, the marker, for a day: what is aborted is never committed, and what is committed is told so
//       to who comes again. A process that could come later than in a day does not live.
//   C3  Head and marker change in one request, on the condition that nobody has decided otherwise: that request is the commit.

import { type RowFields, type RowValue, rowGoneAttribute, rowRevisionAttribute, type TableItem } from '../../../api/row-table.ts';
import { digitsOf, listOf, text, textOf } from './held-row.ts';
import { runOfTag } from './version-tags.ts';

const committedAttribute = 'sluice_committed';
const openAttribute = 'sluice_open';
const decisionAttribute = 'sluice_decision';

export type Decision = 'committed' | 'aborted';

export interface CommitHead {
  readonly key: RowFields;
  readonly revision: number | undefined;
  /** Tag of the newest commit; `undefined`: there was none. */
  readonly committed: string | undefined;
  readonly open: readonly string[];
}

/** Names of the table's key, and what the values of the second are. */
export interface KeyShape {
  readonly names: readonly string[];
  readonly sortKind: RowValue['kind'] | undefined;
}

/** @param owner  `<job>/<uid>` of the sink */
export function headKey({ names, sortKind }: KeyShape, owner: string): RowFields {
  const [partition, sort] = names;
  const key = new Map<string, RowValue>([[partition!, text(`sluice/${owner}`)]]);
  if (sort !== undefined) key.set(sort, lowest(sortKind));
  return key;
}

export function markerKey(shape: KeyShape, owner: string, tag: string): RowFields {
  return headKey(shape, `${owner}/${tag}`);
}

function lowest(kind: RowValue['kind'] | undefined): RowValue {
  if (kind === 'number') return { kind: 'number', digits: '0' };
  return kind === 'bytes' ? { kind: 'bytes', bytes: Uint8Array.of(0) } : text('commits');
}

export function headOf(key: RowFields, item: TableItem | undefined): CommitHead {
  if (item === undefined) return { key, revision: undefined, committed: undefined, open: [] };
  const committed = item.get(committedAttribute);
  return {
    key,
    revision: Number(digitsOf(item.get(rowRevisionAttribute))),
    committed: committed === undefined ? undefined : textOf(committed),
    open: listOf(item.get(openAttribute)).map(textOf),
  };
}

/** With the next revision. */
export function itemOfHead({ key, revision, committed, open }: CommitHead): TableItem {
  const item = new Map(key);
  item.set(rowRevisionAttribute, { kind: 'number', digits: String((revision ?? 0) + 1) });
  if (committed !== undefined) item.set(committedAttribute, text(committed));
  item.set(openAttribute, { kind: 'list', items: open.map(text) });
  return item;
}

export function decisionOf(item: TableItem | undefined): Decision | undefined {
  return item === undefined ? undefined : (textOf(item.get(decisionAttribute)) as Decision);
}

/** @param until  seconds since the epoch */
export function itemOfMarker(key: RowFields, decision: Decision, until: string): TableItem {
  return new Map([
    ...key,
    [decisionAttribute, text(decision)],
    [rowRevisionAttribute, { kind: 'number', digits: '1' }],
    [rowGoneAttribute, { kind: 'number', digits: until }],
  ]);
}

export type CommitStep =
  /** It is committed, and all of its rows have it. */
  | { readonly kind: 'done' }
  /** It is committed; its rows have to get it. */
  | { readonly kind: 'apply' }
  | { readonly kind: 'aborted' }
  /** A run of the job that began later has committed to the same table. */
  | { readonly kind: 'superseded'; readonly by: string }
  /** Nobody has decided: this is the head that says it. */
  | { readonly kind: 'commit'; readonly head: CommitHead };

/**
 * What is to be done about the commit of a transaction.
 * @param o.isInPlace  its rows change with the head, so that nothing stays open
 */
export function decideCommit(o: {
  readonly head: CommitHead;
  readonly decision: Decision | undefined;
  readonly tag: string;
  readonly isInPlace: boolean;
}): CommitStep {
  const { head, decision, tag, isInPlace } = o;
  if (decision === 'aborted') return { kind: 'aborted' };
  if (decision === 'committed') return { kind: head.open.includes(tag) ? 'apply' : 'done' };
  const { committed } = head;
  if (committed !== undefined && runOfTag(committed) > runOfTag(tag)) return { kind: 'superseded', by: committed };
  // One that was given up by mistake, and is committed by hand long after others: it does not set the head back.
  const newest = committed === undefined || committed < tag ? tag : committed;
  const open = isInPlace || head.open.includes(tag) ? head.open : [...head.open, tag];
  return { kind: 'commit', head: { ...head, committed: newest, open } };
}

export function withoutOpen(head: CommitHead, tag: string): CommitHead {
  return { ...head, open: head.open.filter((other) => other !== tag) };
}
