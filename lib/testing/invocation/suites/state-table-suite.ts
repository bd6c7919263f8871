import assert from 'node:assert/strict';
import { putAll, readAll } from '../../../invocation/patience.ts';
import type { ItemAddress, StateItem, StatePut, StateTable } from '../../../invocation/ports.ts';
import { compareTexts, storedItemBytesMax } from '../../../invocation/request-limits.ts';
import type { SuiteRunner } from '../../suites/file-system-suite.ts';
import { atOnce, isRefused, type MakePorts, type Rule, suiteOf, text, textOf } from './support.ts';

/** Registers the tests of the state-table port for one adapter. */
export const stateTableSuite: (name: string, runner: SuiteRunner, make: MakePorts) => void = suiteOf('the state-table port', (rule) => {
  conditions(rule);
  partitions(rule);
  bounds(rule);
});

const at = (partition: string, sort: string): ItemAddress => ({ partition, sort });

function put(address: ItemAddress, tags: string, expects: string, bytes: Uint8Array = text(`${tags} of ${address.sort}`)): StatePut {
  return { address, tags, bytes, expects };
}

const putsOf = (table: StateTable, ...puts: readonly StatePut[]): Promise<readonly ('stored' | 'conflict')[]> =>
  putAll(table, puts, atOnce);

async function one(table: StateTable, address: ItemAddress): Promise<StateItem | undefined> {
  return (await readAll(table, [address], atOnce))[0];
}

function conditions(rule: Rule): void {
  rule('an item that was put is what every connection reads; one that does not exist is not there', async ({ ports, elsewhere }) => {
    assert.equal(await one(ports.table, at('p', 's')), undefined);
    assert.deepEqual(await putsOf(ports.table, put(at('p', 's'), 't1', 'absent')), ['stored']);
    for (const { table } of [ports, elsewhere]) {
      const got = await one(table, at('p', 's'));
      assert.deepEqual(
        { address: { ...got?.address }, tags: got?.tags, bytes: textOf(got!.bytes) },
        { address: at('p', 's'), tags: 't1', bytes: 't1 of s' },
      );
    }
  });

  rule('an item is replaced only while it has the tags that were expected', async ({ ports, elsewhere }) => {
    const address = at('p', 's');
    assert.deepEqual(await putsOf(ports.table, put(address, 't1', 't0')), ['conflict']);
    assert.equal(await one(ports.table, address), undefined);
    assert.deepEqual(await putsOf(ports.table, put(address, 't1', 'absent')), ['stored']);
    assert.deepEqual(await putsOf(elsewhere.table, put(address, 't2', 'absent')), ['conflict']);
    assert.deepEqual(await putsOf(elsewhere.table, put(address, 't2', 't1')), ['stored']);
    assert.deepEqual(await putsOf(ports.table, put(address, 't3', 't1')), ['conflict']);
    assert.equal(textOf((await one(ports.table, address))!.bytes), 't2 of s');
  });

  rule('each put of a call stands for itself, and the outcomes come in order', async ({ ports: { table } }) => {
    await putsOf(table, put(at('p', 'b'), 't1', 'absent'));
    const outcomes = await putsOf(
      table,
      put(at('p', 'a'), 't1', 'absent'),
      put(at('p', 'b'), 't2', 'absent'),
      put(at('q', 'b'), 't1', 'absent'),
      put(at('q', 'c'), 't2', 't1'),
    );
    assert.deepEqual(outcomes, ['stored', 'conflict', 'stored', 'conflict']);
    const read = await readAll(table, [at('p', 'a'), at('p', 'b'), at('q', 'b'), at('q', 'c')], atOnce);
    assert.deepEqual(read.map((i) => `${i.address.partition}${i.address.sort} ${i.tags}`).sort(), ['pa t1', 'pb t1', 'qb t1']);
  });

  rule('of several that expect the same tags, exactly one is stored', async ({ ports, elsewhere }) => {
    for (const expects of ['absent', 't']) {
      const tries = [ports, elsewhere, ports, elsewhere].map(({ table }, i) =>
        putsOf(table, put(at('p', 's'), expects === 't' ? `u${i}` : 't', expects)),
      );
      assert.equal((await Promise.all(tries)).flat().filter((o) => o === 'stored').length, 1);
    }
  });

  rule('bytes are copied on their way in and on their way out', async ({ ports: { table } }) => {
    const buffer = text('..view..');
    await putsOf(table, put(at('p', 's'), 't', 'absent', buffer.subarray(2, 6)));
    buffer.fill(0);
    const first = (await one(table, at('p', 's')))!;
    assert.equal(textOf(first.bytes), 'view');
    first.bytes.fill(0);
    assert.equal(textOf((await one(table, at('p', 's')))!.bytes), 'view');
  });

  rule('an item of no bytes is an item', async ({ ports: { table } }) => {
    await putsOf(table, put(at('p', 's'), 't', 'absent', new Uint8Array(0)));
    assert.equal((await one(table, at('p', 's')))?.bytes.length, 0);
  });
}

