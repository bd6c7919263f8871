import { SluiceError } from '../../core/errors.ts';
import { nameOfKind } from '../../core/kinds.ts';
import type { Format, FormatOptions } from './format.ts';
import { formatOptions } from './format-checks.ts';
import { LineDecoder } from './line-decoder.ts';

/**
 * Each line is a record, without its line end (`\n` or `\r\n`; the last one may be missing). An empty line is an empty string.
 *
 * @throws SluiceError (while the job runs) `MALFORMED_RECORD` for bytes that are not UTF-8, `RECORD_TOO_LARGE`, and in a sink
 *   `VALUE_NOT_ENCODABLE` for a row that is not a string or would be read back as something else: one with a line feed in it, a carriage
 *   return at its end, or half of a surrogate pair
 */
export function lines(o: FormatOptions = {}): Format<string> {
  const { onError, recordBytesMax } = formatOptions('lines()', o);
  return {
    name: 'lines',
    extension: 'txt',
    isSplittable: true,
    createDecoder: (ctx) =>
      new LineDecoder<string>(ctx, {
        parse: withoutCarriageReturn,
        isBlankRecord: true,
        onError,
        recordBytesMax,
        hint: 'lines() expects text',
      }),
    createEncoder: () => ({ head: '', encode: encodeLine }),
  };
}

function withoutCarriageReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

function encodeLine(row: unknown): string {
  if (typeof row !== 'string') throw refused(`it is ${nameOfKind(row)}, not a string`);
  if (row.includes('\n') || row.endsWith('\r')) throw refused('it holds a line end and would be read back as another number of lines');
  if (!row.isWellFormed()) throw refused('it holds half of a surrogate pair, which UTF-8 cannot carry');
  return `${row}\n`;
}

function refused(why: string): SluiceError {
  return new SluiceError('VALUE_NOT_ENCODABLE', {
    message: `the row cannot be written as a line: ${why}; map it to one line of text before the sink`,
    next: 'fix-the-job',
  });
}
