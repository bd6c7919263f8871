// transactional-sink.ts is `dynamoDbSink` in transactional mode, where rows of the user become rows of a transaction.
//   S1  All rows of a checkpoint come from one subtask, so that they are one transaction, and what one commit makes visible is the whole checkpoint.
//   S2  A row that its table can never take is refused when the job makes it, not when a checkpoint has promised it.

import type { RowFields } from '../../../api/row-table.ts';
import type { DetachedContext, DetachedSink, DetachedTransaction, Sink, SinkContext, TransactionId } from '../../../api/sink.ts';
import { SluiceError } from '../../../core/errors.ts';
import { targetsOf } from '../append-sink.ts';
import { rowFields } from '../row-values.ts';
import { keyFields, keyName } from '../row-writes.ts';
import { type KeptTransaction, RowCommitWriter } from './commit-writer.ts';
import { attributesOfOurs, type RowVersion } from './held-row.ts';
import { checkRowSize, itemBytesMax, ownBytesMax } from './item-size.ts';
import { patientItems } from './patient-items.ts';
import { abortRows, commitRows, prepareRows, type RowTransaction, unstageRows } from './transaction.ts';
import { transactionTag, withoutRun } from './version-tags.ts';

export interface TransactionalRows {
  /** Fields of a row that are the table's key. */
  readonly key: readonly string[];
  readonly isDeleted: (row: unknown) => boolean;
}

/** No environment lives for a day, so nobody can write again what was settled longer ago. */
const staySeconds = 24 * 60 * 60;
/** What is staged lies beside what is visible. */
const rowBytesMax = itemBytesMax / 2 - ownBytesMax;

/** What `start` and `prepare` of the detached sink give. */
interface Run {
  readonly run: number;
}

/** What a sink does that commits its rows together; the rest of it is the same in both modes. */
export function transactionalRows<T>(
  name: string,
  o: TransactionalRows,
): Pick<Sink<T>, 'keyedBy' | 'recover' | 'createWriter' | 'detached' | 'check'> {
  const at = (ctx: SinkContext, t: KeptTransaction): RowTransaction | undefined => transactionOf(ctx, name, o, t);
  const prepare = async (ctx: SinkContext, t: KeptTransaction): Promise<void> => {
    const transaction = at(ctx, t);
    if (transaction !== undefined) await prepareRows(transaction);
  };
  const commit = async (ctx: SinkContext, t: KeptTransaction): Promise<void> => {
    const transaction = at(ctx, t);
    if (transaction !== undefined) await commitRows(transaction);
  };
  const abort = async (ctx: SinkContext, t: KeptTransaction): Promise<void> => {
    const transaction = at(ctx, t);
    if (transaction !== undefined) await abortRows(transaction);
  };
  return {
    keyedBy: () => 0,
    check: (row) => void versionOf(row, o, '', '0'),
    recover: async (ctx) => {
      for (const t of ctx.promised as readonly KeptTransaction[]) await commit(ctx, t);
      const settled = new Set((ctx.promised as readonly KeptTransaction[]).map(({ id, run }) => transactionTag(run, id)));
      for (const t of ctx.abandoned as readonly KeptTransaction[]) if (!settled.has(transactionTag(t.run, t.id))) await abort(ctx, t);
    },
    createWriter: (ctx) => new RowCommitWriter(ctx, { prepare: (t) => prepare(ctx, t), commit: (t) => commit(ctx, t) }),
    detached: detached(name, o, { prepare, commit, abort }) as DetachedSink<T>,
  };
}

type Step = (ctx: SinkContext, t: KeptTransaction) => Promise<void>;

function detached(
  name: string,
  o: TransactionalRows,
  { prepare, commit, abort }: { readonly prepare: Step; readonly commit: Step; readonly abort: Step },
): DetachedSink<unknown> {
  const kept = (t: DetachedTransaction<unknown>, { run }: Run): KeptTransaction => ({ id: t.id, run, rows: t.rows });
  return {
    kind: 'transactional',
    start: ({ clock }): Run => ({ run: clock.now() }),
    prepare: async (ctx, t, started): Promise<Run> => {
      await prepare(ctx, kept(t, started as Run));
      return { run: (started as Run).run };
    },
    commit: (ctx, t, prepared) => commit(ctx, kept(t, prepared as Run)),
    abort: (ctx, t, prepared) => (prepared === undefined ? abortUnknown(ctx, name, o, t) : abort(ctx, kept(t, prepared as Run))),
  };
}

/** Somebody may have staged it and died before anyone could note when the run began. What is staged under no name that is ever committed is not seen. */
async function abortUnknown(ctx: DetachedContext, name: string, o: TransactionalRows, t: DetachedTransaction<unknown>): Promise<void> {
  const transaction = transactionOf(ctx, name, o, { id: t.id, run: 0, rows: t.rows });
  const ending = `.${withoutRun(t.id)}`;
  if (transaction !== undefined) await unstageRows(transaction, (tag) => tag.endsWith(ending));
}

/** `undefined`: it has no rows. */
function transactionOf(ctx: SinkContext, name: string, o: TransactionalRows, t: KeptTransaction): RowTransaction | undefined {
  const tag = transactionTag(t.run, t.id);
  const until = String(Math.floor(ctx.clock.now() / 1_000) + staySeconds);
  // A row is what its last write says: what came before within the transaction was never seen.
  const byKey = new Map<string, { readonly key: RowFields; readonly version: RowVersion }>();
  for (const row of t.rows) {
    const one = versionOf(row, o, tag, until);
    byKey.set(keyName(one.key), one);
  }
  const rows = [...byKey.values()];
  const [first] = rows;
  if (first === undefined) return undefined;
  const shape = { names: o.key, sortKind: o.key[1] === undefined ? undefined : first.key.get(o.key[1])?.kind };
  const table = patientItems(targetsOf(ctx, name).items(name), ctx.clock);
  return { table, clock: ctx.clock, shape, owner: ownerOf(t.id), tag, rows, until };
}

function ownerOf({ job, uid }: TransactionId): string {
  return `${job}/${uid}`;
}

/** @throws SluiceError `VALUE_NOT_ENCODABLE`, `ROW_TOO_LARGE` */
function versionOf(row: unknown, { key: names, isDeleted }: TransactionalRows, tag: string, until: string) {
  const all = rowFields(row);
  const key = keyFields(all, names);
  const [partition] = names;
  const kind = key.get(partition!)?.kind;
  if (kind !== 'text') throw refused(`${partition} is the partition key and ${kind}; in transactional mode it is a text`, partition!);
  for (const name of [...attributesOfOurs]) if (all.has(name)) throw refused(`${name} is the name of an attribute of ours`, name);
  if (isDeleted(row)) return { key, version: { tag, content: { kind: 'gone', until } } satisfies RowVersion };
  const fields: RowFields = new Map([...all].filter(([name]) => !key.has(name)));
  checkRowSize({ key, fields }, rowBytesMax, `and one that becomes visible with others may have ${rowBytesMax}`);
  return { key, version: { tag, content: { kind: 'row', fields } } satisfies RowVersion };
}

function refused(message: string, path: string): SluiceError {
  return new SluiceError('VALUE_NOT_ENCODABLE', { message, next: 'fix-the-job', path });
}
