import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { csv } from '../../../lib/connectors/formats/csv.ts';
import type { Format } from '../../../lib/connectors/formats/format.ts';
import { jsonArray } from '../../../lib/connectors/formats/json-array.ts';
import { lines } from '../../../lib/connectors/formats/lines.ts';
import { ndjson } from '../../../lib/connectors/formats/ndjson.ts';
import { files, splitBytesMin } from '../../../lib/connectors/sources/files.ts';
import { cut, diskOf, readAll, readerOf, readSource, sourceContext } from '../../unit/connectors/support/reading.ts';

// Laws of every format: F1 (chunks do not matter) and F2 / S2 (a position gives exactly the records that follow), on texts that are mostly
// well formed, with the characters that formats care about in them.

const character = fc.constantFrom('a', '"', '\\', ',', ';', '[', ']', '{', '}', ' ', '\t', 'é', '漢', '🚀', '0', '-', 'n');
const text = fc.string({ unit: character, maxLength: 12 });
const json = fc.oneof(
  text,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.dictionary(text, text, { maxKeys: 3 }),
);
const lineEnd = fc.constantFrom('\n', '\r\n', '\n\n');
const byteOrderMark = fc.constantFrom('', '\uFEFF');
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
const perPoll = fc.integer({ min: 1, max: 7 });

function joined(records: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .record({ mark: byteOrderMark, records: fc.array(fc.tuple(records, lineEnd), { maxLength: 12 }), hasLastEnd: fc.boolean() })
    .map(({ mark, records: all, hasLastEnd }) => {
      const body = all.map(([record, end]) => record + end).join('');
      return mark + (hasLastEnd ? body : body.replace(/(\r?\n)+$/, ''));
    });
}

const csvField = text.map((t) => (/[",\n]/.test(t) ? `"${t.replaceAll('"', '""')}"` : t));
const array = fc
  .tuple(byteOrderMark, fc.array(json, { maxLength: 8 }), fc.constantFrom('', ' ', '\n', '\r\n  '))
  .map(
    ([mark, elements, space]) =>
      `${mark}${space}[${elements.map((e) => `${space}${JSON.stringify(e, null, space.length > 1 ? 1 : 0)}${space}`).join(',')}${space}]${space}`,
  );

const formats: readonly (readonly [string, Format<unknown>, fc.Arbitrary<string>])[] = [
  [
    'ndjson',
    ndjson({ onError: 'skip' }),
    joined(fc.oneof({ arbitrary: json.map((j) => JSON.stringify(j)), weight: 5 }, { arbitrary: text, weight: 1 })),
  ],
  ['lines', lines(), joined(text)],
  ['jsonArray', jsonArray(), array],
  ['csv', csv({ onError: 'skip' }), joined(fc.tuple(csvField, csvField).map((f) => f.join(','))).map((body) => `x,y\n${body}`)],
];

describe.each(formats)('%s', (_name, format, input) => {
  test('F1: the records and positions do not depend on how the bytes were cut', async () => {
    await fc.assert(
      fc.asyncProperty(input, sizes, perPoll, async (content, chunkSizes, max) => {
        const bytes = Buffer.from(content);
        const whole = await readAll(readerOf(format, [bytes]), max);
        const pieces = await readAll(readerOf(format, cut(bytes, chunkSizes)), max);
        expect(pieces.records).toEqual(whole.records);
        const single = await readAll(readerOf(format, cut(bytes, chunkSizes)), 1);
        expect(single.records).toEqual(whole.records);
        expect(single.positions.map((p) => p.index)).toEqual(whole.records.map((_, i) => i + 1));
      }),
      { numRuns: 300 },
    );
  });

  test('S2: reading on from any position gives exactly the records that follow', async () => {
    await fc.assert(
      fc.asyncProperty(input, sizes, sizes, perPoll, async (content, before, after, max) => {
        const bytes = Buffer.from(content);
        const first = await readAll(readerOf(format, cut(bytes, before)), max);
        for (const from of first.positions) {
          const rest = await readAll(readerOf(format, cut(bytes, after), { from }), 3);
          expect(rest.records).toEqual(first.records.slice(from.index));
          expect(rest.positions.at(-1)?.index ?? from.index).toBe(first.records.length);
        }
      }),
      { numRuns: 150 },
    );
  });
});

test('a position taken before the first record gives all records', async () => {
  for (const [content, format] of [
    ['\uFEFF[1,2]', jsonArray()],
    ['1\n2', ndjson()],
    ['a\n1\n2', csv()],
  ] as const) {
    const bytes = Buffer.from(content);
    const reader = readerOf<unknown>(format, cut(bytes, [1]));
    const out = { values: [], count: 0, side: () => undefined };
    for (let i = 0; i < 4; i++) {
      const again = await readAll(readerOf<unknown>(format, [bytes], { from: reader.position() }));
      expect(again.records).toHaveLength(2);
      reader.poll(out, 0);
      await reader.ready();
    }
  }
});

test.each([
  ['ndjson', ndjson<unknown>()],
  ['lines', lines()],
])('byte ranges of %s together give every record once, in order, wherever the cuts fall', async (_name, format) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: splitBytesMin, max: splitBytesMin + 3_000 }),
      fc.boolean(),
      async (lengths, splitSize, hasLastEnd) => {
        const records = lengths.map((n, i) => `"${i}${'é'.repeat(n)}"`);
        const { files: disk } = diskOf({ '/in/a': records.join('\n') + (hasLastEnd ? '\n' : '') });
        const parts = await readSource(
          files<unknown>({ path: '/in/a', format: format as Format<unknown>, splitSize }),
          sourceContext(disk),
        );
        const read = parts.flatMap((p) => p.records);
        expect(read).toEqual(records.map((r) => (format.name === 'ndjson' ? JSON.parse(r) : r)));
      },
    ),
    { numRuns: 40 },
  );
});
