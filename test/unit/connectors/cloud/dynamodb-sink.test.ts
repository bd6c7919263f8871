import { describe, expect, test } from 'vitest';
import { ParamValues } from '../../../../lib/api/params.ts';
import type { RowTable } from '../../../../lib/api/row-table.ts';
import type { RowTag } from '../../../../lib/api/row-tag.ts';
import type { ImmediateContext, Sink } from '../../../../lib/api/sink.ts';
import type { Targets } from '../../../../lib/api/targets.ts';
import { dynamoDbSink } from '../../../../lib/connectors/cloud/dynamodb-sink.ts';
import { tagText } from '../../../../lib/connectors/cloud/row-tags.ts';
import { rowWrites } from '../../../../lib/connectors/cloud/row-writes.ts';
import { transactionTag } from '../../../../lib/connectors/cloud/rows/version-tags.ts';
import { emptyBatch } from '../../../../lib/core/batch.ts';
import { compile } from '../../../../lib/graph/compile.ts';
import { defineJob } from '../../../../lib/index.ts';
import { describe as describeJob } from '../../../../lib/operators/describe.ts';
import { FakeRows } from './support/fake-rows.ts';

interface Total {
  readonly user: string;
  readonly clicks: number;
  readonly gone?: boolean;
}

function context(table: RowTable | undefined, tag: RowTag): ImmediateContext {
  const clock = { now: () => 1_000_000, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  return {
    ...{ job: 'clicks', uid: 'totals', generation: tag.generation, subtask: 0, parallelism: 1, clock, report: say, print: say, tag },
    files: undefined as never,
    ...(table === undefined ? {} : { targets: { table: () => table } as unknown as Targets }),
  };
}

async function write(sink: Sink<Total>, table: RowTable | undefined, tag: RowTag, rows: readonly Total[]): Promise<void> {
  if (sink.detached?.kind !== 'immediate') throw new Error('it writes at once');
  await sink.detached.write(context(table, tag), { ...emptyBatch(), values: [...rows], count: rows.length });
}

const began = 1_700_000_000_000;
const tag = (n: number, generation = 1): RowTag => ({ begunMs: began + generation, generation, n, index: 0 });
const row = (user: string, clicks: number): Total => ({ user, clicks });

describe('a row that no table can take is refused when the job makes it', () => {
  const sink = dynamoDbSink<Record<string, unknown>>('totals', { key: 'user' });

  test.each([
    [
      'is too large',
      { user: 'a', text: 'x'.repeat(410_000) },
      'ROW_TOO_LARGE',
      /row user=a: the row has 4100\d\d bytes, and one of a table may have 408576/,
    ],
    ['has a key that is too long', { user: 'x'.repeat(2_100) }, 'ROW_TOO_LARGE', /user is part of the key and has 2100 bytes/],
    ['lacks its key', { clicks: 1 }, 'VALUE_NOT_ENCODABLE', /user.* is part of the key, and the row does not have it/],
    ['holds what is no attribute', { user: 'a', at: () => 1 }, 'VALUE_NOT_ENCODABLE', /at/],
  ] as const)('since it %s', (_, refused, code, says) => {
    const check = (): void => sink.check?.(refused);
    expect(check).toThrow(expect.objectContaining({ code, message: expect.stringMatching(says) as string }) as Error);
  });

  test('and one that fits is not', () => {
    sink.check?.({ user: 'a', text: 'x'.repeat(400_000) });
    dynamoDbSink<Total>('totals', { key: 'user', isDelete: ({ gone }) => gone === true }).check?.({ user: 'a', clicks: 1, gone: true });
  });
});

describe('dynamoDbSink', () => {
  test('an entry that is delivered again, late or out of turn sets nothing back', async () => {
    const entries: readonly (readonly [RowTag, readonly Total[]])[] = [
      [tag(1), [row('a', 1), row('b', 1)]],
      [tag(2), [row('a', 2)]],
      [tag(3), [row('a', 3), row('b', 2), row('a', 4)]],
    ];
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [0, 2, 1, 1, 0, 2],
      [1, 2, 0],
    ]) {
      const table = new FakeRows();
      const sink = dynamoDbSink<Total>('totals', { key: 'user' });
      for (const i of order) await write(sink, table, ...entries[i]!);
      expect(Object.fromEntries(table.told() as [string, number][])).toEqual({ a: 4, b: 2 });
    }
  });

  test('a row that was deleted is not brought back by who writes late, and is by a later write', async () => {
    const table = new FakeRows();
    const sink = dynamoDbSink<Total>('totals', { key: 'user', isDelete: (r) => r.gone === true });
    await write(sink, table, tag(5), [{ ...row('a', 0), gone: true }]);
    await write(sink, table, tag(4), [row('a', 9)]);
    expect(table.told()).toEqual([['a', 'sluice_gone']]);
    await write(sink, table, tag(6), [row('a', 1)]);
    expect(table.told()).toEqual([['a', 1]]);
  });

  test('rows of a new generation replace all of the old one', async () => {
    const table = new FakeRows();
    const sink = dynamoDbSink<Total>('totals', { key: 'user' });
    await write(sink, table, tag(900), [row('a', 9)]);
    await write(sink, table, tag(1, 2), [row('a', 3)]);
    await expect(write(sink, table, tag(901), [row('a', 10)])).rejects.toMatchObject({ code: 'OUTPUT_TAKEN_OVER' });
    expect(table.told()).toEqual([['a', 3]]);
  });

  test('a job that is made anew over the rows of an earlier one writes all of them, and who is left of that one is told', async () => {
    const table = new FakeRows();
    const sink = dynamoDbSink<Total>('totals', { key: 'user' });
    const earlier = (n: number): RowTag => ({ begunMs: began, generation: 7, n, index: 0 });
    const anew = (n: number): RowTag => ({ begunMs: began + 1, generation: 0, n, index: 0 });
    await write(sink, table, earlier(5_000), [row('a', 9), row('b', 9)]);
    await write(sink, table, anew(1), [row('a', 1)]);
    await write(sink, table, anew(3), [row('a', 3)]);
    await write(sink, table, anew(2), [row('a', 2)]); // of the same run: left behind, and nothing to tell
    expect(table.told()).toEqual([
      ['a', 3],
      ['b', 9],
    ]);
    await expect(write(sink, table, earlier(5_001), [row('a', 10)])).rejects.toMatchObject({
      code: 'OUTPUT_TAKEN_OVER',
      message: expect.stringMatching(
        /^totals cannot write row .*a.*: a run that began at 2023-11-14T22:13:20.001Z has written it, and this one began before, at 2023-11-14T22:13:20.000Z$/,
      ),
    });
    await write(sink, table, earlier(5_002), [row('b', 11)]); // a row that only it writes is its own
    expect(table.told()).toEqual([
      ['a', 3],
      ['b', 11],
    ]);
  });

  test.each([
    ['of rows that were written at once in the first format', '0000000003.0000000000005000.0000000000'],
    ['of transactions of a run that began before', transactionTag(began, { generation: 9, checkpoint: 400 })],
  ])('tags %s are older than any write', async (_, held) => {
    const table = new FakeRows();
    const sink = dynamoDbSink<Total>('totals', { key: 'user' });
    const [write0] = rowWrites([row('a', 9)], tag(1), { key: ['user'], isMerged: false, isDeleted: () => false, nowSeconds: 0 });
    table.rows.set(JSON.stringify([...write0!.key]), { ...write0!, tag: held });
    await write(sink, table, tag(1), [row('a', 1)]);
    expect(table.told()).toEqual([['a', 1]]);
  });

  test.each([
    ['of a transaction of a run that began later', transactionTag(began + 5_000, { generation: 0, checkpoint: 0 }), 'OUTPUT_TAKEN_OVER'],
    ['that nobody of ours gave', 'z', 'OUTPUT_CONFLICT'],
  ])('a row under a tag %s is not passed over', async (_, held, code) => {
    const table = new FakeRows();
    const sink = dynamoDbSink<Total>('totals', { key: 'user' });
    const [write0] = rowWrites([row('a', 9)], tag(1), { key: ['user'], isMerged: false, isDeleted: () => false, nowSeconds: 0 });
    table.rows.set(JSON.stringify([...write0!.key]), { ...write0!, tag: held });
    await expect(write(sink, table, tag(1), [row('a', 1)])).rejects.toMatchObject({ code });
    expect(table.told()).toEqual([['a', 9]]);
  });

  test('a tag costs a row about half of what its first format did', () => {
    expect(tagText({ begunMs: 1_790_000_000_000, generation: 3, n: 1_000_000, index: 12 })).toHaveLength(19);
  });

  test('a write that fails is made again, and told when it stays so', async () => {
    let failures = 2;
    const table = new FakeRows();
    const shaky: RowTable = { write: (rows) => (failures-- > 0 ? Promise.reject(new Error('busy')) : table.write(rows)) };
    const sink = dynamoDbSink<Total>('totals', { key: 'user' });
    await write(sink, shaky, tag(1), [row('a', 1)]);
    expect(table.told()).toEqual([['a', 1]]);
    failures = 100;
    await expect(write(sink, shaky, tag(2), [row('a', 2)])).rejects.toMatchObject({ code: 'SINK_NOT_WRITTEN' });
  });

  test('a run that binds no names says so', async () => {
    await expect(write(dynamoDbSink<Total>('totals', { key: 'user' }), undefined, tag(1), [row('a', 1)])).rejects.toThrow(
      "totals writes to 'totals', and this run binds no names",
    );
  });

  test('rows of a key come from one subtask: they are exchanged by it, unless the job says that they come so already', () => {
    const stages = (o: { readonly isKeyed?: boolean }): readonly string[] => {
      const job = defineJob('totals', (env) => {
        env.fromCollection([row('a', 1)], { uid: 'in' }).sinkTo(dynamoDbSink<Total>('totals', { key: 'user', ...o }), { uid: 'totals' });
      });
      return compile(describeJob(job, new ParamValues(new Map())), { keepsPartitions: true }).stages.map(({ name }) => name);
    };
    expect(stages({})).toEqual(['in', 'totals']);
    expect(stages({ isKeyed: true })).toEqual(['in → totals']);
  });

  test('options out of range are told at once', () => {
    expect(() => dynamoDbSink('totals', { key: [] as never })).toThrow('key is the name of a field, or of two');
    expect(() => dynamoDbSink('totals', { key: 'a', mode: 'twice' as never })).toThrow('mode is idempotent');
    expect(() => dynamoDbSink('totals', { keys: 'a' } as never)).toThrow(/keys/);
  });
});
