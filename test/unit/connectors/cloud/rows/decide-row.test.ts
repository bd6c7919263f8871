import { describe, expect, test } from 'vitest';
import type { RowFields } from '../../../../../lib/api/row-table.ts';
import { tagText } from '../../../../../lib/connectors/cloud/row-tags.ts';
import { applyRow, type RowDecision, stageRow, unstageRow } from '../../../../../lib/connectors/cloud/rows/decide-row.ts';
import { type HeldRow, heldRow, itemOfRow, type RowVersion } from '../../../../../lib/connectors/cloud/rows/held-row.ts';
import { rowAsOf } from '../../../../../lib/connectors/cloud/rows/read-row.ts';
import { transactionTag } from '../../../../../lib/connectors/cloud/rows/version-tags.ts';

const key: RowFields = new Map([['k', { kind: 'text', text: 'a' }]]);
const run = 1_000;
const tag = (generation: number, checkpoint: number): string => transactionTag(run, { generation, checkpoint });
const [old, t1, t2, t3] = [tag(0, 9), tag(1, 1), tag(1, 2), tag(1, 3)];
const atOnce = (begunMs: number): string => tagText({ begunMs, generation: 9, n: 9, index: 9 });
const at = (of: string): RowVersion => ({ tag: of, content: { kind: 'row', fields: new Map([['by', { kind: 'text', text: of }]]) } });
const gone = (of: string): RowVersion => ({ tag: of, content: { kind: 'gone', until: '1' } });

/** `current < before | staged…`, each by its tag; nothing: no row. */
function row(current: string | undefined, before: string, ...staged: readonly string[]): HeldRow {
  return {
    ...{ key, revision: 4, current: current === undefined ? undefined : at(current), staged: staged.map(at) },
    before: before === 'none' || before === 'lost' ? before : at(before),
  };
}

function shown(decision: RowDecision): unknown {
  if (decision.kind !== 'change') return decision.kind;
  const { current, before, staged } = decision.row;
  return [current?.tag, typeof before === 'string' ? before : before.tag, ...staged.map((version) => version.tag)];
}

describe('staging', () => {
  // biome-ignore format: one case a line reads as the table it is
  test.each<readonly [what: string, held: HeldRow, newest: string, open: readonly string[], decision: unknown]>([
    ['no row yet',                                   row(undefined, 'none'),     t2, [],    [undefined, 'none', t2]],
    ['an older row',                                 row(t1, 'none'),            t2, [],    [t1, 'none', t2]],
    ['a row of somebody who knows no tags',          row('', 'none'),            t2, [],    ['', 'none', t2]],
    ['staged before',                                row(t1, 'none', t2),        t2, [],    'leave'],
    ['committed before',                             row(t2, t1),                t2, [],    'leave'],
    ['left behind by a later commit',                row(t3, t2),                t3, [],    'leave'],
    ['a tag that the sink never gave',               row(t3, t1),                t2, [],    'foreign'],
    ['written at once by a run that began before',   row(atOnce(run - 1), 'lost'), t2, [],  [atOnce(run - 1), 'lost', t2]],
    ['written at once by a run that began later',    row(atOnce(run + 1), 'lost'), t2, [],  'foreign'],
    ['beside an earlier one that waits',             row(old, 'none', t1),       t2, [],    [old, 'none', t1, t2]],
    ['before a later one that waits',                row(old, 'none', t3),       t3, [],    [old, 'none', t2, t3]],
    ['what an earlier generation left goes',         row(t1, 'none', old),       t2, [],    [t1, 'none', t2]],
    ['but not what it has committed',                row(t1, 'none', old),       t2, [old], [t1, 'none', old, t2]],
  ])('%s', (_, held, newest, open, decision) => {
    expect(shown(stageRow(held, at(t2), { newest, open }))).toEqual(decision);
  });
});

