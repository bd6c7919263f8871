import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { binaryStringToBytes, bytesToBinaryString, hexOf } from '../../../lib/core/bytes.ts';
import { decodeKey, encodeKey } from '../../../lib/core/key-codec.ts';
import { keyGroupOf } from '../../../lib/core/key-group.ts';
import { expose } from '../../../lib/core/owned.ts';
import { decodeStored, decodeValue, encodeValue } from '../../../lib/core/value-codec.ts';
import { keySamples, valueSamples } from './samples.ts';

const fixture = <T>(name: string): Readonly<Record<string, T>> =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8')) as Readonly<Record<string, T>>;

const keys = fixture<{ readonly encoded: string; readonly keyGroupOf128: number }>('keys-1.json');
const values = fixture<string>('values-1.json');

describe('keys, format 1', () => {
  test('every frozen line has its sample, and every sample its line', () => {
    expect(Object.keys(keySamples)).toEqual(Object.keys(keys));
  });

  test.each(Object.entries(keySamples))('%s is written as it always was, belongs to the same key group, and is read back', (name, key) => {
    const { encoded, keyGroupOf128 } = keys[name]!;
    expect(hexOf(binaryStringToBytes(encodeKey(key)))).toBe(encoded);
    expect(keyGroupOf(encodeKey(key), 128)).toBe(keyGroupOf128);
    expect(isDeepStrictEqual(decodeKey(bytesToBinaryString(Buffer.from(encoded, 'hex'))), key)).toBe(true);
  });
});

describe('C28, C29, C30, C33, C34: values, format 1', () => {
  test('every frozen line has its sample, and every sample its line', () => {
    expect(Object.keys(valueSamples)).toEqual(Object.keys(values));
  });

  test.each(Object.entries(valueSamples))('%s is written as it always was, and is read back', (name, value) => {
    const encoded = values[name]!;
    expect(hexOf(encodeValue(value))).toBe(encoded);
    expect(isDeepStrictEqual(decodeValue(Buffer.from(encoded, 'hex')), value)).toBe(true);
    expect(isDeepStrictEqual(expose(decodeStored(Buffer.from(encoded, 'hex'))), value)).toBe(true);
  });
});
