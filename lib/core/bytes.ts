import { Buffer } from 'node:buffer';

// bytes.ts owns the change between bytes and binary strings. A binary string holds one byte in each character (0–255): the engine
// comparing two of them with `<` compares bytes, it can be a Map key, and V8 stores it with one byte for each character.

/** The bytes of a binary string. Characters above 255 are a defect of the caller and lose their high bits. */
export function binaryStringToBytes(s: string): Uint8Array {
  const bytes = new Uint8Array(s.length);
  if (s.length < 64) for (let i = 0; i < s.length; i++) bytes[i] = s.charCodeAt(i);
  else viewOf(bytes).write(s, 'latin1');
  return bytes;
}

/** The binary string of some bytes. */
export function bytesToBinaryString(bytes: Uint8Array, start = 0, end: number = bytes.length): string {
  return viewOf(bytes).toString('latin1', start, end);
}

/** The same memory as a Buffer, for its native text methods; nothing is copied. */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Lower-case hexadecimal text of bytes, for messages and fixtures. */
export function hexOf(bytes: Uint8Array): string {
  return viewOf(bytes).toString('hex');
}

/** True when two byte strings are equal. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && viewOf(a).equals(viewOf(b));
}
