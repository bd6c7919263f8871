import type { Format, FormatOptions } from './format.ts';
import { formatOptions } from './format-checks.ts';
import { jsonText } from './json-text.ts';
import { LineDecoder } from './line-decoder.ts';

/**
 * One JSON value a line. Read: empty lines are passed over, line ends may be `\n` or `\r\n`, the last one may be missing. Written: `\n`;
 * a bigint becomes a string of digits and a Date its ISO text.
 *
 * @throws SluiceError (while the job runs) `MALFORMED_RECORD` for a line that is not JSON under `onError: 'fail'`, `RECORD_TOO_LARGE`,
 *   and in a sink `VALUE_NOT_ENCODABLE` for what JSON cannot carry: NaN, infinities, Map, Set, bytes, class instances, functions
 */
export function ndjson<T = unknown>(o: FormatOptions = {}): Format<T> {
  const { onError, recordBytesMax } = formatOptions('ndjson()', o);
  return {
    name: 'ndjson',
    extension: 'ndjson',
    isSplittable: true,
    createDecoder: (ctx) =>
      new LineDecoder<T>(ctx, {
        parse: JSON.parse as (line: string) => T,
        isBlankRecord: false,
        onError,
        recordBytesMax,
        hint: 'ndjson() expects one record a line (is this one big array? then use jsonArray())',
      }),
    createEncoder: () => ({ head: '', encode: (row) => `${jsonText(row)}\n` }),
  };
}
