import { ValueReader } from './value-reader.ts';
import { valueFormat } from './value-tags.ts';
import { ValueWriter } from './value-writer.ts';

// value-codec.ts owns what a stored value looks like: state, records and operator state are written with it and nothing else. A value
// is one tag byte and its content; value-tags.ts is the table, value-writer.ts and value-reader.ts are the two directions.
//
//   V1  What is read is what was written: the same type and, by Object.is, the same primitive; -0, NaN, the infinities, lone
//       surrogates, undefined properties, the invalid Date and the order of properties, entries and members included.
//   V2  What would come back as something else is refused when it is written, before anything is written, with its path.
//   V3  Equal values have equal encodings. There is one form for each value, and no version of a library decides it.
//   V4  Any bytes can be read: the answer is a value, FORMAT_NEWER or DATA_DAMAGED, in time and memory bounded by their number.
//
// The rules for what has no exact counterpart:
//
//   an object without prototype    comes back as a plain object
//   a hole in an array             comes back as undefined
//   the same object met twice      comes back as two equal objects; a cycle is refused
//   a NaN                          comes back as NaN, its payload is not kept
//   a Buffer, any class instance   refused
//   an accessor, a hidden or symbol-named property, a function, a symbol   refused
//   properties beside the content  refused on a Map, Set, Date and, when enumerable and named by text, on an array

export { ValueReader } from './value-reader.ts';
export { valueFormat } from './value-tags.ts';
export { ValueWriter } from './value-writer.ts';

let idle: ValueWriter | undefined = new ValueWriter();

/**
 * A value as bytes that stand alone: a format byte, then the value.
 * @throws SluiceError `VALUE_NOT_ENCODABLE` naming the path of the first part that cannot be stored
 */
export function encodeValue(v: unknown): Uint8Array {
  const writer = idle ?? new ValueWriter();
  idle = undefined; // a second call from inside, by a proxy, gets a writer of its own
  writer.reset();
  try {
    writer.writeByte(valueFormat);
    writer.writeValue(v);
    return writer.take();
  } finally {
    idle = writer;
  }
}

/**
 * The value of `encodeValue`.
 * @throws SluiceError `FORMAT_NEWER` when a later version wrote it, `DATA_DAMAGED` when nobody did
 */
export function decodeValue(bytes: Uint8Array): unknown {
  return reading(bytes, (reader) => reader.readValue());
}

/** The value of `encodeValue` in its stored form: see owned.ts. Errors as `decodeValue`. */
export function decodeStored(bytes: Uint8Array): unknown {
  return reading(bytes, (reader) => reader.readStored());
}

function reading(bytes: Uint8Array, read: (reader: ValueReader) => unknown): unknown {
  const reader = new ValueReader(bytes);
  reader.readFormat(valueFormat);
  const v = read(reader);
  reader.expectEnd();
  return v;
}
