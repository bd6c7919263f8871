import { describe, expect, test } from 'vitest';
import { encodeKey } from '../../../lib/core/key-codec.ts';
import { addressOfItem, addressText, checkAddress, itemAddressOf } from '../../../lib/invocation/address.ts';
import type { StateAddress } from '../../../lib/invocation/entry.ts';
import { checkReads } from '../../../lib/invocation/request-limits.ts';

const plain: StateAddress = { operator: 'counts', state: 'count', key: encodeKey('user-1'), sub: '' };

test('an address has one item, and the item has the address', () => {
  expect(itemAddressOf(plain)).toEqual({ partition: `6,5:countscount${plain.key}`, sort: '.' });
  for (const a of [
    plain,
    { ...plain, operator: 'Zähler\0', state: '\ud800', sub: '\xff\0' },
    { operator: '', state: '', key: '', sub: '' },
  ]) {
    expect(addressOfItem(itemAddressOf(a))).toEqual(a);
    checkReads([itemAddressOf(a)]);
  }
});

test('names that run into each other are different addresses', () => {
  const alike: readonly StateAddress[] = [
    { operator: 'ab', state: 'c', key: 'd', sub: 'e' },
    { operator: 'a', state: 'bc', key: 'd', sub: 'e' },
    { operator: 'a', state: 'b', key: 'cd', sub: 'e' },
    { operator: 'ab', state: 'c', key: '', sub: 'de' },
    { operator: 'ab', state: 'c', key: 'de', sub: '' },
    { operator: '', state: 'abc', key: 'd', sub: 'e' },
  ];
  expect(new Set(alike.map(addressText)).size).toBe(alike.length);
  expect(new Set(alike.map((a) => JSON.stringify(itemAddressOf(a)))).size).toBe(alike.length);
});

test('all entries of a map share a partition and lie in the order of their keys', () => {
  const subs = [-3, 0, 7, 'a', 'é'].map(encodeKey);
  const items = subs.map((sub) => itemAddressOf({ ...plain, sub }));
  expect(new Set(items.map((i) => i.partition)).size).toBe(1);
  expect(items.map((i) => i.sort).sort()).toEqual(items.map((i) => i.sort));
});

test.each([
  ['without lengths', 'countscount', '.'],
  ['with names that are longer than the whole', '6,50:countscount', '.'],
  ['with a length that is not written so', '06,5:countscount', '.'],
  ['with bytes that are no text', '1,1:\xff\xff', '.'],
  ['without the mark of a sort text', '6,5:countscount', 'x'],
])('an item %s is the item of no state', (_, partition, sort) => {
  expect(() => addressOfItem({ partition, sort })).toThrow(/address of no state/);
});

describe('keys that no item can be named by', () => {
  test('are refused by the names of operator and state', () => {
    const long = { ...plain, key: encodeKey('x'.repeat(2_100)) };
    expect(() => checkAddress(long)).toThrow(
      expect.objectContaining({ code: 'STATE_TOO_LARGE', details: { operator: 'counts', state: 'count' } }),
    );
    expect(() => checkAddress({ ...plain, sub: 'x'.repeat(1_024) })).toThrow(/a map key of state "count"/);
  });

  test('are counted as stores count them', () => {
    for (const a of [
      { ...plain, key: 'x'.repeat(1_960) },
      { ...plain, key: '\xff'.repeat(980) },
      { ...plain, sub: 'x'.repeat(1_023) },
    ]) {
      checkAddress(a);
      checkReads([itemAddressOf(a)]);
    }
    expect(() => checkAddress({ ...plain, key: '\xff'.repeat(1_030) })).toThrow(/a key of state "count"/);
    const names = { ...plain, operator: '€'.repeat(200), state: '€'.repeat(200), key: 'k' };
    expect(() => checkAddress(names)).toThrow(/more than an item can be named by/);
  });
});
