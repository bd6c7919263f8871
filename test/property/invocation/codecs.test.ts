import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equalBytes } from '../../../lib/core/bytes.ts';
import { isSluiceError } from '../../../lib/core/errors.ts';
import { addressOfItem, addressText, itemAddressOf } from '../../../lib/invocation/address.ts';
import { decodeHead, encodeHead, packEntry, unpackEntry, unpackHead } from '../../../lib/invocation/entry-codec.ts';
import { decodeHandles, decodeJobItem, encodeHandles, encodeJobItem } from '../../../lib/invocation/job-item-codec.ts';
import { decodeMessage, encodeMessage, isClaim } from '../../../lib/invocation/message-codec.ts';
import { decodeRows, encodeRows } from '../../../lib/invocation/rows-codec.ts';
import { decodeItem, encodeItem } from '../../../lib/invocation/versions.ts';
import { objectsOf } from '../../unit/invocation/support/objects.ts';
import { addresses, batches, entries, handleLists, heads, jobItems, messages, told, toldMessage, versionLists } from './arbitraries.ts';

const none = objectsOf({});

interface Codec {
  readonly samples: fc.Arbitrary<unknown>;
  encode(value: never): Uint8Array;
  decode(bytes: Uint8Array): unknown;
  /** In a form that can be compared. */
  tell?(value: never): unknown;
}

const messageOf = (bytes: Uint8Array): never => {
  const m = decodeMessage(bytes);
  return (isClaim(m) ? { ...m, elements: [] } : m) as never; // damage may make a claim of it
};

const codecs: Readonly<Record<string, Codec>> = {
  head: { samples: heads, encode: encodeHead, decode: decodeHead },
  message: { samples: messages, encode: encodeMessage, decode: messageOf, tell: toldMessage },
  rows: { samples: batches, encode: encodeRows, decode: decodeRows, tell: told },
  'state item': { samples: versionLists, encode: (v: never) => encodeItem(v).bytes, decode: decodeItem },
  'job item': { samples: jobItems, encode: encodeJobItem, decode: decodeJobItem },
  metadata: { samples: handleLists, encode: encodeHandles, decode: decodeHandles },
};

describe.each(Object.entries(codecs))('%s', (_, { samples, encode, decode, tell = (v) => v }) => {
  test('what is read is what was written, and writing it again gives the same bytes', () => {
    fc.assert(
      fc.property(samples, (value) => {
        const bytes = encode(value as never);
        const back = decode(bytes);
        expect(isDeepStrictEqual(tell(back as never), tell(value as never))).toBe(true);
        expect(equalBytes(encode(back as never), bytes)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('any bytes are read, or refused as damaged or newer', () => {
    fc.assert(
      fc.property(damagedOf(samples.map((value) => encode(value as never))), (bytes) => {
        expectReadOrRefused(() => decode(bytes));
      }),
      { numRuns: 500 },
    );
  });
});

describe('entry', () => {
  const place = fc.record({ inlineBytesMax: fc.constantFrom(0, 40, 8_192), objectName: fc.constant('outside') });

  test('what is read is what was written, wherever the body lies', async () => {
    await fc.assert(
      fc.asyncProperty(entries, place, async (entry, where) => {
        const { bytes, object } = packEntry(entry, where);
        const objects = objectsOf(object === undefined ? {} : { [object.name]: object.bytes });
        expect(isDeepStrictEqual(await unpackEntry(bytes, objects), entry)).toBe(true);
        expect(isDeepStrictEqual(unpackHead(bytes), entry.head)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('any bytes are read, or refused as damaged or newer', async () => {
    const packed = entries.map((entry) => packEntry(entry, { inlineBytesMax: 8_192, objectName: 'outside' }).bytes);
    await fc.assert(
      fc.asyncProperty(damagedOf(packed), async (bytes) => {
        const outcome = await unpackEntry(bytes, none).then(
          () => undefined,
          (e: unknown) => e,
        );
        expectReadOrRefused(() => {
          if (outcome !== undefined) throw outcome;
        }, 'OBJECT_MISSING');
      }),
      { numRuns: 500 },
    );
  });
});

describe('addresses', () => {
  test('an item has the address that it was made from', () => {
    fc.assert(
      fc.property(addresses, (a) => {
        expect(addressOfItem(itemAddressOf(a))).toEqual(a);
      }),
    );
  });

  test('two addresses are one exactly when their texts, and their items, are one', () => {
    fc.assert(
      fc.property(addresses, addresses, (a, b) => {
        const same = isDeepStrictEqual(a, b);
        expect(addressText(a) === addressText(b)).toBe(same);
        expect(isDeepStrictEqual(itemAddressOf(a), itemAddressOf(b))).toBe(same);
      }),
    );
  });
});

/** Bytes with one of them changed, cut off somewhere, or followed by others. */
function damagedOf(written: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  return fc
    .tuple(written, fc.nat(), fc.integer({ min: 0, max: 255 }), fc.constantFrom('change', 'cut', 'add'))
    .map(([bytes, at, byte, how]) => {
      const damaged = Uint8Array.from(
        how === 'add' ? [...bytes, byte] : how === 'cut' ? bytes.subarray(0, at % (bytes.length + 1)) : bytes,
      );
      if (how === 'change' && damaged.length > 0) damaged[at % damaged.length] = byte;
      return damaged;
    });
}

function expectReadOrRefused(read: () => unknown, ...more: readonly string[]): void {
  try {
    read();
  } catch (e) {
    if (!isSluiceError(e)) throw e;
    expect(['DATA_DAMAGED', 'FORMAT_NEWER', ...more]).toContain(e.code);
  }
}