describe('taking the version of a commit', () => {
  // biome-ignore format: one case a line reads as the table it is
  test.each<readonly [what: string, held: HeldRow, newest: string, open: readonly string[], decision: unknown]>([
    ['staged',                                       row(t1, old, t2),           t2, [t2],     [t2, t1]],
    ['not staged',                                   row(t1, old),               t2, [],       [t2, t1]],
    ['the first of its row',                         row(undefined, 'none', t2), t2, [t2],     [t2, 'none']],
    ['what was staged later stays',                  row(t1, old, t2, t3),       t2, [t2],     [t2, t1, t3]],
    ['an earlier commit that nobody put in place',   row(old, 'none', t1, t2),   t2, [t1, t2], [t2, t1]],
    ['an earlier one that was never committed',      row(old, 'none', t1, t2),   t2, [t2],     [t2, old]],
    ['done before',                                  row(t2, t1),                t2, [t2],     'leave'],
    ['done before, and staged again by a late one',  row(t2, t1, t2),            t2, [t2],     [t2, t1]],
    ['left behind by a later commit',                row(t3, t2),                t3, [],       'leave'],
    ['a tag that the sink never gave',               row(t3, t2),                t2, [],       'foreign'],
  ])('%s', (_, held, newest, open, decision) => {
    expect(shown(applyRow(held, at(t2), { newest, open }))).toEqual(decision);
  });
});

describe('taking away what was staged', () => {
  test('the rest of the row stays, and what was nothing else stays as a trace', () => {
    const isT2 = (of: string): boolean => of === t2;
    expect(shown(unstageRow(row(t1, old, t2, t3), isT2, '7'))).toEqual([t1, old, t3]);
    expect(unstageRow(row(t1, old, t3), isT2, '7')).toEqual({ kind: 'leave' });
    const trace = unstageRow(row(undefined, 'none', t2), isT2, '7');
    expect(trace).toMatchObject({ row: { current: { tag: '', content: { kind: 'gone', until: '7' } }, staged: [] } });
  });
});

describe('reading a row', () => {
  // biome-ignore format: one case a line reads as the table it is
  test.each<readonly [what: string, held: HeldRow, committed: string | undefined, open: readonly string[], seen: string]>([
    ['committed',                                    row(t1, old),               t1, [],   t1],
    ['staged only',                                  row(undefined, 'none', t1), old, [],  'none'],
    ['staged, not committed',                        row(t1, old, t2),           t1, [],   t1],
    ['committed, not in place yet',                  row(t1, old, t2),           t2, [t2], t2],
    ['committed since',                              row(t2, t1),                t1, [],   t1],
    ['made since',                                   row(t2, 'none'),            t1, [],   'none'],
    ['committed twice since',                        row(t3, t2),                t1, [],   'start-over'],
    ['committed since, and what was before is lost', row(t2, 'lost'),            t1, [],   'start-over'],
    ['written by somebody who knows no tags',        row('', 'lost'),            undefined, [], ''],
    ['before the first commit',                      row(t1, 'none'),            undefined, [], 'none'],
  ])('%s', (_, held, committed, open, seen) => {
    const as = rowAsOf(held, { committed, open });
    expect(as.kind === 'row' ? textOf(as.content.fields.get('by')) : as.kind).toBe(seen);
  });

  test('a row that was deleted is none', () => {
    expect(rowAsOf({ ...row(t1, old), current: gone(t1) }, { committed: t1, open: [] })).toEqual({ kind: 'none' });
    expect(rowAsOf({ ...row(t1, old), staged: [gone(t2)] }, { committed: t2, open: [t2] })).toEqual({ kind: 'none' });
  });
});

describe('an item', () => {
  const rows: readonly HeldRow[] = [
    row(t1, 'none'),
    row(t1, 'lost', t2, t3),
    row(undefined, 'none', t1),
    row('', 'none', t1),
    { ...row(t2, t1), current: gone(t2), before: gone(t1), staged: [gone(t3)] },
  ];
  test.each(rows.map((held) => [held]))('holds what it was made of, %#', (held) => {
    const read = heldRow(key, itemOfRow(held));
    expect(read).toEqual({ ...held, revision: 5, before: held.current === undefined ? 'lost' : held.before });
  });

  test('of somebody else is a row without a tag', () => {
    expect(heldRow(key, new Map([...key, ['n', { kind: 'null' } as const]]))).toMatchObject({
      revision: undefined,
      current: { tag: '' },
      staged: [],
    });
  });

  test('in which somebody has changed an attribute of ours is told', () => {
    expect(() => heldRow(key, new Map([...key, ['sluice_next', { kind: 'null' } as const]]))).toThrow(/sluice_/);
  });
});

function textOf(value: { readonly kind: string } | undefined): string | undefined {
  return value?.kind === 'text' ? (value as unknown as { readonly text: string }).text : undefined;
}
