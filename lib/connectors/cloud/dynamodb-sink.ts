// The sink whose target is a table of rows under keys of their own.
//   D1  Each row carries the tag of its last write, and a write with a smaller one leaves it as it is: a process that was left behind sets nothing back.
//       The tag begins with when the run began, so that one over the rows of an earlier one writes over them, and only the earlier one is refused, aloud.
//   D2  Tags of different subtasks are not comparable, so rows of a key come from one subtask: they are exchanged by it on the way to the sink.
//   D3  A row that no table can take is refused when the job makes it: what is committed is delivered until it is there, and nothing goes before it.

import { checkFunction, checkOptions } from '../../api/option-checks.ts';
import type { RowTable } from '../../api/row-table.ts';
import type { Sink, SinkContext } from '../../api/sink.ts';
import { SluiceError } from '../../core/errors.ts';
import { ndjson } from '../formats/ndjson.ts';
import { fileSink } from '../sinks/file-sink.ts';
import { type IdempotentSinkOptions, idempotentSink } from '../sinks/idempotent.ts';
import { checkRefused } from './row-tags.ts';
import { type RowShape, rowWrites } from './row-writes.ts';
import { checkRowSize, itemBytesMax, ownBytesMax } from './rows/item-size.ts';
import { transactionalRows } from './rows/transactional-sink.ts';

export interface DynamoDbSinkOptions<T> {
  /** Fields of a row that are the table's key: the partition key, or partition and sort key. */
  readonly key: string | readonly [partition: string, sort: string];
  /**
   * Default `idempotent`: rows are visible at once, and each ends as its last write says. `transactional`: the rows of a checkpoint become visible together,
   * when it has completed.
   */
  readonly mode?: 'idempotent' | 'transactional';
  /** Rows that delete theirs. Two attributes stay for a day: `sluice_tag`, and `sluice_gone`, which is made for the table's time to live. */
  readonly isDelete?: (row: T) => boolean;
  /** `replace` (default): a row is its fields and no others. `merge`: attributes that somebody else keeps in the same item stay. */
  readonly write?: 'replace' | 'merge';
  /** Rows of a key come from one subtask already, because nothing since `keyBy` changed what they are known by: no exchange before the sink. */
  readonly isKeyed?: boolean;
}

/**
 * Writes rows to a DynamoDB table: `dynamoDbSink('totals', { key: 'user' })`. The name is bound outside the job.
 *
 * With `mode: 'transactional'` the rows of a checkpoint become visible together, when it has completed. Whoever reads one row reads it like any other. A reader
 * that wants all or nothing of a checkpoint, whatever the number of rows, reads the item under `commitsKey` first, then the rows, all of it strongly, and takes
 * of each what `committedRow` says. All rows come to one subtask; the partition key is a text; a row has at most 199 KiB.
 *
 * Bound to a folder (`--bind totals=DIR`), each row is a line of a file there, the earlier ones of a key included.
 *
 * After a restore rows may for a moment be newer than the state that wrote them; when the replay has caught up they are what an undisturbed run
 * would have written. Texts, numbers, bigints (38 digits), booleans, null, Date (its ISO text), bytes, arrays, sets (as lists), plain objects and maps
 * with texts as keys can be attributes; a field that is `undefined` is left out.
 *
 * @throws SluiceError at once: `OPTION_INVALID`, `OPTION_UNKNOWN`; while the job runs: `VALUE_NOT_ENCODABLE` and `ROW_TOO_LARGE` for a row,
 *   which is parked where records are, `SINK_NOT_WRITTEN`, `OUTPUT_CONFLICT` when somebody
 *   else writes the same rows, `OUTPUT_TAKEN_OVER` when a run that began later does
 */
