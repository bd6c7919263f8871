// A job that is made anew over the rows of an earlier one: its generations and entries are counted from the beginning, and its tags are larger all the same.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openSqlitePorts } from '../../../../lib/adapters/sqlite/sqlite-ports.ts';
import type { Targets } from '../../../../lib/api/targets.ts';
import { dynamoDbSink } from '../../../../lib/connectors/cloud/dynamodb-sink.ts';
import { defineJob, type Env } from '../../../../lib/index.ts';
import { begunMsOf, withBegin } from '../../../../lib/invocation/begins.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import type { InvocationPorts } from '../../../../lib/invocation/ports.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';
import { FakeRows } from '../../connectors/cloud/support/fake-rows.ts';

interface Total {
  readonly user: string;
  readonly clicks: number;
}

const directories: string[] = [];
const closings: (() => void)[] = [];
afterEach(() => {
  for (const close of closings.splice(0)) close();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function sqlite(): InvocationPorts {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-anew-'));
  directories.push(directory);
  const clock = { now: () => Date.now(), sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
  const ports = openSqlitePorts({ path: join(directory, 'store.db'), job: 'totals', clock, visibilityMs: 2_000, dedupMs: 20_000 });
  closings.push(() => ports.close());
  return ports;
}

/** Counts up to `clicks` for one user, a row for each. */
function jobOver(table: FakeRows, clicks: number, wrap?: () => InvocationPorts): InvocationWorld {
  const job = defineJob('totals', (env: Env) => {
    env.enableCheckpointing('1 s');
    env
      .fromCollection(
        Array.from({ length: clicks }, (_, i): Total => ({ user: 'a', clicks: i + 1 })),
        { uid: 'in' },
      )
      .sinkTo(dynamoDbSink<Total>('totals', { key: 'user', isKeyed: true }), { uid: 'out' });
  });
  const targets = { table: () => table } as unknown as Targets;
  return new InvocationWorld({ job, batch: 1, targets, ringSlots: 64, ...(wrap === undefined ? {} : { wrap }) });
}

describe.each([
  ['the fakes', undefined],
  ['SQLite', sqlite],
])('on %s', (_, wrap) => {
  test('rows that an earlier job left behind refuse none of a new one', async () => {
    const table = new FakeRows();
    const earlier = jobOver(table, 20, wrap);
    await earlier.run();
    expect(table.told()).toEqual([['a', 20]]);
    const anew = jobOver(table, 3, wrap);
    anew.now = earlier.now;
    await anew.run();
    expect(table.told()).toEqual([['a', 3]]);
  });

  test('a job whose clock is behind that of the earlier one says so, and takes nothing for done', async () => {
    const table = new FakeRows();
    await jobOver(table, 5, wrap).run();
    const anew = jobOver(table, 3, wrap);
    anew.now -= 60_000;
    await expect(anew.run()).rejects.toMatchObject({ code: 'OUTPUT_TAKEN_OVER' });
    expect(table.told()).toEqual([['a', 5]]);
  });

  test('a copy that is restored to an older checkpoint writes over what the original wrote under the same generation', async () => {
    const table = new FakeRows();
    const original = jobOver(table, 30, wrap);
    await original.create();
    for (let round = 0; round < 8; round++) {
      await original.feed();
      await original.pulse();
    }
    const item = await original.item();
    expect(item.completed.length).toBeGreaterThan(0);
    // What the original did later, in the generation that the copy is going to raise too, and further than the copy will get.
    const [held] = table.rows.values();
    const [name] = table.rows.keys();
    const { tagText } = await import('../../../../lib/connectors/cloud/row-tags.ts');
    table.rows.set(name!, { ...held!, tag: tagText({ begunMs: original.now, generation: item.generation + 1, n: 10_000, index: 0 }) });
    await startRestore(original.ports, 'latest');
    for (let round = 0; round < 8; round++) {
      await original.pulse();
      await original.feed();
    }
    expect((table.told()[0] as readonly [string, number])[1]).toBeGreaterThan(8);
  });
});

describe('when a generation began', () => {
  test('grows with each, whatever the clock says, and is the generation where nobody noted it', () => {
    const begins = withBegin(withBegin(withBegin(undefined, 0, 500), 1, 400), 4, 900);
    expect(begins).toEqual([
      [0, 500],
      [1, 501],
      [4, 900],
    ]);
    expect(begunMsOf({ begins }, 4)).toBe(900);
    expect([begunMsOf({ begins: undefined }, 3), begunMsOf({ begins: withBegin(undefined, 4, 900) }, 3)]).toEqual([3, 3]);
  });
});
