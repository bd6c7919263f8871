// What a sink whose rows become visible together needs of a table: a change happens only to the item that was read. The fake and the adapter pass it.
import { describe, expect, test } from 'vitest';
import {
  type ItemTable,
  type ReadItem,
  type RowFields,
  type RowWrite,
  rowRevisionAttribute,
  rowTagAttribute,
  type TableItem,
} from '../../lib/api/row-table.ts';
import { readItem } from '../../lib/connectors/cloud/rows/held-row.ts';

export interface ItemTableUnderTest {
  readonly items: ItemTable;
  /** As a sink does that writes rows at once. */
  writeAtOnce(row: RowWrite): Promise<void>;
}

const text = (value: string) => ({ kind: 'text', text: value }) as const;
const never: ReadItem = { revision: undefined, tag: undefined };

/** @param make  called for each test; the table has the key `k`, a text */
export function itemTableSuite(name: string, make: () => Promise<ItemTableUnderTest>): void {
  const keyOf = (k: string): RowFields => new Map([['k', text(k)]]);
  const itemOf = (k: string, { revision }: ReadItem, by: string, tag?: string): TableItem =>
    new Map([
      ...keyOf(k),
      ['by', text(by)],
      [rowRevisionAttribute, { kind: 'number', digits: String((revision ?? 0) + 1) }],
      ...(tag === undefined ? [] : [[rowTagAttribute, text(tag)] as const]),
    ]);
  const rowOf = (how: RowWrite['how'], k: string, by: string, tag: string): RowWrite => ({
    ...{ how, tag, key: keyOf(k), fields: new Map([['by', text(by)]]) },
  });

  describe(`items of a table: ${name}`, () => {
    test('an item that is as it was read is changed, by itself and with others', async () => {
      const { items, writeAtOnce } = await make();
      await writeAtOnce(rowOf('replace', 'tagged', 'them', 'r1'));
      const keys = ['none', 'tagged'].map(keyOf);
      for (const round of ['each', 'all', 'each'] as const) {
        const read = (await items.read(keys)).map(readItem);
        const changes = ['none', 'tagged'].map((k, i) => ({ item: itemOf(k, read[i]!, round, 'r2'), expects: read[i]! }));
        if (round === 'all') expect(await items.changeAll(changes)).toBe('changed');
        else expect(await items.changeEach(changes)).toEqual(['changed', 'changed']);
        expect((await items.read(keys)).map((item) => item?.get('by'))).toEqual([text(round), text(round)]);
      }
    });

    test.each(['changeEach', 'changeAll'] as const)(
      'an item that came, or changed, since it was read is a conflict (%s)',
      async (method) => {
        const { items, writeAtOnce } = await make();
        const cases: [k: string, happens: (k: string, read: ReadItem) => unknown][] = [
          ['a transaction', (k, read) => items.changeEach([{ item: itemOf(k, read, 'them', read.tag), expects: read }])],
          ['a row at once', (k) => writeAtOnce(rowOf('replace', k, 'them', 'r5'))],
          ['fields at once', (k) => writeAtOnce(rowOf('merge', k, 'them', 'r5'))],
        ];
        for (const [what, happens] of cases) {
          for (const was of ['none', 'tagged', 'revised', 'both'] as const) {
            const k = `${what}, ${was}`;
            if (was === 'tagged') await writeAtOnce(rowOf('replace', k, 'before', 'r1'));
            if (was === 'revised') await items.changeEach([{ item: itemOf(k, never, 'before'), expects: never }]);
            if (was === 'both') await items.changeEach([{ item: itemOf(k, never, 'before', 'r1'), expects: never }]);
            const read = readItem((await items.read([keyOf(k)]))[0]);
            await happens(k, read);
            const [held] = await items.read([keyOf(k)]);
            const change = { item: itemOf(k, read, 'us', 'r2'), expects: read };
            const other = { item: itemOf(`${k}, too`, never, 'us'), expects: never };
            if (method === 'changeEach') expect(await items.changeEach([change]), k).toEqual(['conflict']);
            else expect(await items.changeAll([other, change]), k).toBe('conflict');
            expect(await items.read([keyOf(k), keyOf(`${k}, too`)])).toEqual([held, undefined]);
            expect(held?.get('by')).toEqual(text('them'));
          }
        }
      },
    );
  });
}
