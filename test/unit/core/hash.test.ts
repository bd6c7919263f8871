import { describe, expect, test } from 'vitest';
import { bytesToBinaryString } from '../../../lib/core/bytes.ts';
import { crc32, murmur3, murmur3Binary, murmur3Framed } from '../../../lib/core/hash.ts';

const utf8 = new TextEncoder();

// Published vectors of MurmurHash3_x86_32.
const vectors: readonly (readonly [text: string, seed: number, hash: number])[] = [
  ['', 0, 0],
  ['', 1, 0x514e28b7],
  ['', 0xffffffff, 0x81f16f39],
  ['test', 0, 0xba6bd213],
  ['test', 0x9747b28c, 0x704b81dc],
  ['Hello, world!', 0, 0xc0363e43],
  ['Hello, world!', 0x9747b28c, 0x24884cba],
  ['The quick brown fox jumps over the lazy dog', 0, 0x2e4ff723],
  ['The quick brown fox jumps over the lazy dog', 0x9747b28c, 0x2fa826cd],
  ['a', 0x9747b28c, 0x7fa09ea6],
  ['aa', 0x9747b28c, 0x5d211726],
  ['aaa', 0x9747b28c, 0x283e0130],
  ['aaaa', 0x9747b28c, 0x5a97808a],
  ['abc', 0, 0xb3dd93fa],
];

describe('murmur3', () => {
  test('gives the published values, for bytes and for binary strings', () => {
    for (const [text, seed, hash] of vectors) {
      expect(murmur3(utf8.encode(text), seed), text).toBe(hash);
      expect(murmur3Binary(text, seed), text).toBe(hash);
    }
    expect(murmur3(Uint8Array.of(0xff, 0xff, 0xff, 0xff))).toBe(0x76293b50);
    expect(murmur3(Uint8Array.of(0x21, 0x43, 0x65, 0x87), 0x5082edee)).toBe(0x2362f9de);
    expect(murmur3(Uint8Array.of(0, 0, 0))).toBe(0x85f0b427);
  });

  test('takes each length of tail in the same way in both forms, high bytes included', () => {
    for (let length = 0; length < 20; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => 255 - i * 11);
      expect(murmur3Binary(bytesToBinaryString(bytes)), `${length} bytes`).toBe(murmur3(bytes));
    }
  });

  test('of framed text is that of the frame written out, and declines what needs an escape', () => {
    for (let length = 0; length < 20; length++) {
      const text = 'abcdefghijklmnopqrst'.slice(0, length);
      expect(murmur3Framed(0x20, text), text).toBe(murmur3Binary(`\x20${text}\0`));
    }
    expect([murmur3Framed(0x20, 'a\0'), murmur3Framed(0x20, '\x01'), murmur3Framed(0x20, 'é')]).toEqual([-1, -1, -1]);
  });
});

test('crc32 gives the check value of the standard, whole or piece by piece', () => {
  expect(crc32(utf8.encode('123456789'))).toBe(0xcbf43926);
  expect(crc32(utf8.encode('6789'), crc32(utf8.encode('12345')))).toBe(0xcbf43926);
  expect(crc32(new Uint8Array(0))).toBe(0);
});