export function dynamoDbSink<T extends object>(name: string, o: DynamoDbSinkOptions<T>): Sink<T> {
  checkOptions('dynamoDbSink()', o, ['key', 'mode', 'isDelete', 'write', 'isKeyed']);
  const key = keyOf(o);
  if (o.isDelete !== undefined) checkFunction('dynamoDbSink(): isDelete', o.isDelete);
  checkChoice('mode', o.mode, ['idempotent', 'transactional']);
  checkChoice('write', o.write, ['replace', 'merge']);
  if (o.mode === 'transactional') checkTransactional(o);
  const isDeleted = (o.isDelete ?? (() => false)) as (row: unknown) => boolean;
  const [partition] = key;

  const into = (ctx: SinkContext): Sink<T> => {
    const table = tableOf(ctx, name);
    const write: IdempotentSinkOptions<T>['write'] = async (rows, tag) => {
      const shape = { key, isMerged: o.write === 'merge', isDeleted, nowSeconds: Math.floor(ctx.clock.now() / 1_000) };
      const values = rows.map(({ value }) => value);
      for (const row of await table.write(rowWrites(values, tag, shape))) checkRefused({ ...row, uid: ctx.uid }, tag);
    };
    return idempotentSink({ write });
  };
  const toAny = {
    kind: 'dynamoDbSink',
    binding: { name, kinds: ['dynamodb'] },
    toFiles: (path: string) => fileSink<T>({ path, format: ndjson() }),
  } as const;
  if (o.mode === 'transactional') return { ...toAny, ...transactionalRows<T>(name, { key, isDeleted }) };
  return {
    ...toAny,
    check: (row) => checkRow(row, { key, isMerged: o.write === 'merge', isDeleted, nowSeconds: 0 }),
    ...(o.isKeyed === true ? {} : { keyedBy: (row: T): unknown => (row as Readonly<Record<string, unknown>>)[partition!] }),
    recover: () => undefined,
    createWriter: (ctx) => into(ctx).createWriter(ctx),
    detached: {
      kind: 'immediate',
      write: (ctx, rows) => {
        const { detached } = into(ctx);
        if (detached?.kind === 'immediate') return detached.write(ctx, rows);
      },
    },
  };
}

/** D3. @throws SluiceError `VALUE_NOT_ENCODABLE`, `ROW_TOO_LARGE` */
function checkRow(row: unknown, shape: RowShape): void {
  const fieldsMax = itemBytesMax - ownBytesMax;
  for (const write of rowWrites([row], { begunMs: 0, generation: 0, n: 0, index: 0 }, shape))
    checkRowSize(write, fieldsMax, `and one of a table may have ${fieldsMax}`);
}

function tableOf(ctx: SinkContext, name: string): RowTable {
  if (ctx.targets !== undefined) return ctx.targets.table(name);
  throw new SluiceError('BIND_MISSING', {
    message: `${ctx.uid} writes to '${name}', and this run binds no names`,
    next: 'fix-the-command',
    advice: `deploy the job, with bind: { ${name}: … }`,
    operator: ctx.uid,
  });
}

function keyOf({ key }: { readonly key: unknown }): readonly string[] {
  const names = typeof key === 'string' ? [key] : key;
  const isRight =
    Array.isArray(names) && (names.length === 1 || names.length === 2) && names.every((n) => typeof n === 'string' && n !== '');
  if (isRight && names[0] !== names[1]) return names as readonly string[];
  throw new SluiceError('OPTION_INVALID', {
    message: `dynamoDbSink(): key is the name of a field, or of two: ['user', 'day']`,
    next: 'fix-the-job',
    value: key,
  });
}

function checkChoice(option: string, value: unknown, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value as string)) return;
  throw new SluiceError('OPTION_INVALID', { message: `dynamoDbSink(): ${option} is ${choices.join(' or ')}`, next: 'fix-the-job', value });
}

function checkTransactional(o: DynamoDbSinkOptions<never>): void {
  const refuse = (option: string, why: string): never => {
    throw new SluiceError('OPTION_INVALID', { message: `dynamoDbSink(): ${option} ${why} in transactional mode`, next: 'fix-the-job' });
  };
  if (o.write === 'merge') refuse("write: 'merge'", 'is not possible: a row is changed whole, from what was read to what is to be');
  if (o.isKeyed !== undefined) refuse('isKeyed', 'has no meaning: all rows of a checkpoint come to one subtask');
}
