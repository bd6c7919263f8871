// value-tags.ts is the table of the first byte of each encoded value; it is part of the stored format (see value-codec.ts).

/** The leading byte of `encodeValue`. A reader refuses a larger one. */
export const valueFormat = 1;

/** 00–7f: the integers 0 to 127. */
export const smallIntMax = 0x7f;
/** 80–9f: ASCII text of 0 to 31 characters. */
export const tagShortText = 0x80;
export const shortTextMax = 31;
export const tagUndefined = 0xa0;
export const tagNull = 0xa1;
export const tagFalse = 0xa2;
export const tagTrue = 0xa3;
/** A varint n, the integer 128 to 2^31 − 1. */
export const tagPositive = 0xa4;
/** A varint n, the integer −1 − n down to −2^31. */
export const tagNegative = 0xa5;
/** 8 bytes IEEE 754, little-endian: every other number, with −0 and one NaN. */
export const tagFloat = 0xa6;
/** 8 bytes two's complement, little-endian. */
export const tagBigint64 = 0xa7;
/** Varint byte length and magnitude, little-endian; positive and negative. */
export const tagBigintPositive = 0xa8;
export const tagBigintNegative = 0xa9;
/** Varint byte length and UTF-8. */
export const tagText = 0xaa;
/** Varint byte length and UTF-16, little-endian: text with a lone surrogate. */
export const tagText16 = 0xab;
/** Varint length and bytes. */
export const tagBytes = 0xac;
/** 8 bytes IEEE 754, little-endian: milliseconds since 1970; NaN is the invalid date. */
export const tagDate = 0xad;
/** Varint number of entries, then key and value of each. */
export const tagMap = 0xae;
/** Varint number of members, then each. */
export const tagSet = 0xaf;
/** b0–bf: an array of 0 to 15 elements; then, with a varint, of any length. */
export const tagShortArray = 0xb0;
export const tagArray = 0xd0;
/** c0–cf: an object of 0 to 15 properties, each a text and a value; then, with a varint, of any number. */
export const tagShortObject = 0xc0;
export const tagObject = 0xd1;
export const shortCountMax = 15;
