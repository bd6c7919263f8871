import type { RowFields } from '../../../api/row-table.ts';
import { type Attributes, attributesOf, fieldsOfAttributes } from './attributes.ts';
import { headKey, headOf } from './commits.ts';
import { heldRow } from './held-row.ts';
import { rowAsOf } from './read-row.ts';

/** Where a transactional `dynamoDbSink` says what it has committed. */
export interface CommitsPlace {
  readonly job: string;
  /** Of the sink. */
  readonly uid: string;
  /** Names of the table's key: partition, and sort if it has one. */
  readonly key: readonly string[];
  /** Of the sort key, as the table declares it. Default `S`. */
  readonly sortType?: 'S' | 'N' | 'B';
}

const kinds = { S: 'text', N: 'number', B: 'bytes' } as const;

/** The key of the item that readers of a transactional `dynamoDbSink` read first, as DynamoDB's low-level client takes it. */
export function commitsKey({ job, uid, key, sortType = 'S' }: CommitsPlace): Attributes {
  return attributesOf(headKey({ names: key, sortKind: kinds[sortType] }, `${job}/${uid}`));
}

/** A row as it was when the commits were read. */
export type CommittedRow =
  /** `item` has no attribute of ours. */
  | { readonly kind: 'row'; readonly item: Attributes }
  /** There was no such row. */
  | { readonly kind: 'none' }
  /** It is not kept any more: read the commits again, and then all rows. */
  | { readonly kind: 'start-over' };

/**
 * Reads a row that a transactional `dynamoDbSink` wrote. Whoever reads the item under `commitsKey` first, and then any number of rows in any number of
 * requests, all of them strongly, gets all or nothing of each checkpoint; `start-over` in one of them begins the whole again.
 *
 * @param item     a row as DynamoDB's low-level client gives it
 * @param commits  the item under `commitsKey`, read before; `undefined`: there is none yet
 * @param key      names of the table's key
 * @throws SluiceError `DATA_DAMAGED` when somebody else has changed an attribute of ours
 */
export function committedRow(item: Attributes, commits: Attributes | undefined, key: readonly string[]): CommittedRow {
  const fields = fieldsOfAttributes(item);
  const own: RowFields = new Map([...fields].filter(([name]) => key.includes(name)));
  const head = headOf(new Map(), commits === undefined ? undefined : fieldsOfAttributes(commits));
  const seen = rowAsOf(heldRow(own, fields), head);
  return seen.kind === 'row' ? { kind: 'row', item: attributesOf(new Map([...own, ...seen.content.fields])) } : seen;
}
