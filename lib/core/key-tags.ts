/** The first byte of each kind of key, as a one-character binary string; part of the stored format, in key order. */
export const keyTag = {
  /** Ends strings, bytes, tuples and objects; below every other tag and every escaped byte, so that the shorter sorts first. */
  end: '\x00',
  false: '\x08',
  true: '\x09',
  number: '\x10',
  bigint: '\x18',
  string: '\x20',
  bytes: '\x28',
  tuple: '\x30',
  object: '\x38',
} as const;
