// A message of a stream or queue as records: a small file of its own, read to its end in one turn.

import { Buffer } from 'node:buffer';
import type { SourceOutput } from '../../api/source.ts';
import { ByteWindow } from '../formats/byte-window.ts';
import type { Format } from '../formats/format.ts';

const recordsMax = 10_000; // in one turn of the decoder; a message has hardly more

export interface MessageOf {
  /** For messages, such as `a record of 'clicks'`. */
  readonly place: string;
  countSkipped(): void;
}

/** @throws SluiceError `MALFORMED_RECORD`, `RECORD_TOO_LARGE` as the format says */
export function readMessage<T>(format: Format<T>, bytes: Uint8Array, { place, countSkipped }: MessageOf, out: SourceOutput<T>): void {
  const ctx = { file: place, linesFrom: 0, countSkipped };
  if (format.readMessage !== undefined) {
    format.readMessage(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'), ctx, out);
    return;
  }
  const decoder = format.createDecoder(ctx, undefined);
  const window = new ByteWindow({ offset: 0, line: 1, limit: Number.POSITIVE_INFINITY });
  if (bytes.length > 0) window.append(bytes);
  window.isLast = true;
  do decoder.decode(window, out, recordsMax);
  while (window.status === 'more');
}
