import { SluiceError } from '../../core/errors.ts';
import type { Format, FormatOptions } from './format.ts';
import { formatOptions } from './format-checks.ts';
import { JsonArrayDecoder } from './json-array-decoder.ts';

/**
 * A file that is one JSON array; its elements are the records. It is read as a stream, so the file may be larger than memory.
 * For sources only: an array cannot be written in parts, use `ndjson()` in a sink.
 *
 * @throws SluiceError (while the job runs) `MALFORMED_RECORD` for an element that is not JSON under `onError: 'fail'`, and always for a file
 *   that is not one array; `RECORD_TOO_LARGE`. In a sink: `FORMAT_NOT_WRITABLE`, when the job is described
 */
export function jsonArray<T = unknown>(o: FormatOptions = {}): Format<T> {
  const { onError, recordBytesMax } = formatOptions('jsonArray()', o);
  return {
    name: 'jsonArray',
    extension: 'json',
    isSplittable: false,
    createDecoder: (ctx, state) => new JsonArrayDecoder<T>(ctx, onError, recordBytesMax, state),
    createEncoder: () => {
      throw new SluiceError('FORMAT_NOT_WRITABLE', {
        message: 'jsonArray() cannot be written: output is made of parts that close at every checkpoint; use ndjson() for the sink',
        next: 'fix-the-job',
      });
    },
  };
}
