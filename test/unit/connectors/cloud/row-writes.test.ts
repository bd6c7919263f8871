import { describe, expect, test } from 'vitest';
import type { RowWrite } from '../../../../lib/api/row-table.ts';
import { compareRowTags, type RowTag } from '../../../../lib/api/row-tag.ts';
import { tagText } from '../../../../lib/connectors/cloud/row-tags.ts';
import { rowFields } from '../../../../lib/connectors/cloud/row-values.ts';
import { rowWrites } from '../../../../lib/connectors/cloud/row-writes.ts';

const shape = {
  key: ['user'],
  isMerged: false,
  isDeleted: (row: unknown) => (row as { readonly gone?: boolean }).gone === true,
  nowSeconds: 1_000,
};
const tag: RowTag = { begunMs: 1_700_000_000_000, generation: 1, n: 7, index: 0 };

function told(write: RowWrite): unknown {
  const plain = (fields: RowWrite['fields']): Record<string, unknown> =>
    Object.fromEntries(
      [...fields].map(([name, value]) => [name, 'text' in value ? value.text : 'digits' in value ? Number(value.digits) : value.kind]),
    );
  const { alsoOver: _, ...rest } = write;
  return { ...rest, key: plain(write.key), fields: plain(write.fields) };
}

describe('rows of a table', () => {
  test('a key is written once, as its last row says and under that row’s tag', () => {
    const rows = [
      { user: 'a', clicks: 1 },
      { user: 'b', clicks: 1 },
      { user: 'a', clicks: 2 },
    ];
    expect(rowWrites(rows, tag, shape).map(told)).toEqual([
      { how: 'replace', key: { user: 'a' }, fields: { clicks: 2 }, tag: tagText({ ...tag, index: 2 }) },
      { how: 'replace', key: { user: 'b' }, fields: { clicks: 1 }, tag: tagText({ ...tag, index: 1 }) },
    ]);
  });

  test('a row that is deleted leaves its key, its tag and the second after which nobody can write it', () => {
    expect(rowWrites([{ user: 'a', gone: true, clicks: 3 }], tag, shape).map(told)).toEqual([
      { how: 'replace', key: { user: 'a' }, fields: { sluice_gone: 87_400 }, tag: tagText(tag) },
    ]);
  });

  test('a merge goes on top of what the same call wrote, and makes a new row of a deleted one', () => {
    const merged = { ...shape, isMerged: true };
    const rows = [
      { user: 'a', gone: true },
      { user: 'a', clicks: 1 },
      { user: 'a', url: '/' },
    ];
    expect(rowWrites(rows, tag, merged).map(told)).toEqual([
      { how: 'replace', key: { user: 'a' }, fields: { clicks: 1, url: '/' }, tag: tagText({ ...tag, index: 2 }) },
    ]);
    expect(rowWrites(rows.slice(1), tag, merged).map(told)).toEqual([
      { how: 'merge', key: { user: 'a' }, fields: { clicks: 1, url: '/' }, tag: tagText({ ...tag, index: 1 }) },
    ]);
  });

  test('keys of other kinds are other keys', () => {
    expect(rowWrites([{ user: '1' }, { user: 1 }, { user: new Uint8Array([49]) }], tag, shape)).toHaveLength(3);
  });

  test('a key that is missing, empty or no key at all is told, and so is a name of ours', () => {
    expect(() => rowWrites([{ clicks: 1 }], tag, shape)).toThrow('user is part of the key, and the row does not have it');
    expect(() => rowWrites([{ user: '' }], tag, shape)).toThrow('user is part of the key, and empty');
    expect(() => rowWrites([{ user: true }], tag, shape)).toThrow('user is part of the key, and boolean cannot be');
    expect(() => rowWrites([{ user: 'a', sluice_tag: 1 }], tag, shape)).toThrow('sluice_tag is the name of an attribute of ours');
  });

  test('texts of tags are ordered as the tags are', () => {
    const tags: readonly RowTag[] = [
      { begunMs: 1, generation: 7, n: 9, index: 4 },
      { begunMs: 35, generation: 0, n: 1, index: 0 },
      { begunMs: 36, generation: 0, n: 0, index: 0 },
      { begunMs: 1_600_000_000_000, generation: 7, n: 9, index: 4 },
      { begunMs: 1_700_000_000_000, generation: 1, n: 9, index: 4 },
      { begunMs: 1_700_000_000_000, generation: 1, n: 10, index: 0 },
      { begunMs: 1_700_000_000_000, generation: 1, n: 10, index: 11 },
      { begunMs: 1_700_000_000_000, generation: 2, n: 0, index: 0 },
      { begunMs: 1_700_000_000_000, generation: 10, n: 2 ** 53 - 1, index: 2 ** 31 },
      { begunMs: 2 ** 53 - 1, generation: 0, n: 0, index: 0 },
    ];
    for (const a of tags)
      for (const b of tags)
        expect(Math.sign(tagText(a) < tagText(b) ? -1 : tagText(a) > tagText(b) ? 1 : 0)).toBe(Math.sign(compareRowTags(a, b)));
  });
});

describe('values of a row', () => {
  test('numbers keep every digit, and what an attribute has no kind for is written as one that it has', () => {
    const row = {
      n: 9_007_199_254_740_993n,
      f: -0,
      e: 1e-7,
      d: new Date(0),
      l: [1, undefined],
      s: new Set(['x']),
      m: new Map([['k', null]]),
      u: undefined,
    };
    expect([...rowFields(row)]).toEqual([
      ['n', { kind: 'number', digits: '9007199254740993' }],
      ['f', { kind: 'number', digits: '0' }],
      ['e', { kind: 'number', digits: '1e-7' }],
      ['d', { kind: 'text', text: '1970-01-01T00:00:00.000Z' }],
      ['l', { kind: 'list', items: [{ kind: 'number', digits: '1' }, { kind: 'null' }] }],
      ['s', { kind: 'list', items: [{ kind: 'text', text: 'x' }] }],
      ['m', { kind: 'map', fields: new Map([['k', { kind: 'null' }]]) }],
    ]);
  });

  test.each([
    ['NaN', { a: { b: Number.NaN } }, 'a.b: NaN cannot be an attribute'],
    ['a number beyond a table’s', { a: [1e126] }, 'a[0]: 1e+126 is beyond the numbers of a table'],
    ['39 digits', { a: 10n ** 38n }, 'has more than 38 digits'],
    ['a function', { a: () => 1 }, 'a: a function cannot be an attribute'],
    ['a class instance', { a: new URL('http://x/') }, 'cannot be an attribute'],
    ['no object', 7, 'a row is a plain object, not a number'],
  ])('%s is refused with its place', (_, row, message) => {
    expect(() => rowFields(row)).toThrow(message);
  });

  test('a value that holds itself is refused', () => {
    const row: Record<string, unknown> = {};
    row.self = row;
    expect(() => rowFields(row)).toThrow('nested deeper than 32');
  });
});
