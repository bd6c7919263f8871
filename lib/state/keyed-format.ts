// How keyed state lies in a checkpoint: one run of bytes per key group, whatever the backend.
//
//   chunk   = format byte, then items until the bytes end
//   item    = 1, key (binary string), cells, 0      a key's states;  cell = state index + 1 (varint), payload by kind
//           | 2 | 3, time (value), key              a timer of event time | processing time
//           | 4 | 5, time (value), key, cause (value)   the same with what set it
//
// State indexes refer to the list of states that the operator's snapshot names, so states may be declared in another order later.

import { SluiceError } from '../core/errors.ts';
import { ValueReader, ValueWriter } from '../core/value-codec.ts';

export const keyedFormat = 1;
export const itemTag = { entry: 1, eventTimer: 2, processingTimer: 3, causedEventTimer: 4, causedProcessingTimer: 5 } as const;

export function newChunk(): ValueWriter {
  const writer = new ValueWriter();
  writer.writeByte(keyedFormat);
  return writer;
}

export function openChunk(bytes: Uint8Array, operator: string): ValueReader {
  const reader = new ValueReader(bytes);
  const format = reader.readByte();
  if (format === keyedFormat) return reader;
  throw new SluiceError(format > keyedFormat ? 'FORMAT_NEWER' : 'DATA_DAMAGED', {
    message: `keyed state of ${operator} has format ${format}; this release reads format ${keyedFormat}`,
    next: 'repair-state',
    operator,
  });
}
