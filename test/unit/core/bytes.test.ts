import { expect, test } from 'vitest';
import { binaryStringToBytes, bytesToBinaryString, equalBytes, hexOf, viewOf } from '../../../lib/core/bytes.ts';

test('every byte survives the way to a binary string and back, short and long, and inside a larger buffer', () => {
  for (const length of [0, 1, 63, 64, 1_000]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 37) & 0xff);
    const text = bytesToBinaryString(bytes);
    expect(text.length).toBe(length);
    expect(equalBytes(binaryStringToBytes(text), bytes)).toBe(true);
  }
  const part = Uint8Array.from({ length: 300 }, (_, i) => i & 0xff).subarray(100, 200);
  expect(bytesToBinaryString(part, 1, 3)).toBe('ef');
  expect(viewOf(part).buffer).toBe(part.buffer);
});

test('bytes are compared by content and shown in hexadecimal', () => {
  expect([
    equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2)),
    equalBytes(Uint8Array.of(1), Uint8Array.of(2)),
    equalBytes(Uint8Array.of(1), Uint8Array.of(1, 0)),
  ]).toEqual([true, false, false]);
  expect(hexOf(Uint8Array.of(0, 15, 255))).toBe('000fff');
});
