import assert from 'node:assert/strict';
import type { Changelog, RingAddress, StoredEntry } from '../../../invocation/ports.ts';
import type { SuiteRunner } from '../../suites/file-system-suite.ts';
import { entry, isRefused, type MakePorts, type Rule, suiteOf, text, textOf } from './support.ts';

/** Registers the tests of the changelog port for one adapter. */
export const changelogSuite: (name: string, runner: SuiteRunner, make: MakePorts) => void = suiteOf('the changelog port', (rule) => {
  conditions(rule);
  pages(rule);
  creation(rule);
  clearing(rule);
});

const ring: RingAddress = { generation: 0, subtask: '1-0' };

async function readAllPages(changelog: Changelog, from: number, to: number): Promise<readonly StoredEntry[]> {
  const all: StoredEntry[] = [];
  let at: number | undefined = from;
  while (at !== undefined) {
    const page: Awaited<ReturnType<Changelog['readPage']>> = await changelog.readPage({ ring, from: at, to });
    assert.ok(page.next === undefined || page.next > at, 'a page leads on');
    all.push(...page.entries);
    at = page.next;
  }
  return all;
}

function conditions(rule: Rule): void {
  rule('an entry that was put is what every connection gets; an empty slot gives nothing', async ({ ports, elsewhere }) => {
    assert.equal(await ports.changelog.get({ ring, slot: 3 }), undefined);
    assert.deepEqual(await ports.changelog.put({ ring, slot: 3, entry: entry(3), expects: 'absent' }), { kind: 'stored' });
    for (const { changelog } of [ports, elsewhere]) {
      const got = await changelog.get({ ring, slot: 3 });
      assert.deepEqual({ n: got?.n, writer: got?.writer, bytes: textOf(got!.bytes) }, { n: 3, writer: 'w3', bytes: 'entry 3' });
    }
  });

  rule('an entry of no bytes is an entry', async ({ ports }) => {
    await ports.changelog.put({ ring, slot: 0, entry: entry(0, 'w', new Uint8Array(0)), expects: 'absent' });
    assert.equal((await ports.changelog.get({ ring, slot: 0 }))?.bytes.length, 0);
  });

  rule('a slot that holds something else than was expected keeps it, and the answer names it', async ({ ports: { changelog } }) => {
    await changelog.put({ ring, slot: 1, entry: entry(1), expects: 'absent' });
    const held = { kind: 'conflict', held: { n: 1, writer: 'w1' } };
    assert.deepEqual(await changelog.put({ ring, slot: 1, entry: entry(1, 'other'), expects: 'absent' }), held);
    assert.deepEqual(await changelog.put({ ring, slot: 1, entry: entry(17), expects: 9 }), held);
    assert.deepEqual(await changelog.put({ ring, slot: 2, entry: entry(2), expects: 1 }), { kind: 'conflict', held: undefined });
    assert.equal((await changelog.get({ ring, slot: 1 }))?.writer, 'w1');
    assert.equal(await changelog.get({ ring, slot: 2 }), undefined);
  });

  rule('an entry replaces the one that was expected', async ({ ports, elsewhere }) => {
    await ports.changelog.put({ ring, slot: 1, entry: entry(1), expects: 'absent' });
    assert.deepEqual(await elsewhere.changelog.put({ ring, slot: 1, entry: entry(9), expects: 1 }), { kind: 'stored' });
    assert.equal((await ports.changelog.get({ ring, slot: 1 }))?.n, 9);
  });

  rule('a put during a change is a put while the job item names that change, and nothing otherwise', async ({ ports, elsewhere }) => {
    const mine = { ring, slot: 1, entry: entry(1), expects: 'absent', change: 'stop 0' } as const;
    assert.deepEqual(await ports.changelog.putDuring(mine), { kind: 'refused' });
    await ports.items.put({ name: 'job', content: { bytes: text('item'), change: 'stop 0' }, expects: 'absent' });
    assert.deepEqual(await ports.changelog.putDuring({ ...mine, change: '' }), { kind: 'refused' });
    assert.deepEqual(await ports.changelog.putDuring(mine), { kind: 'stored' });
    assert.deepEqual(await ports.changelog.putDuring(mine), { kind: 'conflict', held: { n: 1, writer: 'w1' } });
    assert.deepEqual(await elsewhere.changelog.putDuring({ ...mine, entry: entry(9), expects: 1 }), { kind: 'stored' });
    await elsewhere.items.put({ name: 'job', content: { bytes: text('item'), change: '' }, expects: 'any' });
    assert.deepEqual(await ports.changelog.putDuring({ ...mine, entry: entry(17), expects: 9 }), { kind: 'refused' });
    assert.equal((await ports.changelog.get({ ring, slot: 1 }))?.n, 9);
  });

  rule('a writer whose reply was lost finds its own name when it asks again', async ({ ports: { changelog } }) => {
    const mine = { ring, slot: 0, entry: entry(8, 'mine'), expects: 0 } as const;
    await changelog.put({ ...mine, entry: entry(0), expects: 'absent' });
    assert.deepEqual(await changelog.put(mine), { kind: 'stored' });
    assert.deepEqual(await changelog.put(mine), { kind: 'conflict', held: { n: 8, writer: 'mine' } });
  });

  rule('of several that expect the same, exactly one is stored', async ({ ports, elsewhere }) => {
    for (const expects of ['absent', 0] as const) {
      const n = expects === 'absent' ? 0 : 8;
      const puts = [ports, elsewhere, ports, elsewhere].map(({ changelog }, i) =>
        changelog.put({ ring, slot: 0, entry: entry(n, `w${i}`), expects }),
      );
      const outcomes = await Promise.all(puts);
      assert.equal(outcomes.filter((o) => o.kind === 'stored').length, 1);
      const winner = `w${outcomes.findIndex((o) => o.kind === 'stored')}`;
      for (const o of outcomes) if (o.kind === 'conflict') assert.equal(o.held?.writer, winner);
    }
  });

  rule('bytes are copied on their way in and on their way out', async ({ ports: { changelog } }) => {
    const buffer = text('..view..');
    await changelog.put({ ring, slot: 0, entry: entry(0, 'w', buffer.subarray(2, 6)), expects: 'absent' });
    buffer.fill(0);
    const first = await changelog.get({ ring, slot: 0 });
    assert.equal(textOf(first!.bytes), 'view');
    first!.bytes.fill(0);
    assert.equal(textOf((await changelog.get({ ring, slot: 0 }))!.bytes), 'view');
  });

  rule('an entry over the limit of an item is refused and not stored', async ({ ports: { changelog } }) => {
    await isRefused(changelog.put({ ring, slot: 0, entry: entry(0, 'w', new Uint8Array(400 * 1024)), expects: 'absent' }));
    await isRefused(changelog.put({ ring, slot: -1, entry: entry(0), expects: 'absent' }));
    await isRefused(changelog.put({ ring, slot: 0, entry: entry(0, ''), expects: 'absent' }));
    assert.equal(await changelog.get({ ring, slot: 0 }), undefined);
  });

  rule('rings are apart, by generation and by the whole name', async ({ ports: { changelog } }) => {
    const rings = [ring, { generation: 1, subtask: '1-0' }, { generation: 0, subtask: '1-01' }, { generation: 0, subtask: '0/1-0' }];
    for (const [i, r] of rings.entries()) await changelog.put({ ring: r, slot: 0, entry: entry(0, `w${i}`), expects: 'absent' });
    for (const [i, r] of rings.entries()) assert.equal((await changelog.get({ ring: r, slot: 0 }))?.writer, `w${i}`);
  });
}

