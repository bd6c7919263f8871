// checks.ts compares results, because a fast wrong answer is worth nothing: all contenders of a query must give the same rows and
// checksum, and the ones that flink/QUERIES.md lists for that number of events, if it lists any.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Contender, Measurement, QueryName } from './contenders.ts';

export interface Expected {
  readonly rows: number;
  readonly checksum: string;
}

/** What the table in flink/QUERIES.md says, or `undefined` for a number of events that it does not have. */
export function expectedResult(query: QueryName, events: number): Expected | undefined {
  const page = readFileSync(join(import.meta.dirname, 'flink/QUERIES.md'), 'utf8');
  const table = page.slice(page.indexOf('## Expected results'));
  const line = table.split('\n').find((text) => text.startsWith(`| ${query} |`));
  if (line === undefined) return undefined;
  const [, , rowsOfOne = '', sumOfOne = '', rowsOfFive = '', sumOfFive = '', many = '', rowsOfMany = '', sumOfMany = ''] = line.split('|');
  if (events === 1_000_000) return asExpected(rowsOfOne, sumOfOne);
  if (events === 5_000_000) return asExpected(rowsOfFive, sumOfFive);
  return events === asNumber(many) ? asExpected(rowsOfMany, sumOfMany) : undefined;
}

const asNumber = (text: string): number => Number(text.replaceAll(',', ''));
const asExpected = (rows: string, checksum: string): Expected => ({ rows: asNumber(rows), checksum: checksum.replaceAll(/[ `]/g, '') });

/** One sentence for each result that differs from the first one, or from the page. */
export function differences(query: QueryName, results: ReadonlyMap<Contender, readonly Measurement[]>): readonly string[] {
  const all = [...results].flatMap(([contender, list]) => list.map((m) => ({ contender, m })));
  const first = all[0];
  if (first === undefined) return [];
  const expected = expectedResult(query, first.m.events) ?? first.m;
  return all
    .filter(({ m }) => m.rows !== expected.rows || m.checksum !== expected.checksum)
    .map(
      ({ contender, m }) =>
        `${query}, ${contender}: ${m.rows} rows with checksum ${m.checksum}, but ${expected.rows} rows with ${expected.checksum} are right`,
    );
}
