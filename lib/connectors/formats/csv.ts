import { SluiceError } from '../../core/errors.ts';
import { type CsvColumnType, fieldText } from './csv-columns.ts';
import { CsvDecoder } from './csv-decoder.ts';
import type { Encoder, Format, FormatOptions } from './format.ts';
import { formatOptions } from './format-checks.ts';

type ColumnTypeOf<V> = V extends string
  ? 'string'
  : V extends number
    ? 'number'
    : V extends bigint
      ? 'bigint'
      : V extends boolean
        ? 'boolean'
        : never;

export interface CsvOptions<T> extends FormatOptions {
  /**
   * Types of columns; one that is not named is a string. Without a header the names in order are the columns of the file.
   * In a sink: the columns to write, in this order; required there.
   */
  readonly columns?: { readonly [P in keyof T]?: ColumnTypeOf<NonNullable<T[P]>> };
  /**
   * Reading: the first record names the columns; default true. Writing: each part begins with the names; default false, because
   * checkpoints decide where a part begins, and parts joined in name order should not depend on them.
   */
  readonly header?: boolean;
  /** One ASCII character; default `','`. */
  readonly delimiter?: string;
}

/**
 * Comma-separated values as in RFC 4180: fields may be quoted, and then hold delimiters, doubled quotes and line ends. Line ends may be
 * `\n` or `\r\n`; empty lines are passed over. A field is a string unless its column says `number`, `bigint` or `boolean` (`true`, `false`); an empty
 * field of such a column is malformed.
 *
 * @throws SluiceError `CSV_OPTIONS_INVALID` at once; while the job runs `MALFORMED_RECORD` (under `onError: 'fail'`; always for a header that
 *   does not fit) and `RECORD_TOO_LARGE`; in a sink `VALUE_NOT_ENCODABLE` for a field that is no text, finite number, bigint, boolean, Date or null
 */
export function csv<T = Record<string, string>>(o: CsvOptions<NoInfer<T>> = {}): Format<T> {
  const { onError, recordBytesMax } = formatOptions('csv()', o, ['columns', 'header', 'delimiter']);
  const delimiter = o.delimiter ?? ',';
  if (delimiter.length !== 1 || delimiter.charCodeAt(0) > 126 || '"\r\n'.includes(delimiter)) {
    throw invalid(`delimiter ${JSON.stringify(delimiter)} is not one ASCII character other than a quote or a line end`);
  }
  const columns = new Map(Object.entries(o.columns ?? {}) as [string, CsvColumnType][]);
  for (const [name, type] of columns) {
    if (!['string', 'number', 'bigint', 'boolean'].includes(type))
      throw invalid(`column '${name}' has the type '${String(type)}'; string, number, bigint and boolean exist`);
  }
  if (o.header === false && columns.size === 0) throw invalid('without a header the columns must be named');
  return {
    name: 'csv',
    extension: 'csv',
    isSplittable: false,
    createDecoder: (ctx, state) =>
      new CsvDecoder<T>(ctx, {
        columns,
        hasHeader: o.header ?? true,
        delimiter,
        onError,
        recordBytesMax,
        state,
      }),
    createEncoder: () => encoder<T>([...columns.keys()], o.header ?? false, delimiter),
  };
}

function encoder<T>(names: readonly string[], hasHeader: boolean, delimiter: string): Encoder<T> {
  if (names.length === 0) throw invalid('a sink needs `columns`: which fields are written, and in which order');
  return {
    head: hasHeader ? `${names.map((name) => fieldText(name, delimiter)).join(delimiter)}\n` : '',
    encode(row) {
      if (typeof row !== 'object' || row === null) throw refused('it is not an object');
      let line = '';
      for (let i = 0; i < names.length; i++) {
        const name = names[i]!;
        if (i > 0) line += delimiter;
        try {
          line += fieldText((row as Record<string, unknown>)[name], delimiter);
        } catch (e) {
          throw refused(`column '${name}': ${e instanceof Error ? e.message : String(e)}`);
        }
      }
      return line === '' ? '""\n' : `${line}\n`; // an empty line would be passed over when it is read
    },
  };
}

function invalid(message: string): SluiceError {
  return new SluiceError('CSV_OPTIONS_INVALID', { message: `csv(): ${message}`, next: 'fix-the-job' });
}

function refused(why: string): SluiceError {
  return new SluiceError('VALUE_NOT_ENCODABLE', {
    message: `the row cannot be written as CSV: ${why}; map it to text, a finite number or null before the sink`,
    next: 'fix-the-job',
  });
}
