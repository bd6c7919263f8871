import { describe, expect, test } from 'vitest';
import { finalWatermark, noWatermark } from '../../../lib/core/batch.ts';
import { ValueReader, ValueWriter } from '../../../lib/core/value-codec.ts';
import { NameReader, NameWriter, packBlob, readBlob, readList, readTime, writeBlob, writeTime } from '../../../lib/invocation/payload.ts';
import { noise } from '../../golden/invocation/stored.ts';

const readerOf = (write: (w: ValueWriter) => void): ValueReader => {
  const writer = new ValueWriter();
  write(writer);
  return new ValueReader(writer.take(), 0, 'sample');
};
const damaged = expect.objectContaining({ code: 'DATA_DAMAGED' });

describe('times', () => {
  test.each([noWatermark, finalWatermark, 0, -0, -1, 1_700_000_000_123, -62_135_596_800_000, 0.25, Number.NEGATIVE_INFINITY, Number.NaN])(
    '%d',
    (t) => {
      const reader = readerOf((w) => writeTime(w, t));
      expect(Object.is(readTime(reader), t)).toBe(true);
      reader.expectEnd();
    },
  );

  test('one that is like another has a byte', () => {
    const reader = readerOf((w) => writeTime(w, 1_700_000_000_123, 1_700_000_000_123));
    expect(reader.remaining).toBe(1);
    expect(readTime(reader, 1_700_000_000_123)).toBe(1_700_000_000_123);
  });

  test('one that is like none, or has an unknown form, is damage', () => {
    expect(() => readTime(readerOf((w) => writeTime(w, 5, 5)))).toThrow(damaged);
    expect(() => readTime(readerOf((w) => w.writeByte(6)))).toThrow(damaged);
  });
});

test('a name is written once, and one that has not come is damage', () => {
  const reader = readerOf((w) => {
    const names = new NameWriter(w);
    for (const name of ['a', 'b', 'a', '', 'b']) names.write(name);
    w.writeVarint(4);
  });
  const names = new NameReader(reader);
  expect([1, 2, 3, 4, 5].map(() => names.read())).toEqual(['a', 'b', 'a', '', 'b']);
  expect(() => names.read()).toThrow(damaged);
});

test('a list that claims more than there are bytes is refused before anything is made', () => {
  const reader = readerOf((w) => w.writeVarint(2 ** 50));
  expect(() => readList(reader, () => reader.readByte())).toThrow(damaged);
});

describe('blobs', () => {
  const blobOf = (bytes: Uint8Array): ValueReader => readerOf((w) => writeBlob(w, packBlob(bytes), bytes.length));
  const restOf = (reader: ValueReader): Uint8Array => reader.readRaw(reader.remaining);

  test.each([
    ['nothing', new Uint8Array()],
    ['few bytes', Uint8Array.of(1, 2, 3)],
    ['bytes that repeat', new Uint8Array(5_000)],
    ['bytes that do not', noise(5_000, 1)],
  ])('%s come back', (_, bytes) => {
    expect(restOf(readBlob(blobOf(bytes), 'sample'))).toEqual(bytes);
  });

  test('are deflated where it pays only', () => {
    expect(blobOf(new Uint8Array(5_000)).remaining).toBeLessThan(100);
    expect(blobOf(noise(5_000, 1)).remaining).toBe(5_001);
  });

  test('large ones are deflated by what samples of them promise, and come back either way', () => {
    const size = 100_000;
    const texts = new TextEncoder().encode('a text that comes again, '.repeat(4_000));
    const mixed = noise(size, 2);
    mixed.set(texts.subarray(0, 40_000), 30_000); // one sample of three
    for (const bytes of [texts, mixed, noise(size, 3)]) expect(restOf(readBlob(blobOf(bytes), 'sample'))).toEqual(bytes);
    expect(blobOf(texts).remaining).toBeLessThan(size / 20);
    expect(blobOf(mixed).remaining).toBeLessThan(size * 0.7);
    expect(blobOf(noise(size, 3)).remaining).toBe(size + 1);
  });

  test('a length that no deflated bytes can have is refused before memory is taken', () => {
    const { form, bytes } = packBlob(new Uint8Array(5_000));
    expect(() =>
      readBlob(
        readerOf((w) => writeBlob(w, { form, bytes }, 2 ** 40)),
        'sample',
      ),
    ).toThrow(/its length cannot be true/);
  });

  test.each([
    ['a length that is too small', (p: Uint8Array) => ({ bytes: p, length: 4_999 })],
    ['a length that is too large', (p: Uint8Array) => ({ bytes: p, length: 5_001 })],
    ['bytes behind it', (p: Uint8Array) => ({ bytes: Uint8Array.from([...p, 0]), length: 5_000 })],
    ['its end missing', (p: Uint8Array) => ({ bytes: p.subarray(0, -1), length: 5_000 })],
  ])('%s is damage', (_, change) => {
    const { form, bytes } = packBlob(new Uint8Array(5_000));
    const changed = change(bytes);
    expect(() =>
      readBlob(
        readerOf((w) => writeBlob(w, { form, bytes: changed.bytes }, changed.length)),
        'sample',
      ),
    ).toThrow(damaged);
  });

  test('an unknown form is damage', () => {
    expect(() =>
      readBlob(
        readerOf((w) => w.writeByte(2)),
        'sample',
      ),
    ).toThrow(damaged);
  });
});
