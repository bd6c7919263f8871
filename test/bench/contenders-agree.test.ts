// Rates are compared only when results are equal, so what makes and hashes the events has to be right first.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { differences, expectedResult } from '../../bench/checks.ts';
import type { Contender, Measurement } from '../../bench/contenders.ts';
import { queryNames } from '../../bench/contenders.ts';
import { generator, mix } from '../../bench/generator.mjs';
import { finishRow, hashBar, hashInt, hashText, rowStart } from '../../bench/row-hash.mjs';

const bench = join(import.meta.dirname, '../../bench');

function hashOfText(text: string): number {
  let h = 0x811c9dc5;
  for (const byte of Buffer.from(text, 'latin1')) h = Math.imul(h ^ byte, 0x01000193);
  return mix(h);
}

describe('the events', () => {
  test.each([
    [42, 'ed57236e0e7a0601f394b3e509e7ae6e'],
    [7, 'e46769c845c3d79825df69a9f92bffe1'],
  ])('of seed %i are those of GENERATOR.md, byte for byte', (seed, md5) => {
    const { event, word } = generator(seed);
    const hash = createHash('md5');
    for (let i = 0; i < 200_000; i++) hash.update(`${i} ${word(i)} ${Object.values(event(i)).join('|')}\n`);
    expect(hash.digest('hex')).toBe(md5);
  });
});

describe('the hash of a row', () => {
  test('is that of its canonical text, which is never built', () => {
    const field = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.string({ unit: 'grapheme-ascii' }));
    fc.assert(
      fc.property(fc.array(field, { minLength: 1, maxLength: 6 }), (row) => {
        let h = rowStart;
        for (const [n, value] of row.entries()) {
          if (n > 0) h = hashBar(h);
          h = typeof value === 'number' ? hashInt(h, value) : hashText(h, value);
        }
        expect(finishRow(h)).toBe(hashOfText(row.join('|')));
      }),
    );
  });

  test('is right on both sides of every power of ten', () => {
    for (let power = 1; power < 2 ** 53; power *= 10) {
      for (const n of [power - 1, power, power + 1]) expect(finishRow(hashInt(rowStart, n))).toBe(hashOfText(String(n)));
    }
  });

  test('is the one of the example in QUERIES.md', () => {
    expect(hashOfText('2|0|349|1700000000027|xofwnevmdulctkbsjarizqhypgxofwnevmdulctkbsjariz') >>> 0).toBe(0x9faad4e4);
  });
});

describe('a result', () => {
  test.each(queryNames)('of the bare loop of %s is that of QUERIES.md for 1,000,000 events', (query) => {
    const flags = [join(bench, `bare/${query}.mjs`), '--events', '1000000', '--cold'];
    const line = JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' })) as Measurement;
    expect({ rows: line.rows, checksum: line.checksum }).toEqual(expectedResult(query, 1_000_000));
  });

  test('that differs from the others is named, whoever gave it', () => {
    const good = { events: 10, rows: 9, checksum: '0000000a' } as Measurement;
    const results = new Map<Contender, readonly Measurement[]>([
      ['bare, one core', [good, good]],
      ['Sluice', [good, { ...good, checksum: '0000000b' }]],
    ]);
    expect(differences('q0', results)).toEqual(['q0, Sluice: 9 rows with checksum 0000000b, but 9 rows with 0000000a are right']);
  });

  test('that everybody got wrong in the same way is caught by the page', () => {
    const bad = { events: 1_000_000, rows: 920_000, checksum: '00000000' } as Measurement;
    expect(differences('q0', new Map([['Sluice', [bad]]]))).toHaveLength(1);
  });
});
