import { describe, expect, test } from 'vitest';
import { encodeKey } from '../../../lib/core/key-codec.ts';
import type { Entry } from '../../../lib/invocation/entry.ts';
import { emptyBody } from '../../../lib/invocation/entry.ts';
import { bodyObjectOf, closedStub, isClosedStub, packEntry, unpackEntry, unpackHead } from '../../../lib/invocation/entry-codec.ts';
import { inlineBytesMax } from '../../../lib/invocation/limits.ts';
import { noise } from '../../golden/invocation/stored.ts';
import { headOf } from './support/entries.ts';
import { objectsOf } from './support/objects.ts';

const none = objectsOf({});
const place = { inlineBytesMax, objectName: 'entry/0/0-0/1/w' };

const keysOf = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => encodeKey(`user-${i}`));

/** A unit that changed one value for each key. */
function changing(keys: readonly string[], value: (i: number) => Uint8Array, sub = ''): Entry {
  const writes = keys.map((key, i) => ({ address: { operator: 'counts', state: 'count', key, sub }, value: value(i) }));
  return { head: headOf({ writer: 'f47ac10b-58cc-4372-a567-0e02b2c3d479' }), body: { ...emptyBody, delta: { writes, timers: [] } } };
}

describe('size', () => {
  test('a head of a source with little to tell has about a hundred and fifty bytes', () => {
    const head = headOf({
      n: 12_345,
      epoch: 77,
      writer: 'f47ac10b-58cc-4372-a567-0e02b2c3d479',
      flushedThrough: 12_000,
      lastCompleted: 76,
      open: [77],
      splits: [
        {
          ordinal: 3,
          split: { id: 'shard-3' },
          position: { index: 123_456, at: 987_654_321 },
          hasEnded: false,
          largest: 1_700_000_000_000,
          malformed: 0,
          replayUntil: 0,
        },
      ],
      sent: [['0/1-0', 4_000]],
      watermark: 1_700_000_000_000,
      operatorWatermarks: [1_700_000_000_000, 1_700_000_000_000],
    });
    expect(packEntry({ head, body: emptyBody }, place).bytes.length).toBeLessThan(150);
  });

  test('a change costs its value, its key and three bytes', () => {
    const keys = keysOf(65);
    const { bytes, object } = packEntry(
      changing(keys, (i) => noise(100, i)),
      place,
    );
    expect(object).toBe(undefined);
    expect(bytes.length).toBeLessThan(keys.reduce((sum, key) => sum + key.length + 103, 150));
  });

  test('what repeats is deflated', async () => {
    const entry = changing(keysOf(65), () => new Uint8Array(100));
    const { bytes } = packEntry(entry, place);
    expect(bytes.length).toBeLessThan(1_000);
    expect(await unpackEntry(bytes, none)).toEqual(entry);
  });

  test('states that take turns cost their names once', () => {
    const turns = (['a', 'b'] as const).map((state) => `the state of a long name ${state}`);
    const writes = keysOf(40).map((key, i) => ({
      address: { operator: 'an operator of a long name', state: turns[i % 2]!, key, sub: '' },
      value: noise(20, i),
    }));
    const { bytes } = packEntry({ head: headOf(), body: { ...emptyBody, delta: { writes, timers: [] } } }, place);
    expect(bytes.length).toBeLessThan(40 * (20 + 8 + 2 + 5) + 200);
  });
});

describe('a body above the limit', () => {
  const entry = changing(keysOf(100), (i) => noise(100, i));
  const packed = packEntry(entry, place);

  test('goes to the object that the entry names, and the head stays in the entry', () => {
    expect(packed.object!.name).toBe(place.objectName);
    expect(packed.bytes.length).toBeLessThan(200);
    expect(unpackHead(packed.bytes)).toEqual(entry.head);
    expect(bodyObjectOf(packed.bytes)).toBe(place.objectName);
  });

  test('is read from there', async () => {
    expect(await unpackEntry(packed.bytes, objectsOf({ [place.objectName]: packed.object!.bytes }))).toEqual(entry);
  });

  test('that is gone is missed by name', async () => {
    await expect(unpackEntry(packed.bytes, none)).rejects.toMatchObject({
      code: 'OBJECT_MISSING',
      details: { object: place.objectName, subtask: '0-0', n: 1 },
    });
  });

  test('is measured deflated', () => {
    expect(
      packEntry(
        changing(keysOf(100), () => new Uint8Array(1_000)),
        place,
      ).object,
    ).toBe(undefined);
  });

  test('of exactly the limit stays in the entry', () => {
    const small = changing(keysOf(3), (i) => noise(50, i));
    const length = packEntry(small, { ...place, inlineBytesMax: 1 }).object!.bytes.length - 2; // format, and whether it is deflated
    expect(packEntry(small, { ...place, inlineBytesMax: length }).object).toBe(undefined);
    expect(packEntry(small, { ...place, inlineBytesMax: length - 1 }).object).not.toBe(undefined);
  });
});

test('an entry that holds its body names no object', () => {
  expect(
    bodyObjectOf(
      packEntry(
        changing(keysOf(1), () => noise(9, 1)),
        place,
      ).bytes,
    ),
  ).toBe(undefined);
  expect(bodyObjectOf(packEntry({ head: headOf(), body: emptyBody }, place).bytes)).toBe(undefined);
});

test('a deletion is not an empty value', async () => {
  const writes = [undefined, new Uint8Array()].map((value, i) => ({ address: { operator: 'o', state: 's', key: `${i}`, sub: '' }, value }));
  const { bytes } = packEntry({ head: headOf(), body: { ...emptyBody, delta: { writes, timers: [] } } }, place);
  expect((await unpackEntry(bytes, none)).body.delta.writes.map((w) => w.value)).toEqual([undefined, new Uint8Array()]);
});

test('a closed stub tells its number, and is neither head nor entry', async () => {
  const stub = closedStub(17);
  expect(stub.n).toBe(17);
  expect(isClosedStub(stub.bytes)).toBe(true);
  expect(() => unpackHead(stub.bytes)).toThrow(/a closed stub is no entry/);
  await expect(unpackEntry(stub.bytes, none)).rejects.toMatchObject({ code: 'DATA_DAMAGED' });
});
