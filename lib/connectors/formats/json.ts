import type { Format, FormatOptions } from './format.ts';
import { formatOptions } from './format-checks.ts';
import { handleMalformed, reasonOf } from './malformed.ts';
import { ndjson } from './ndjson.ts';

/**
 * A message that is one JSON value, line ends in it included. In files it is one value a line, as `ndjson()`.
 *
 * @throws SluiceError as `ndjson()`
 */
export function json<T = unknown>(o: FormatOptions = {}): Format<T> {
  const { onError } = formatOptions('json()', o);
  return {
    ...ndjson<T>(o),
    name: 'json',
    readMessage(text, ctx, out) {
      let value: T;
      try {
        value = JSON.parse(text) as T;
      } catch (cause) {
        handleMalformed(ctx, onError, { line: 1, text, reason: `not JSON: ${reasonOf(cause)}`, cause }, out);
        return;
      }
      out.values[out.count++] = value;
    },
  };
}
