// A disk that is full under the adapters: SQLite says so for each write, as it does when its file may grow no more.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SqliteChangelog } from '../../../../lib/adapters/sqlite/sqlite-changelog.ts';
import { SqliteExchange } from '../../../../lib/adapters/sqlite/sqlite-exchange.ts';
import { SqliteItems, SqliteObjects } from '../../../../lib/adapters/sqlite/sqlite-items.ts';
import { openSqlitePorts } from '../../../../lib/adapters/sqlite/sqlite-ports.ts';
import { SqliteTable } from '../../../../lib/adapters/sqlite/sqlite-table.ts';
import { StoreFile } from '../../../../lib/adapters/sqlite/store-file.ts';
import type { Clock } from '../../../../lib/core/ports.ts';
import { collect, defineJob, type Env, keyedProcess, valueState } from '../../../../lib/index.ts';
import type { InvocationPorts } from '../../../../lib/invocation/ports.ts';
import { noise } from '../../../golden/invocation/stored.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

const large = new Uint8Array(200_000);
const small = new Uint8Array(10);
const ring = { generation: 0, subtask: '1-0' };
let now = (): number => 1_000_000;
const clock: Clock = { now: () => now(), sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
const full = { code: 'STORE_FULL', message: expect.stringContaining('the disk is full') };

let directory = '';
let file: StoreFile;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-full-'));
  const path = join(directory, 'store.db');
  openSqlitePorts({ path, job: 'job', clock }).close();
  file = new StoreFile({ path, synchronous: 'NORMAL' });
});

afterEach(() => {
  file.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Pages that the file may have more than now. */
function leave(pages: number): void {
  const count = Number(file.prepare('PRAGMA page_count').get()?.page_count);
  file.prepare(`PRAGMA max_page_count = ${count + pages}`).get();
}

function ports(): InvocationPorts {
  const times = { visibilityMs: 30_000, dedupMs: 300_000 };
  return {
    changelog: new SqliteChangelog(file, 1),
    table: new SqliteTable(file, 1, clock),
    items: new SqliteItems(file, 1),
    objects: new SqliteObjects(file, 1),
    exchange: new SqliteExchange(file, 1, clock, times),
  };
}

test('each write that finds no room says so and has not happened; it is done when there is room', async () => {
  const { changelog, table, items, objects, exchange } = ports();
  const content = (bytes: Uint8Array) => ({ bytes, change: 'c' });
  await items.put({ name: 'job', content: content(small), expects: 'absent' });
  const address = { partition: 'p', sort: 's' };
  const writes: Readonly<Record<string, () => Promise<unknown>>> = {
    stored: () => changelog.put({ ring, slot: 0, entry: { n: 0, writer: 'w', bytes: large }, expects: 'absent' }).then((o) => o.kind),
    created: () => changelog.create({ ring: { ...ring, generation: 1 }, slot: 0, entry: { n: 0, writer: 'w', bytes: large }, change: 'c' }),
    put: () => table.putMany([{ address, tags: 't', bytes: large, expects: 'absent' }]).then(([o]) => (o === 'stored' ? 'put' : o)),
    item: () => items.put({ name: 'x', content: content(large), expects: 'absent' }).then((o) => (o.kind === 'stored' ? 'item' : o)),
    object: () => objects.putIfAbsent('o', large).then((o) => (o === 'stored' ? 'object' : o)),
    sent: () => exchange.send([{ group: 'g', id: 'm', bytes: large }]).then(() => 'sent'),
  };
  leave(0);
  for (const write of Object.values(writes)) await expect(write()).rejects.toMatchObject(full);
  expect(await changelog.get({ ring, slot: 0 })).toBeUndefined();
  expect((await table.readMany([address])).items).toEqual([]);
  expect([await items.get('x'), await objects.get('o'), await exchange.receive({ max: 1 })]).toEqual([undefined, undefined, []]);
  expect(await items.get('job')).toMatchObject({ change: 'c' });
  leave(10_000);
  for (const [outcome, write] of Object.entries(writes)) expect(await write()).toBe(outcome);
});

test('a job whose disk is full stands still, says why, and gives each row once when there is room again', async () => {
  const out = collect<string>();
  const values = Array.from({ length: 60 }, (_, i) => i);
  const counting = keyedProcess({
    state: { seen: valueState({ default: () => 0 }), last: valueState<Uint8Array>() },
    processElement: (value: number, ctx, to: { collect(row: string): void }) => {
      ctx.state.seen.update(ctx.state.seen.value() + 1);
      ctx.state.last.update(noise(2_000, value));
      to.collect(`${ctx.getCurrentKey()} ${ctx.state.seen.value()}`);
    },
  });
  const job = defineJob('full', (env: Env) => {
    env.enableCheckpointing('2 s');
    env
      .fromCollection(values, { uid: 'in' })
      .keyBy((value) => value % 5)
      .process(counting)
      .uid('count')
      .sinkTo(out, { uid: 'out' });
  });
  const world = new InvocationWorld({ job, environments: 2, wrap: ports, ringSlots: 8 });
  now = () => world.now; // a message that could not be worked on comes again by time
  await world.create();
  leave(20);
  let refusals = 0;
  for (let round = 0; (await world.item()).status !== 'finished'; round++) {
    for (const work of [() => world.feed(), () => world.drain(), () => world.pulse()]) {
      await work().catch((error: unknown) => {
        expect(error).toMatchObject(full);
        refusals += 1;
      });
    }
    if (round === 20) {
      expect([refusals > 0, out.rows.length < values.length]).toEqual([true, true]);
      leave(10_000);
    }
    expect(round).toBeLessThan(200);
  }
  const rows = values.map((value) => `${value % 5} ${Math.floor(value / 5) + 1}`);
  expect([...out.rows].sort()).toEqual(rows.sort());
});
