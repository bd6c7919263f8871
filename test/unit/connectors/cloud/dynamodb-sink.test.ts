import { describe, expect, test } from 'vitest';
import { ParamValues } from '../../../../lib/api/params.ts';
import type { RowTable, RowWrite } from '../../../../lib/api/row-table.ts';
import type { RowTag } from '../../../../lib/api/row-tag.ts';
import type { ImmediateContext, Sink } from '../../../../lib/api/sink.ts';
import type { Targets } from '../../../../lib/api/targets.ts';
import { dynamoDbSink } from '../../../../lib/connectors/cloud/dynamodb-sink.ts';
import { emptyBatch } from '../../../../lib/core/batch.ts';
import { compile } from '../../../../lib/graph/compile.ts';
import { defineJob } from '../../../../lib/index.ts';
import { describe as describeJob } from '../../../../lib/operators/describe.ts';

interface Total {
  readonly user: string;
  readonly clicks: number;
  readonly gone?: boolean;
}

/** Keeps what the service would, by the same condition. */
class Rows implements RowTable {
  readonly rows = new Map<string, RowWrite>();

  write(rows: readonly RowWrite[]): Promise<number> {
    let left = 0;
    for (const row of rows) {
      const key = JSON.stringify([...row.key]);
      const held = this.rows.get(key);
      if (held !== undefined && held.tag > row.tag) left++;
      else this.rows.set(key, row);
    }
    return Promise.resolve(left);
  }

  told(): readonly unknown[] {
    return [...this.rows.values()].map(({ key, fields }) => {
      const [user, clicks] = [key.get('user'), fields.get('clicks')];
      return [user?.kind === 'text' ? user.text : user, clicks?.kind === 'number' ? Number(clicks.digits) : [...fields.keys()].join()];
    });
  }
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

const tag = (n: number, generation = 1): RowTag => ({ generation, n, index: 0 });
const row = (user: string, clicks: number): Total => ({ user, clicks });

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
      const table = new Rows();
      const sink = dynamoDbSink<Total>('totals', { key: 'user' });
      for (const i of order) await write(sink, table, ...entries[i]!);
      expect(Object.fromEntries(table.told() as [string, number][])).toEqual({ a: 4, b: 2 });
    }
  });

  test('a row that was deleted is not brought back by who writes late, and is by a later write', async () => {
    const table = new Rows();
    const sink = dynamoDbSink<Total>('totals', { key: 'user', isDelete: (r) => r.gone === true });
    await write(sink, table, tag(5), [{ ...row('a', 0), gone: true }]);
    await write(sink, table, tag(4), [row('a', 9)]);
    expect(table.told()).toEqual([['a', 'sluice_gone']]);
    await write(sink, table, tag(6), [row('a', 1)]);
    expect(table.told()).toEqual([['a', 1]]);
  });

  test('rows of a new generation replace all of the old one', async () => {
    const table = new Rows();
    const sink = dynamoDbSink<Total>('totals', { key: 'user' });
    await write(sink, table, tag(900), [row('a', 9)]);
    await write(sink, table, tag(1, 2), [row('a', 3)]);
    await write(sink, table, tag(901), [row('a', 10)]);
    expect(table.told()).toEqual([['a', 3]]);
  });

  test('a write that fails is made again, and told when it stays so', async () => {
    let failures = 2;
    const table = new Rows();
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