function pages(rule: Rule): void {
  rule('a page gives the entries of its slots in order of slot, both ends included, empty slots left out', async ({ ports }) => {
    for (const slot of [11, 2, 5, 10]) await ports.changelog.put({ ring, slot, entry: entry(slot), expects: 'absent' });
    const numbers = async (from: number, to: number): Promise<readonly number[]> =>
      (await readAllPages(ports.changelog, from, to)).map((e) => e.n);
    assert.deepEqual(await numbers(0, 20), [2, 5, 10, 11]);
    assert.deepEqual(await numbers(5, 10), [5, 10]);
    assert.deepEqual(await numbers(6, 9), []);
    assert.deepEqual(await numbers(11, 11), [11]);
  });

  rule('more than a page comes in several, every entry once', async ({ ports: { changelog } }) => {
    for (let slot = 0; slot < 12; slot++) {
      await changelog.put({ ring, slot, entry: entry(slot, 'w', new Uint8Array(300_000).fill(slot)), expects: 'absent' });
    }
    assert.notEqual((await changelog.readPage({ ring, from: 0, to: 11 })).next, undefined);
    const all = await readAllPages(changelog, 0, 11);
    assert.deepEqual(
      all.map((e) => e.bytes[299_999]),
      Array.from({ length: 12 }, (_, i) => i),
    );
  });

  rule('a ring that does not exist has no entries', async ({ ports: { changelog } }) => {
    assert.deepEqual(await changelog.readPage({ ring, from: 0, to: 100 }), { entries: [], next: undefined });
  });
}

