import type { SQLInputValue, StatementSync } from 'node:sqlite';

/** Bytes after which a page of rows ends. */
export const pageBytes = 1_048_576;

/** Rows of a statement, one after the other; the columns are those that the statement names. */
export function rowsOf<Row>(statement: StatementSync, ...parameters: SQLInputValue[]): Iterable<Row> {
  return statement.iterate(...parameters) as Iterable<unknown> as Iterable<Row>;
}