function partitions(rule: Rule): void {
  async function sortsOf(table: StateTable, partition: string, after?: string): Promise<readonly string[]> {
    const sorts: string[] = [];
    let from = after;
    for (;;) {
      const page: Awaited<ReturnType<StateTable['readPartition']>> = await table.readPartition({ partition, after: from });
      for (const item of page.items) sorts.push(item.address.sort);
      if (page.next === undefined) return sorts;
      assert.notEqual(page.next, from, 'a page leads on');
      from = page.next;
    }
  }

  rule('a partition is read in order of the UTF-8 bytes of its sort texts', async ({ ports: { table } }) => {
    const sorts = ['b', 'a', 'A', 'ab', '10', '9', 'é', 'z', '\u{1F600}', '\uFFFD', '\uE000', 'a\u0000b', 'a\u0001', ' '];
    await putsOf(table, ...sorts.map((s) => put(at('p', s), 't', 'absent')), put(at('p2', 'a'), 't', 'absent'));
    assert.deepEqual(await sortsOf(table, 'p'), [...sorts].sort(compareTexts));
    assert.deepEqual(
      await sortsOf(table, 'p', 'a'),
      [...sorts].sort(compareTexts).filter((s) => compareTexts(s, 'a') > 0),
    );
    assert.deepEqual(await sortsOf(table, 'p', '\u{1F600}'), []);
    assert.deepEqual(await sortsOf(table, 'none'), []);
  });

  rule('more than a page comes in several, every item once', async ({ ports: { table } }) => {
    const sorts = Array.from({ length: 15 }, (_, i) => `s${i + 10}`);
    await putsOf(table, ...sorts.map((s) => put(at('p', s), 't', 'absent', new Uint8Array(200_000))));
    assert.notEqual((await table.readPartition({ partition: 'p', after: undefined })).next, undefined);
    assert.deepEqual(await sortsOf(table, 'p'), sorts);
    const read = await readAll(
      table,
      sorts.map((s) => at('p', s)),
      atOnce,
    );
    assert.deepEqual(read.map((i) => i.address.sort).sort(), sorts);
  });

  rule('two addresses are two items wherever the border between their parts lies', async ({ ports: { table } }) => {
    const addresses = [at('a', 'bc'), at('ab', 'c'), at('a/b', 'c'), at('a', 'b/c'), at('a\u0000', 'c'), at('a', '\u0000c')];
    const outcomes = await putsOf(table, ...addresses.map((a, i) => put(a, `t${i}`, 'absent')));
    assert.deepEqual(new Set(outcomes), new Set(['stored']));
    for (const [i, a] of addresses.entries()) assert.equal((await one(table, a))?.tags, `t${i}`);
  });
}

function bounds(rule: Rule): void {
  const many = (count: number): readonly ItemAddress[] => Array.from({ length: count }, (_, i) => at('p', `s${i}`));
  const puts = (count: number): readonly StatePut[] => many(count).map((a) => put(a, 't', 'absent'));

  rule('a call of as many as may be is answered, one more is refused', async ({ ports: { table } }) => {
    assert.equal((await table.putMany(puts(25))).length, 25);
    assert.ok((await table.readMany(many(100))).items.length <= 25);
    await isRefused(table.putMany(puts(26)));
    await isRefused(table.readMany(many(101)));
    await isRefused(table.putMany([]));
    await isRefused(table.readMany([]));
  });

  rule('a call that names an item twice, badly or too large is refused as a whole', async ({ ports: { table } }) => {
    const good = put(at('p', 'good'), 't', 'absent');
    await isRefused(table.readMany([at('p', 's'), at('q', 's'), at('p', 's')]));
    await isRefused(table.putMany([good, good]));
    await isRefused(table.putMany([good, put(at('p', ''), 't', 'absent')]));
    await isRefused(table.putMany([good, put(at('', 's'), 't', 'absent')]));
    await isRefused(table.putMany([good, put(at('p', 's\ud800'), 't', 'absent')]));
    await isRefused(table.putMany([good, put(at('p', 'é'.repeat(513)), 't', 'absent')]));
    await isRefused(table.putMany([good, put(at('é'.repeat(1_025), 's'), 't', 'absent')]));
    await isRefused(table.putMany([good, put(at('p', 's'), 't', 'absent', new Uint8Array(storedItemBytesMax - 2))]));
    assert.equal(await one(table, good.address), undefined);
    assert.deepEqual(await putsOf(table, put(at('p', 's'), 't', 'absent', new Uint8Array(storedItemBytesMax - 3))), ['stored']);
  });
}