function creation(rule: Rule): void {
  const create = { ring, slot: 4, entry: entry(4, 'creator'), change: 'restore 1' } as const;

  rule('a ring is created only while the job item names that change', async ({ ports, elsewhere }) => {
    const bytes = text('the job');
    assert.equal(await ports.changelog.create(create), 'refused');
    await elsewhere.items.put({ name: 'job', content: { bytes, change: '' }, expects: 'absent' });
    await elsewhere.items.put({ name: 'job2', content: { bytes, change: 'restore 1' }, expects: 'absent' });
    assert.equal(await ports.changelog.create(create), 'refused');
    assert.equal(await ports.changelog.get({ ring, slot: 4 }), undefined);
    await elsewhere.items.put({ name: 'job', content: { bytes, change: 'restore 1' }, expects: 'any' });
    assert.equal(await ports.changelog.create(create), 'created');
    assert.equal((await ports.changelog.get({ ring, slot: 4 }))?.writer, 'creator');
  });

  rule('a ring that exists keeps what it has; a change that is over is refused before that', async ({ ports: { changelog, items } }) => {
    const bytes = text('the job');
    await items.put({ name: 'job', content: { bytes, change: 'restore 1' }, expects: 'absent' });
    await changelog.create(create);
    assert.equal(await changelog.create({ ...create, entry: entry(4, 'second') }), 'exists');
    assert.equal((await changelog.get({ ring, slot: 4 }))?.writer, 'creator');
    await items.put({ name: 'job', content: { bytes, change: '' }, expects: 'any' });
    assert.equal(await changelog.create(create), 'refused');
  });

  rule('of several that create, exactly one does', async ({ ports, elsewhere }) => {
    await ports.items.put({ name: 'job', content: { bytes: text('the job'), change: 'restore 1' }, expects: 'absent' });
    const answers = await Promise.all([ports, elsewhere, ports].map((p) => p.changelog.create(create)));
    assert.deepEqual([...answers].sort(), ['created', 'exists', 'exists']);
  });
}

function clearing(rule: Rule): void {
  rule('overwrite stores whatever the slot holds', async ({ ports: { changelog } }) => {
    await changelog.put({ ring, slot: 0, entry: entry(8), expects: 'absent' });
    for (const slot of [0, 1]) await changelog.overwrite({ ring, slot, entry: entry(slot, 'stub') });
    assert.deepEqual(
      (await readAllPages(changelog, 0, 9)).map((e) => [e.n, e.writer]),
      [
        [0, 'stub'],
        [1, 'stub'],
      ],
    );
  });

  rule('removing a ring takes all of its slots and no other ring; again is harmless', async ({ ports: { changelog } }) => {
    const other = { generation: 1, subtask: '1-0' };
    for (const slot of [0, 1, 7]) await changelog.put({ ring, slot, entry: entry(slot), expects: 'absent' });
    await changelog.put({ ring: other, slot: 0, entry: entry(0), expects: 'absent' });
    await changelog.remove(ring);
    await changelog.remove(ring);
    assert.deepEqual(await readAllPages(changelog, 0, 9), []);
    assert.equal((await changelog.get({ ring: other, slot: 0 }))?.n, 0);
  });
}
